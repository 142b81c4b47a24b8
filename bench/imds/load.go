package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// campaign is what came of a whole fleet that booted.
type campaign struct {
	machines, concurrency, requests int
	// failed are the machines that did not get an answer, wrong those that got other bytes than their own.
	failed, wrong int
	elapsed       time.Duration
	// slowest is the longest that a machine took, from its first packet to its last byte; median is that of the middle.
	slowest, median time.Duration
	// reason is that of the first failure.
	reason error
}

// errWrong is an answer with other bytes than those of the machine.
var errWrong = errors.New("the answer is not the machine's own")

// boot lets every machine of the fleet connect from its own address, ask for a token and read its user-data in four
// versions, a number of them at one time.
func boot(server string, machines, concurrency int) campaign {
	c := campaign{machines: machines, concurrency: concurrency, requests: machines * (1 + len(versions()))}
	times := make([]time.Duration, machines)
	errs := make([]error, machines)
	var next atomic.Int64
	var workers sync.WaitGroup
	begin := time.Now()
	for range min(machines, concurrency) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < machines; i = int(next.Add(1)) - 1 {
				start := time.Now()
				errs[i] = visit(server, i)
				times[i] = time.Since(start)
			}
		})
	}
	workers.Wait()
	c.elapsed = time.Since(begin)
	for i, err := range errs {
		switch {
		case err == nil:
			continue
		case errors.Is(err, errWrong):
			c.wrong++
		default:
			c.failed++
		}
		if c.reason == nil {
			c.reason = fmt.Errorf("machine %d: %w", i, err)
		}
	}
	slices.Sort(times)
	c.slowest, c.median = times[machines-1], times[machines/2]
	return c
}

// visit is what one machine does.
func visit(server string, i int) error {
	c, err := dial(server, address(i))
	if err != nil {
		return err
	}
	defer c.close()
	token, err := c.token()
	if err != nil {
		return err
	}
	want := []byte(userData(i))
	for _, v := range versions() {
		status, body, err := c.do(read("/"+v+"/user-data", token))
		switch {
		case err != nil:
			return err
		case status != 200:
			return fmt.Errorf("status %d", status)
		case !bytes.Equal(body, want):
			return errWrong
		}
	}
	return nil
}

// String is a line of the report.
func (c campaign) String() string {
	return fmt.Sprintf("%d machines, %d at one time: %d requests in %.2f s (%.0f/s), %d failed, %d with wrong bytes; median machine %.0f ms, slowest %.2f s",
		c.machines, c.concurrency, c.requests, c.elapsed.Seconds(), float64(c.requests)/c.elapsed.Seconds(), c.failed, c.wrong,
		float64(c.median.Microseconds())/1000, c.slowest.Seconds())
}

// stream is a number of machines that each read one path again and again over one connection.
type stream struct {
	path   string
	tokens bool
	want   func(i int) []byte
}

// reader is one machine of a stream.
type reader struct {
	client        *client
	request, want []byte
}

// open connects the machines of a stream and begins their sessions, one after the other: some servers do not bear to be
// asked for several at one time.
func (s stream) open(server string, connections int) (list []reader, err error) {
	for i := range connections {
		c, err := dial(server, address(i))
		if err != nil {
			return list, err
		}
		r := reader{client: c, want: s.want(i)}
		list = append(list, r)
		token := ""
		if s.tokens {
			if token, err = c.token(); err != nil {
				return list, err
			}
		}
		list[i].request = read(s.path, token)
	}
	return list, nil
}

// run reads for a time and returns the number of requests per second.
func (s stream) run(server string, connections int, duration time.Duration) (float64, error) {
	list, err := s.open(server, connections)
	defer func() {
		for _, r := range list {
			r.client.close()
		}
	}()
	if err != nil {
		return 0, err
	}
	counts, errs := make([]int, len(list)), make([]error, len(list))
	var workers sync.WaitGroup
	begin := time.Now()
	for i, r := range list {
		workers.Go(func() { counts[i], errs[i] = r.read(begin.Add(duration)) })
	}
	workers.Wait()
	elapsed := time.Since(begin)
	total := 0
	for _, n := range counts {
		total += n
	}
	return float64(total) / elapsed.Seconds(), errors.Join(errs...)
}

// read reads until a time and returns how often.
func (r reader) read(end time.Time) (n int, err error) {
	for ; time.Now().Before(end); n++ {
		status, body, err := r.client.do(r.request)
		switch {
		case err != nil:
			return n, err
		case status != 200:
			return n, fmt.Errorf("status %d", status)
		case !bytes.Equal(body, r.want):
			return n, errWrong
		}
	}
	return n, nil
}
