package metadata_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"

	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// A program that runs VMs answers them by their addresses. Rendering a machine with vmseed.Engine gives such a seed.
func Example() {
	site, err := metadata.NewSite(seed.Seed{
		Machine:  seed.Name{Namespace: "default", Name: "web"},
		Identity: seed.Identity{InstanceID: "i-0123456789abcdef0"},
		Trees: []seed.Tree{{Name: "ec2", Roots: []string{"latest", "2021-07-15"}, Tokens: seed.TokensRequired, Blobs: []seed.Blob{
			{Path: "meta-data/instance-id", Content: secret.New("i-0123456789abcdef0")},
			{Path: "user-data", ContentType: "application/octet-stream", Content: secret.New("#!/bin/sh\n"), Sealable: true},
		}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	var machines metadata.Table
	machines.Set(map[netip.Addr]*metadata.Site{netip.MustParseAddr("127.0.0.1"): site})
	handler := metadata.NewHandler(metadata.Config{Identify: machines.Identify})

	ctx, cancel := context.WithCancel(context.Background())
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- metadata.Serve(ctx, l, handler) }()

	url := "http://" + l.Addr().String() + "/latest/"
	_, token := ask(ctx, http.MethodPut, url+"api/token", "X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "60")
	fmt.Println(ask(ctx, http.MethodGet, url+"meta-data/instance-id", "X-Aws-Ec2-Metadata-Token", token))
	fmt.Println(ask(ctx, http.MethodGet, url+"meta-data/instance-id", "X-Forwarded-For", "127.0.0.1"))
	site.Seal() // its first boot is over
	fmt.Println(ask(ctx, http.MethodGet, url+"user-data", "X-Aws-Ec2-Metadata-Token", token))

	cancel()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	// Output:
	// 200 i-0123456789abcdef0
	// 401 401 - Unauthorized
	// 404 404 - Not Found
}

// ask sends a request with one header field.
func ask(ctx context.Context, method, url, name, value string) (status int, body string) {
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		log.Fatal(err)
	}
	r.Header.Set(name, value)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	return resp.StatusCode, string(text)
}
