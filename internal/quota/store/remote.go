// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/internal/quota/counter"
)

// defaultRemoteTimeout is how long a request waits for the installation's own
// store before its replica goes on alone. It is longer than that of a Redis, since
// a query of the audit index can keep the same process busy.
const defaultRemoteTimeout = 250 * time.Millisecond

// remoteStore is the installation's own store.
type remoteStore struct {
	client  *jsoncall.Client
	replica string
	timeout time.Duration
}

func newRemote(client *jsoncall.Client, timeout time.Duration) *remoteStore {
	return &remoteStore{client: client, replica: rand.Text(), timeout: cmp.Or(timeout, defaultRemoteTimeout)}
}

// take implements shared.
func (r *remoteStore) take(ctx context.Context, q counter.Inquiry) (counter.Reply, error) {
	// A client that leaves is no failure of the store.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	q.Replica = r.replica
	// No limit of anything but calls matters there.
	q.Tier.Storage, q.Tier.StoragePerServer = nil, nil
	var taken counter.Taken
	if err := r.client.Call(ctx, counter.PathTake, q, &taken); err != nil {
		return counter.Reply{}, err
	}
	if taken.Forgotten {
		return counter.Reply{}, counter.ErrForgotten
	}
	return taken.Reply, nil
}

// beat implements shared.
func (r *remoteStore) beat(ctx context.Context) (p counter.Presence, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	err = r.client.Call(ctx, counter.PathBeat, r.replica, &p)
	return p, err
}

// tell implements shared.
func (r *remoteStore) tell(ctx context.Context, told map[types.UID]counter.Slots) error {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	return r.client.Call(ctx, counter.PathTell, counter.Told{Replica: r.replica, InFlight: told}, &jsoncall.Nothing{})
}

// leave implements shared.
func (r *remoteStore) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	// If the store is unavailable, its entry expires by itself.
	_ = r.client.Call(ctx, counter.PathLeave, r.replica, &jsoncall.Nothing{})
	r.client.Close()
}
