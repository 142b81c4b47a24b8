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

// run reads for a time and returns the number of requests per second.
func (s stream) run(server string, connections int, duration time.Duration) (float64, error) {
	var requests atomic.Int64
	errs := make(chan error, connections)
	var workers, ready sync.WaitGroup
	ready.Add(connections)
	start := make(chan struct{})
	var end time.Time
	for i := range connections {
		workers.Go(func() {
			n, err := s.read(server, i, &ready, start, &end)
			requests.Add(n)
			if err != nil {
				errs <- fmt.Errorf("machine %d: %w", i, err)
			}
		})
	}
	ready.Wait()
	begin := time.Now()
	end = begin.Add(duration)
	close(start)
	workers.Wait()
	elapsed := time.Since(begin)
	select {
	case err := <-errs:
		return 0, err
	default:
		return float64(requests.Load()) / elapsed.Seconds(), nil
	}
}

// read is what one connection does between start and end.
func (s stream) read(server string, i int, ready *sync.WaitGroup, start chan struct{}, end *time.Time) (n int64, err error) {
	prepared := sync.OnceFunc(ready.Done)
	defer prepared()
	c, err := dial(server, address(i))
	if err != nil {
		return 0, err
	}
	defer c.close()
	token := ""
	if s.tokens {
		if token, err = c.token(); err != nil {
			return 0, err
		}
	}
	text, want := read(s.path, token), s.want(i)
	prepared()
	<-start
	for ; time.Now().Before(*end); n++ {
		status, body, err := c.do(text)
		switch {
		case err != nil:
			return n, err
		case status != 200:
			return n, fmt.Errorf("%s is answered %d", s.path, status)
		case !bytes.Equal(body, want):
			return n, errWrong
		}
	}
	return n, nil
}
