// Package client speaks to a running daemon over its own API: the wire types of /api/v1 and a Client with a method for
// each of its operations.
//
//	c, err := client.New(client.Options{URL: "https://127.0.0.1:8443", CAFile: "ca.pem"})
//	…
//	if err := c.Login(ctx, "admin@internal", password); err != nil { … }
//	machines, err := c.Machines(ctx, client.Filter{Status: "up"})
//
// Answers that say no are an *Error, which carries the diagnostics of bad documents.
package client
