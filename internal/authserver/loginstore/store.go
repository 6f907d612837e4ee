// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package loginstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

const (
	// defaultTimeout is how long a person who logs in waits for the store: as long
	// as one waits for a page before loading it again.
	defaultTimeout = 5 * time.Second
	// purgeEvery is how often entries that are over are removed. They are not
	// given out meanwhile, and take room only.
	purgeEvery = time.Minute
	// purgeTimeout bounds one removal, for which nobody waits.
	purgeTimeout = time.Minute
)

// Options are what a Store is made of, besides where it is.
type Options struct {
	// Timeout bounds each operation, 5 s if zero.
	Timeout time.Duration
	// Now is the clock by which entries end, time.Now if nil.
	Now     func() time.Time
	Metrics prometheus.Registerer
	Log     *slog.Logger
}

// Store keeps entries. It is safe for concurrent use. Its errors have neither
// keys nor values in them.
type Store struct {
	table   *table
	timeout time.Duration
	metrics *metrics
	log     *slog.Logger
}

var _ flow.Store = (*Store)(nil)

// The kinds of targets.
const (
	kindSQLite   = "sqlite"
	kindPostgres = "postgres"
)

var errTarget = errors.New("it must be sqlite:PATH, or postgres:FILE, where FILE holds the database's URL")

// checkTarget says what is wrong with a target as Open takes it, as far as that
// is known without looking at files.
func checkTarget(target string) error {
	kind, path, _ := strings.Cut(target, ":")
	if path == "" || kind != kindSQLite && kind != kindPostgres {
		return errTarget
	}
	return nil
}

// Embedded reports whether a target is a file, which one replica alone can use.
func Embedded(target string) bool { return strings.HasPrefix(target, kindSQLite+":") }

// Open opens the store at the target: sqlite:PATH is a file that is made where it
// is missing, and the FILE of postgres:FILE holds the URL of a server. A server
// that is away is not an error of Open: each operation fails until it is there.
func Open(ctx context.Context, target string, o Options) (*Store, error) {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	t, err := openTable(target, o)
	if err != nil {
		return nil, fmt.Errorf("open login store: %w", err)
	}
	s := &Store{table: t, timeout: o.Timeout, log: o.Log}
	if s.metrics, err = newMetrics(o.Metrics); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	if err := t.ready(ctx); err != nil {
		o.Log.WarnContext(ctx, "the login store is away: nobody can log in until it is there", "error", err)
	}
	return s, nil
}

func openTable(target string, o Options) (*table, error) {
	if err := checkTarget(target); err != nil {
		return nil, err
	}
	kind, path, _ := strings.Cut(target, ":")
	if kind == kindSQLite {
		return openSQLite(path, o.Now)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return openPostgres(string(bytes.TrimSpace(content)), o.Now)
}

// Put keeps a value until it expires. It returns flow.ErrExists where there is
// one of that kind and key.
func (s *Store) Put(ctx context.Context, kind flow.Kind, key string, value []byte, expires time.Time) error {
	return s.do(ctx, opPut, func(ctx context.Context) error { return s.table.Put(ctx, kind, key, value, expires) })
}

// Get returns a value, or flow.ErrNotFound.
func (s *Store) Get(ctx context.Context, kind flow.Kind, key string) (value []byte, err error) {
	err = s.do(ctx, opGet, func(ctx context.Context) (err error) {
		value, err = s.table.Get(ctx, kind, key)
		return err
	})
	return value, err
}

// Take removes a value and returns it, or flow.ErrNotFound: of several callers
// exactly one gets it.
func (s *Store) Take(ctx context.Context, kind flow.Kind, key string) (value []byte, err error) {
	err = s.do(ctx, opTake, func(ctx context.Context) (err error) {
		value, err = s.table.Take(ctx, kind, key)
		return err
	})
	return value, err
}

// Swap replaces the value old. It returns flow.ErrNotFound if the entry is missing
// or has another value.
func (s *Store) Swap(ctx context.Context, kind flow.Kind, key string, old, value []byte, expires time.Time) error { //nolint:revive // The interface is flow's.
	return s.do(ctx, opSwap, func(ctx context.Context) error { return s.table.Swap(ctx, kind, key, old, value, expires) })
}

// Delete removes a value, if there is one.
func (s *Store) Delete(ctx context.Context, kind flow.Kind, key string) error {
	return s.do(ctx, opDelete, func(ctx context.Context) error { return s.table.Delete(ctx, kind, key) })
}

// Trim leaves most values of a kind, and removes of more those that end first.
func (s *Store) Trim(ctx context.Context, kind flow.Kind, most int) error {
	return s.do(ctx, opTrim, func(ctx context.Context) error { return s.table.Trim(ctx, kind, most) })
}

// do does something within the time limit, and counts how it ended.
func (s *Store) do(ctx context.Context, o op, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	began := time.Now()
	err := do(ctx)
	s.metrics.ended(o, time.Since(began), err)
	if err == nil || refused(err) {
		return err
	}
	return fmt.Errorf("login store: %s: %w", o, err)
}

// refused reports whether the store has done what it was asked for, and the
// answer was no.
func refused(err error) bool {
	return errors.Is(err, flow.ErrExists) || errors.Is(err, flow.ErrNotFound)
}

// Run removes entries that are over now and then, until ctx ends, and closes the
// store.
func (s *Store) Run(ctx context.Context) error {
	ticks := time.NewTicker(purgeEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return s.Close()
		case <-ticks.C:
			s.purge(ctx)
		}
	}
}

func (s *Store) purge(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, purgeTimeout)
	defer cancel()
	removed, err := s.table.purge(limited)
	s.metrics.purged.Add(float64(removed))
	if err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "logins that are over are not removed from the store", "error", err)
	}
}

// Close ends all connections. Run does that too.
func (s *Store) Close() error { return s.table.Close() }
