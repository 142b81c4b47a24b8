// Package web serves the page of the daemon: what people click who would not write requests of the API. The server writes every page so that
// it can be read, and the script in dist, which is built from ui, brings it to life as a client of /api/v1.
package web
