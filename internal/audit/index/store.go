// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hostedbridge/hostedbridge/internal/database"
)

// Store is an index in a database.
type Store struct {
	// open returns the store that takes this one's place, nil where this one is
	// it. opening is held while it is called, and while it is set who has it.
	open    func() (*Store, error)
	opening sync.Mutex

	db   *database.DB
	made atomic.Bool // the tables
}

// Later returns the store that open opens, once it can. Until then the store's
// methods fail, and each of them tries.
func Later(open func() (*Store, error)) *Store { return &Store{open: open} }

// find opens the database, if that is still to be done.
func (s *Store) find() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.open == nil {
		return nil
	}
	found, err := s.open()
	if err != nil {
		return err
	}
	s.db, s.open = found.db, nil
	return nil
}

// OpenSQLite opens the index in the file at path, which is made where it is
// missing. Only one process at a time may use it.
func OpenSQLite(path string) (*Store, error) {
	// What a power failure takes is in the trail, and with it the progress, so that
	// it is read again.
	return opened(database.OpenSQLite(path, database.Loose))
}

// OpenPostgres returns the index in the database of the URL. It does not
// connect yet.
func OpenPostgres(databaseURL string) (*Store, error) {
	return opened(database.OpenPostgres(databaseURL))
}

func opened(db *database.DB, err error) (*Store, error) {
	if err != nil {
		return nil, fmt.Errorf("open audit index: %w", err)
	}
	return &Store{db: db}, nil
}

// Close ends all connections.
func (s *Store) Close() error {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.open = func() (*Store, error) { return nil, errClosed }
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}

var errClosed = errors.New("the audit index is closed")
