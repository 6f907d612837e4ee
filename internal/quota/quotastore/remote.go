// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"cmp"
	"context"
	"crypto/rand"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/internal/quota"
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
func (r *remoteStore) take(ctx context.Context, q Inquiry) (quota.Reply, error) {
	// A client that leaves is no failure of the store.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	q.Replica = r.replica
	// No limit of anything but calls matters there.
	q.Tier.Storage, q.Tier.StoragePerServer = nil, nil
	var taken Taken
	if err := r.client.Call(ctx, PathTake, q, &taken); err != nil {
		return quota.Reply{}, err
	}
	if taken.Forgotten {
		return quota.Reply{}, ErrForgotten
	}
	return taken.Reply, nil
}

// beat implements shared.
func (r *remoteStore) beat(ctx context.Context) (p Presence, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	err = r.client.Call(ctx, PathBeat, r.replica, &p)
	return p, err
}

// tell implements shared.
func (r *remoteStore) tell(ctx context.Context, told map[types.UID]quota.Slots) error {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	return r.client.Call(ctx, PathTell, Told{Replica: r.replica, InFlight: told}, &jsoncall.Nothing{})
}

// leave implements shared.
func (r *remoteStore) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	// If the store is unavailable, its entry expires by itself.
	_ = r.client.Call(ctx, PathLeave, r.replica, &jsoncall.Nothing{})
	r.client.Close()
}
