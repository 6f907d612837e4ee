// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
)

// fakeKeys are keys that are in no HostedBridge.
type fakeKeys struct {
	keys.Store // Nothing else is called.

	mu   sync.Mutex
	keys map[types.UID][]keys.Info
	err  error // What the next act fails with.
}

// userKeys returns the keys of the world's users.
func (w *world) userKeys() *keys.Keys {
	return &keys.Keys{Store: w.keys, Routes: w.routes, Known: w.bridgeOf}
}

func newFakeKeys() *fakeKeys { return &fakeKeys{keys: map[types.UID][]keys.Info{}} }

// fail makes acts fail.
func (f *fakeKeys) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fakeKeys) Create(_ context.Context, of route.Backend, name string, expiresAt time.Time) (*keys.Minted, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	m, err := keys.Mint(rand.Reader, keys.Request{User: v1alpha1.UserID(of.Name), Bridge: types.NamespacedName{Namespace: of.Namespace, Name: of.Name}, Name: name, ExpiresAt: expiresAt})
	if err != nil {
		return nil, err
	}
	made := keys.Info{ID: m.ID, Name: name}
	if !m.ExpiresAt.IsZero() {
		made.ExpiresAt = &m.ExpiresAt
	}
	f.keys[of.BridgeUID] = append(f.keys[of.BridgeUID], made)
	return m, nil
}

func (f *fakeKeys) List(_ context.Context, of route.Backend) ([]keys.Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.keys[of.BridgeUID]), f.err
}

func (f *fakeKeys) Revoke(_ context.Context, of route.Backend, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	before := len(f.keys[of.BridgeUID])
	f.keys[of.BridgeUID] = slices.DeleteFunc(f.keys[of.BridgeUID], func(k keys.Info) bool { return k.ID == id })
	if len(f.keys[of.BridgeUID]) == before {
		return keys.ErrNoKey
	}
	return nil
}
