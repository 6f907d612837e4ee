// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
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
type cluster struct {
	mu      sync.Mutex
	secrets map[string]*corev1.Secret
	version int
	// reads and writes count the calls that came through.
	reads, writes int
	// err is the error of every call while it is set.
	err error
	// beforePatch runs before each change of a Secret.
	beforePatch func()
}

func newCluster() *cluster { return &cluster{secrets: map[string]*corev1.Secret{}} }

var resource = schema.GroupResource{Resource: "secrets"}

func (c *cluster) Secret(_ context.Context, namespace, name string) (*corev1.Secret, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	stored, found := c.secrets[namespace+"/"+name]
	switch {
	case c.err != nil:
		return nil, c.err
	case !found:
		return nil, apierrors.NewNotFound(resource, name)
	}
	return stored.DeepCopy(), nil
}

func (c *cluster) CreateSecret(_ context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := secret.Namespace + "/" + secret.Name
	switch {
	case c.err != nil:
		return nil, c.err
	case c.secrets[key] != nil:
		return nil, apierrors.NewAlreadyExists(resource, secret.Name)
	}
	c.secrets[key] = secret.DeepCopy()
	c.touch(c.secrets[key])
	return c.secrets[key].DeepCopy(), nil
}

func (c *cluster) PatchSecret(_ context.Context, secret *corev1.Secret, data map[string][]byte) (*corev1.Secret, error) {
	if c.beforePatch != nil {
		c.beforePatch()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	stored := c.secrets[secret.Namespace+"/"+secret.Name]
	switch {
	case c.err != nil:
		return nil, c.err
	case stored == nil:
		return nil, apierrors.NewNotFound(resource, secret.Name)
	case stored.ResourceVersion != secret.ResourceVersion:
		return nil, apierrors.NewConflict(resource, secret.Name, errors.New("changed"))
	case stored.Immutable != nil && *stored.Immutable:
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, secret.Name, nil)
	}
	next := maps.Clone(stored.Data)
	if next == nil {
		next = map[string][]byte{}
	}
	for key, value := range data {
		if next[key] = value; value == nil {
			delete(next, key)
		}
	}
	stored.Data = next
	c.touch(stored)
	return stored.DeepCopy(), nil
}

// touch gives the Secret a new resource version, as any write does.
func (c *cluster) touch(s *corev1.Secret) {
	c.version++
	c.writes++
	s.ResourceVersion = strconv.Itoa(c.version)
}

func (c *cluster) envelopes(b Bridge) *corev1.Secret {
	return c.secrets[tenant+"/"+b.Name+"-envelopes"]
}
func (c *cluster) salt(b Bridge) *corev1.Secret { return c.secrets[tenant+"/"+b.Name+"-salt"] }

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
	ring, err := envelope.NewKeyring(masters, minimum)
	if err != nil {
		t.Fatal(err)
	}
	f.master = &provider{Keyring: ring}
}

func keys(t testing.TB, p envelope.Provider) *envelope.Keys {
	t.Helper()
	k, err := envelope.NewKeys(p)
	if err != nil {
		t.Fatal(err)
	}
	return k
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
	listing, err := f.change(t, b, changes...)
	if err != nil {
		t.Fatal(err)
	}
	return listing
}

// values opens all that opens, and returns the names of the rest.
func (f *fixture) values(t testing.TB, b Bridge) (map[string]string, []string) {
	t.Helper()
	opened, err := f.Open(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, value := range opened.Values {
		got[name] = string(value)
	}
	return got, opened.Unreadable
}

func (f *fixture) list(t testing.TB, b Bridge) Listing {
	t.Helper()
	listing, err := f.List(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return listing
}
