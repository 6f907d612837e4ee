// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore/storetest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	canary = "canary-value-nobody-may-see"
	tenant = "tenants"
)

var (
	alice = Bridge{tenant, "alice", "uid-alice"}
	bob   = Bridge{tenant, "bob", "uid-bob"}
	start = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
)

// cluster is the Secrets of an API server in memory.
type cluster struct{ *storetest.Memory }

func newCluster() *cluster { return &cluster{storetest.New()} }

func (c *cluster) envelopes(b Bridge) *corev1.Secret {
	return c.Stored[storetest.Key(tenant, b.Name+"-envelopes")]
}
func (c *cluster) salt(b Bridge) *corev1.Secret {
	return c.Stored[storetest.Key(tenant, b.Name+"-salt")]
}

// provider is a master key that can be away.
type provider struct {
	*envelope.Keyring
	away bool
}

func (p *provider) Wrap(ctx context.Context, random io.Reader, w envelope.Wrapping, dataKey []byte) (envelope.Wrapped, error) {
	if p.away {
		return envelope.Wrapped{}, errors.New("connection refused")
	}
	return p.Keyring.Wrap(ctx, random, w, dataKey)
}

func (p *provider) Unwrap(ctx context.Context, w envelope.Wrapping, k envelope.Wrapped) ([]byte, error) {
	if p.away {
		return nil, errors.New("connection refused")
	}
	return p.Keyring.Unwrap(ctx, w, k)
}

// fixture is a store over a cluster with a clock and a master key that tests
// change.
type fixture struct {
	*Store
	*cluster
	master *provider
	now    time.Time
	log    bytes.Buffer
}

// newFixture returns a store with these versions of the master key.
func newFixture(t testing.TB, c *cluster, versions ...uint32) *fixture {
	t.Helper()
	f := &fixture{cluster: c, now: start}
	f.rotate(t, 0, versions...)
	var err error
	f.Store, err = New(Config{
		Secrets: c, Keys: func() *envelope.Keys { return keys(t, f.master) }, Cluster: "test", Random: rand.Reader,
		Now: func() time.Time { return f.now }, Log: slog.New(slog.NewJSONHandler(&f.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// rotate gives the fixture other versions of the master key.
func (f *fixture) rotate(t testing.TB, minimum uint32, versions ...uint32) {
	t.Helper()
	masters := map[uint32][envelope.KeySize]byte{}
	for _, v := range versions {
		masters[v] = [envelope.KeySize]byte{byte(v), 1}
	}
	ring := must.Value(envelope.NewKeyring(masters, minimum))(t)
	f.master = &provider{Keyring: ring}
}

func keys(t testing.TB, p envelope.Provider) *envelope.Keys {
	t.Helper()
	return must.Value(envelope.NewKeys(p))(t)
}

// change makes these changes.
func (f *fixture) change(t testing.TB, b Bridge, changes ...Change) (Listing, error) {
	t.Helper()
	return f.Update(t.Context(), b, func(context.Context, Listing, func(string) ([]byte, error)) ([]Change, error) {
		return changes, nil
	})
}

func set(name, value string) Change { return Change{Name: name, Value: []byte(value)} }
func remove(name string) Change     { return Change{Name: name, Delete: true} }

func (f *fixture) must(t testing.TB, b Bridge, changes ...Change) Listing {
	t.Helper()
	return must.Value(f.change(t, b, changes...))(t)
}

// values opens all that opens, and returns the names of the rest.
func (f *fixture) values(t testing.TB, b Bridge) (map[string]string, []string) {
	t.Helper()
	opened := must.Value(f.Open(t.Context(), b))(t)
	got := map[string]string{}
	for name, value := range opened.Values {
		got[name] = string(value)
	}
	return got, opened.Unreadable
}

func (f *fixture) list(t testing.TB, b Bridge) Listing {
	t.Helper()
	return must.Value(f.List(t.Context(), b))(t)
}
