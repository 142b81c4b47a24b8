package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// patience bounds a read that hangs, however busy the machine is.
const patience = 2 * time.Minute

// client is one connection of HTTP/1.1. It does as little as it can, because it shares the processors with the server
// that it measures.
type client struct {
	conn net.Conn
	in   *bufio.Reader
	body []byte
}

// dial connects from a machine's own address.
func dial(server string, from netip.Addr) (*client, error) {
	d := net.Dialer{Timeout: patience, LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
	conn, err := d.Dial("tcp", server)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, in: bufio.NewReaderSize(conn, 4<<10)}, nil
}

// request is the text of a request.
func request(method, path, header, value string) []byte {
	out := method + " " + path + " HTTP/1.1\r\nHost: 169.254.169.254\r\n"
	if header != "" {
		out += header + ": " + value + "\r\n"
	}
	if method == "PUT" {
		out += "Content-Length: 0\r\n"
	}
	return []byte(out + "\r\n")
}

func tokenRequest() []byte {
	return request("PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds", "21600")
}

func read(path, token string) []byte {
	if token == "" {
		return request("GET", path, "", "")
	}
	return request("GET", path, "X-aws-ec2-metadata-token", token)
}

// do sends a request and returns the answer's status and body, which is good until the next call.
func (c *client) do(request []byte) (status int, body []byte, err error) {
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return 0, nil, err
	}
	if _, err := c.conn.Write(request); err != nil {
		return 0, nil, err
	}
	length, chunked := -1, false
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case first && len(line) >= 12:
			if status, err = strconv.Atoi(string(line[9:12])); err != nil {
				return 0, nil, err
			}
		case len(line) == 0:
			err := c.readBody(length, chunked)
			return status, c.body, err
		default:
			name, value, _ := bytes.Cut(line, []byte(": "))
			if bytes.EqualFold(name, []byte("Content-Length")) {
				if length, err = strconv.Atoi(string(value)); err != nil {
					return 0, nil, err
				}
			}
			chunked = chunked || bytes.EqualFold(name, []byte("Transfer-Encoding"))
		}
	}
}

func (c *client) readBody(length int, chunked bool) error {
	c.body = c.body[:0]
	if !chunked {
		if length < 0 {
			return errors.New("an answer without a length")
		}
		return c.take(length)
	}
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(bytes.TrimRight(line, "\r\n")), 16, 32)
		if err != nil {
			return err
		}
		if err := c.take(int(n)); err != nil {
			return err
		}
		if _, err := c.in.Discard(2); err != nil || n == 0 {
			return err
		}
	}
}

// take appends n bytes to the body.
func (c *client) take(n int) error {
	at := len(c.body)
	if cap(c.body) < at+n {
		c.body = append(make([]byte, 0, max(2*cap(c.body), at+n)), c.body...)
	}
	c.body = c.body[:at+n]
	_, err := io.ReadFull(c.in, c.body[at:])
	return err
}

// token asks for a session token.
func (c *client) token() (string, error) {
	status, body, err := c.do(tokenRequest())
	if err == nil && status != 200 {
		err = fmt.Errorf("the request for a token is answered %d", status)
	}
	return string(body), err
}

func (c *client) close() { _ = c.conn.Close() }
