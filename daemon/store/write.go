package store

import (
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"
)

// batch bounds how many calls of Apply share a transaction.
const batch = 512

// maxID bounds the length of ids.
const maxID = 1024

// request is a call of Apply.
type request struct {
	changes []Change
	done    chan<- result
	// written is called with the numbers of the events, in the order of the transactions.
	written func([]uint64)
}

type result struct {
	numbers []uint64
	err     error
}

// Apply makes changes, all of them or none, and returns when they are on disk, with the numbers that events were given. Calls
// that come while one is being written share the next transaction, so that many at once cost little more than one.
//
// written, which may be nil, is called with the numbers before Apply returns, and before it is called for any later
// transaction: what follows the store sees changes in their order. It must not call the store.
func (s *Store) Apply(written func(events []uint64), changes ...Change) ([]uint64, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	for _, c := range changes {
		if err := c.check(); err != nil {
			return nil, err
		}
	}
	done := make(chan result, 1)
	s.mutex.RLock()
	if s.closed {
		s.mutex.RUnlock()
		return nil, ErrClosed
	}
	s.queue <- request{changes: changes, done: done, written: written}
	s.mutex.RUnlock()
	r := <-done
	return r.numbers, r.err
}

// check finds what would fail in the transaction, and with it the changes of others.
func (c Change) check() error {
	switch {
	case !slices.Contains(kinds, c.Kind):
		return fmt.Errorf("there is no kind of records called %q", c.Kind)
	case c.Kind == Event && c.Value == nil:
		return errors.New("an event without a value")
	case c.Kind != Event && (c.ID == "" || len(c.ID) > maxID):
		return fmt.Errorf("an id of a record has 1 to %d bytes", maxID)
	}
	return nil
}

// write is the one writer.
func (s *Store) write() {
	defer close(s.writing)
	for {
		select {
		case first, ok := <-s.queue:
			if !ok {
				return
			}
			s.commit(s.gather(first))
		case done := <-s.scrubs:
			done <- s.rewrite()
		}
	}
}

// gather takes the requests that wait.
func (s *Store) gather(first request) []request {
	all := []request{first}
	for len(all) < batch {
		select {
		case next, ok := <-s.queue:
			if !ok {
				return all
			}
			all = append(all, next)
		default:
			return all
		}
	}
	return all
}

// commit writes requests in one transaction and answers them.
func (s *Store) commit(all []request) {
	oldest, newest := s.first, s.last
	numbers := make([][]uint64, len(all))
	err := s.db.Update(func(tx *bbolt.Tx) error {
		for i, r := range all {
			for _, c := range r.changes {
				n, err := s.change(tx, c)
				if err != nil {
					return err
				}
				if n > 0 {
					numbers[i] = append(numbers[i], n)
				}
			}
		}
		return s.trim(tx)
	})
	if err != nil {
		s.first, s.last = oldest, newest
		err = fmt.Errorf("%s: %w", s.path, err)
	}
	for i, r := range all {
		if err != nil {
			r.done <- result{err: err}
			continue
		}
		if r.written != nil {
			r.written(numbers[i])
		}
		r.done <- result{numbers: numbers[i]}
	}
}

// change makes one change and returns the number of a new event, else 0.
func (s *Store) change(tx *bbolt.Tx, c Change) (uint64, error) {
	b := tx.Bucket([]byte(c.Kind))
	id, n := []byte(c.ID), uint64(0)
	switch {
	case c.Kind == Event:
		n = s.last + 1
		id = key(n)
	case c.Value == nil:
		return 0, b.Delete(id)
	}
	if err := b.Put(id, s.seal.close(string(c.Kind), string(id), c.Value)); err != nil || n == 0 {
		return 0, err
	}
	s.last = n
	if s.first == 0 {
		s.first = n
	}
	return n, b.SetSequence(n)
}

// trim removes the oldest events beyond those that are kept.
func (s *Store) trim(tx *bbolt.Tx) error {
	b := tx.Bucket([]byte(Event))
	for s.first > 0 && s.last-s.first >= uint64(s.events) {
		if err := b.Delete(key(s.first)); err != nil {
			return err
		}
		s.first++
	}
	return nil
}
