// Package store keeps the daemon's records in one file that survives crashes: each change is a transaction that is on disk
// whole or not at all. It knows records by kind and id, and not what is in them.
package store

import "go.etcd.io/bbolt"

// Store is an open file of records.
type Store struct{ db *bbolt.DB }
