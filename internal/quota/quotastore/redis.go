// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/quota"
)

const (
	// defaultTimeout is how long a request waits for a Redis before its replica
	// goes on alone: hundreds of times what one takes in a cluster.
	defaultTimeout = 50 * time.Millisecond
	// tellers is how many connections report what is in flight, a few of those
	// that requests use.
	tellers = 8
	// prefix begins every key, so that the store can be shared with other
	// programs.
	prefix = "hostedbridge:quota:"
)

// Redis says where the shared store is.
type Redis struct {
	// URL is redis://host:port/database, or rediss:// with TLS. A user's name
	// may be in it, a password not.
	URL string
	// Password returns the password, empty for none. It is called for each new
	// connection.
	Password func() (string, error)
	// TLS is used with rediss://; nil for the system's roots.
	TLS *tls.Config
	// Timeout is how long a request waits for it, 50 ms if zero.
	Timeout time.Duration
}

// redisStore is a Redis in which all replicas count together.
type redisStore struct {
	client  *redis.Client
	replica string
	timeout time.Duration

	mu sync.Mutex
	// waiting has the users about whom a round asks, and who waits for the next one.
	waiting map[types.UID][]*question
}

func newRedis(r Redis) (*redisStore, error) {
	if r.Timeout <= 0 {
		r.Timeout = defaultTimeout
	}
	o, err := redisOptions(r)
	if err != nil {
		return nil, err
	}
	return &redisStore{client: redis.NewClient(o), replica: rand.Text(), timeout: r.Timeout, waiting: map[types.UID][]*question{}}, nil
}

// The keys that all users share.
const (
	replicasKey = prefix + "ingresses"
	markerKey   = prefix + "marker"
)

func key(bridge types.UID) string { return prefix + "account:" + string(bridge) }

// beat implements shared.
func (r *redisStore) beat(ctx context.Context) (p Presence, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if err := r.client.SetNX(ctx, markerKey, rand.Text(), quota.KeepFor).Err(); err != nil {
		return p, err
	}
	err = swap(ctx, r.client, replicasKey, func(all *Replicas, at found) bool {
		all.Note(r.replica, at.now)
		p = Presence{Replicas: int64(len(*all)), Marker: at.marker}
		return true
	})
	return p, err
}

// tell implements shared.
func (r *redisStore) tell(ctx context.Context, told map[types.UID]quota.Slots) error {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(tellers)
	for bridge, held := range told {
		group.Go(func() error {
			return swap(ctx, r.client, key(bridge), func(a *quota.Account, at found) bool { return a.Hold(r.replica, held, at.now) })
		})
	}
	return group.Wait()
}

// leave implements shared.
func (r *redisStore) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	// If the store is unavailable, its entry expires by itself.
	_ = swap(ctx, r.client, replicasKey, func(all *Replicas, _ found) bool {
		delete(*all, r.replica)
		return true
	})
	_ = r.client.Close()
}
