// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	_ "embed" // The scripts.
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/database/redisdb"
)

// prefix begins every key, so that the server can be one that others use.
const prefix = "hostedbridge:login:"

var (
	//go:embed put.lua
	putSource string
	//go:embed swap.lua
	swapSource string
	//go:embed take.lua
	takeSource string
	//go:embed count.lua
	countSource string

	putScript, swapScript   = redis.NewScript(putSource), redis.NewScript(swapSource)
	takeScript, countScript = redis.NewScript(takeSource), redis.NewScript(countSource)
)

// shared is a store in a Redis or Valkey. The server removes what is over by
// itself. How many entries there are of a kind it knows by their ends, which are
// kept beside them and change with them in one script.
type shared struct {
	client *redis.Client
	now    func() time.Time
	// kinds are those that this replica has put.
	kinds sync.Map
}

func openRedis(url string, o Options) (*shared, error) {
	options, err := redisdb.Options(redisdb.Config{URL: url, TLS: o.TLS, Timeout: o.Timeout})
	if err != nil {
		return nil, err
	}
	return &shared{client: redis.NewClient(options), now: o.Now}, nil
}

func (s *shared) ready(ctx context.Context) error { return s.client.Ping(ctx).Err() }

func keys(kind flow.Kind, key string) []string {
	return []string{prefix + string(kind) + ":" + key, endsKey(kind)}
}

// endsKey has no colon behind the kind, so that it is no entry's.
func endsKey(kind flow.Kind) string { return prefix + "ends of " + string(kind) }

// left returns for how many milliseconds an entry is kept, of which a begun one
// counts as a whole one. What the server counts is time that passes: its clock
// may be another one than ours.
func (s *shared) left(expires time.Time) int64 {
	return (expires.Sub(s.now()) + time.Millisecond - 1).Milliseconds()
}

// Put implements flow.Store.
func (s *shared) Put(ctx context.Context, kind flow.Kind, key string, value []byte, expires time.Time) error {
	s.kinds.LoadOrStore(kind, struct{}{})
	put, err := putScript.Run(ctx, s.client, keys(kind, key), some(value), s.left(expires), key).Int()
	if err == nil && put == 0 {
		return flow.ErrExists
	}
	return err
}

// Get implements flow.Store.
func (s *shared) Get(ctx context.Context, kind flow.Kind, key string) ([]byte, error) {
	value, err := s.client.Get(ctx, keys(kind, key)[0]).Bytes()
	return value, nothing(err)
}

func nothing(err error) error {
	if errors.Is(err, redis.Nil) {
		return flow.ErrNotFound
	}
	return err
}

// Take implements flow.Store.
func (s *shared) Take(ctx context.Context, kind flow.Kind, key string) ([]byte, error) {
	value, err := takeScript.Run(ctx, s.client, keys(kind, key), key).Text()
	if err != nil {
		return nil, nothing(err)
	}
	return []byte(value), nil
}

// Swap implements flow.Store.
func (s *shared) Swap(ctx context.Context, kind flow.Kind, key string, old, value []byte, expires time.Time) error { //nolint:revive // The interface is flow's.
	swapped, err := swapScript.Run(ctx, s.client, keys(kind, key), some(value), s.left(expires), key, some(old)).Int()
	if err == nil && swapped == 0 {
		return flow.ErrNotFound
	}
	return err
}

// Delete implements flow.Store.
func (s *shared) Delete(ctx context.Context, kind flow.Kind, key string) error {
	if _, err := s.Take(ctx, kind, key); err != nil && !errors.Is(err, flow.ErrNotFound) {
		return err
	}
	return nil
}

// Count implements flow.Store.
func (s *shared) Count(ctx context.Context, kind flow.Kind) (int, error) {
	_, left, err := s.forget(ctx, kind)
	return int(left), err
}

// forget has the server forget the ends that have come, of entries that it has
// removed.
func (s *shared) forget(ctx context.Context, kind flow.Kind) (over, left int64, err error) {
	counts, err := countScript.Run(ctx, s.client, []string{endsKey(kind)}).Int64Slice()
	if err != nil {
		return 0, 0, err
	}
	if len(counts) != 2 {
		return 0, 0, errors.New("the script's answer has another form than ours")
	}
	return counts[0], counts[1], nil
}

func (s *shared) purge(ctx context.Context) (removed int64, err error) {
	s.kinds.Range(func(kind, _ any) bool {
		var over int64
		over, _, err = s.forget(ctx, kind.(flow.Kind))
		removed += over
		return err == nil
	})
	return removed, err
}

// Close ends all connections.
func (s *shared) Close() error { return s.client.Close() }
