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
	"github.com/hostedbridge/hostedbridge/internal/userkey"
)

// fakeKeys are keys that are in no HostedBridge.
type fakeKeys struct {
	mu   sync.Mutex
	keys map[types.UID][]userkey.Info
	err  error // What the next act fails with.
	// during is called in the middle of an act, when it has been done; nil for
	// nothing. Its error is what the act ends with.
	during func(ctx context.Context) error
}

func newFakeKeys() *fakeKeys { return &fakeKeys{keys: map[types.UID][]userkey.Info{}} }

// fail makes acts fail.
func (f *fakeKeys) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// done is called by acts that have been done.
func (f *fakeKeys) done(ctx context.Context) error {
	if f.during == nil {
		return nil
	}
	return f.during(ctx)
}

func (f *fakeKeys) Create(ctx context.Context, of userkey.Bridge, name string, expiresAt time.Time) (*userkey.Minted, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	m, err := userkey.Mint(rand.Reader, userkey.Request{User: v1alpha1.UserID(of.Name), Bridge: of.NamespacedName, Name: name, ExpiresAt: expiresAt})
	if err != nil {
		return nil, err
	}
	made := userkey.Info{ID: m.ID, Name: name}
	if !m.ExpiresAt.IsZero() {
		made.ExpiresAt = &m.ExpiresAt
	}
	f.keys[of.UID] = append(f.keys[of.UID], made)
	return m, f.done(ctx)
}

func (f *fakeKeys) List(_ context.Context, of userkey.Bridge) ([]userkey.Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.keys[of.UID]), f.err
}

func (f *fakeKeys) Revoke(ctx context.Context, of userkey.Bridge, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	before := len(f.keys[of.UID])
	f.keys[of.UID] = slices.DeleteFunc(f.keys[of.UID], func(k userkey.Info) bool { return k.ID == id })
	if len(f.keys[of.UID]) == before {
		return userkey.ErrNoKey
	}
	return f.done(ctx)
}
