// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	system  = "hosted-bridge-system"
	ringRef = "hosted-bridge-master-key"

	// canary is the value of a secret, which nothing may show.
	canary = "hb-canary-5b0e7a"
)

var secretResource = schema.GroupResource{Resource: "secrets"}

// memory is an API server with Secrets alone.
type memory struct {
	mu      sync.Mutex
	secrets map[Ref]*corev1.Secret
	version int
	// patched is called with the lock held, after a write that took place; its
	// error is what the writer gets.
	patched func(secret *corev1.Secret) error
	// away is the error of every call, if any.
	away error
}

func newMemory() *memory { return &memory{secrets: map[Ref]*corev1.Secret{}} }

func (m *memory) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := errors.Join(ctx.Err(), m.away); err != nil {
		return nil, err
	}
	secret, found := m.secrets[Ref{namespace, name}]
	if !found {
		return nil, apierrors.NewNotFound(secretResource, name)
	}
	return secret.DeepCopy(), nil
}

func (m *memory) CreateSecret(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := errors.Join(ctx.Err(), m.away); err != nil {
		return nil, err
	}
	at := Ref{secret.Namespace, secret.Name}
	if _, found := m.secrets[at]; found {
		return nil, apierrors.NewAlreadyExists(secretResource, secret.Name)
	}
	return m.put(at, secret.DeepCopy()), nil
}

func (m *memory) put(at Ref, secret *corev1.Secret) *corev1.Secret {
	m.version++
	secret.ResourceVersion = strconv.Itoa(m.version)
	m.secrets[at] = secret
	return secret.DeepCopy()
}

func (m *memory) PatchSecret(ctx context.Context, read *corev1.Secret, data map[string][]byte) (*corev1.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := errors.Join(ctx.Err(), m.away); err != nil {
		return nil, err
	}
	at := Ref{read.Namespace, read.Name}
	stored, found := m.secrets[at]
	if !found {
		return nil, apierrors.NewNotFound(secretResource, read.Name)
	}
	if stored.ResourceVersion != read.ResourceVersion {
		return nil, apierrors.NewConflict(secretResource, read.Name, errors.New("it has changed"))
	}
	next := stored.DeepCopy()
	if next.Data == nil {
		next.Data = map[string][]byte{}
	}
	for key, value := range data {
		next.Data[key] = value
		if value == nil {
			delete(next.Data, key)
		}
	}
	result := m.put(at, next)
	if m.patched != nil {
		if err := m.patched(next); err != nil {
			return nil, err
		}
	}
	return result, nil
}

func (m *memory) remove(namespace, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.secrets, Ref{namespace, name})
}

// copyOf returns the Secret as a backup has it.
func (m *memory) copyOf(t *testing.T, namespace, name string) *corev1.Secret {
	t.Helper()
	secret, err := m.Secret(t.Context(), namespace, name)
	if err != nil {
		t.Fatal(err)
	}
	secret.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
	return secret
}

// cluster is the HostedBridges and Secrets of a cluster, with a real store.
type cluster struct {
	*memory

	*store.Store
	bridges []Bridge
	keys    *envelope.Keys
}

func newCluster(t *testing.T, keys *envelope.Keys) *cluster {
	t.Helper()
	c := &cluster{memory: newMemory(), keys: keys}
	s, err := store.New(store.Config{
		Secrets: c.memory, Keys: func() *envelope.Keys { return c.keys }, Cluster: "test",
		Random: rand.Reader, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Store = s
	return c
}

// localKeys returns a ring of these versions, of which the last seals.
func localKeys(t *testing.T, versions ...uint32) *envelope.Keys {
	t.Helper()
	masters := map[uint32][envelope.KeySize]byte{}
	for _, version := range versions {
		masters[version] = [envelope.KeySize]byte(bytes.Repeat([]byte{byte(version)}, envelope.KeySize))
	}
	ring, err := envelope.NewKeyring(masters, 0)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := envelope.NewKeys(ring)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// add adds a HostedBridge of the user of that name with these secrets.
func (c *cluster) add(t *testing.T, namespace, name, uid string, secrets map[string]string) store.Bridge {
	t.Helper()
	b := store.Bridge{Namespace: namespace, Name: name, UID: types.UID(uid)}
	c.bridges = append(c.bridges, Bridge{Bridge: b, UserID: name})
	c.set(t, b, secrets)
	return b
}

func (c *cluster) set(t *testing.T, b store.Bridge, secrets map[string]string) {
	t.Helper()
	_, err := c.Update(t.Context(), b, func(context.Context, store.Listing, func(string) ([]byte, error)) ([]store.Change, error) {
		var changes []store.Change
		for secret, value := range secrets {
			changes = append(changes, store.Change{Name: secret, Value: []byte(value)})
		}
		return changes, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) Bridges(_ context.Context, namespace string) ([]store.Bridge, error) {
	var all []store.Bridge
	for _, b := range c.bridges {
		if namespace == "" || b.Namespace == namespace {
			all = append(all, b.Bridge)
		}
	}
	return all, c.away
}

func (c *cluster) Belongings(_ context.Context, namespace string) ([]Belonging, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Belonging
	for at, secret := range c.secrets {
		owner := metav1.GetControllerOf(secret)
		if owner != nil && (namespace == "" || at.Namespace == namespace) {
			all = append(all, Belonging{at.Namespace, at.Name, owner.Name, owner.UID})
		}
	}
	return all, c.away
}

func (c *cluster) BridgeUID(_ context.Context, namespace, name string) (types.UID, error) {
	if b := c.find(namespace, name); b != nil {
		return b.UID, c.away
	}
	return "", c.away
}

func (c *cluster) find(namespace, name string) *Bridge {
	for _, b := range c.bridges {
		if b.Namespace == namespace && b.Name == name {
			return &b
		}
	}
	return nil
}

func (c *cluster) bridge(_ context.Context, namespace, name string) (*Bridge, error) {
	return c.find(namespace, name), c.away
}

// values opens the bridge's secrets.
func (c *cluster) values(t *testing.T, b store.Bridge) map[string]string {
	t.Helper()
	opened, err := c.Open(t.Context(), b)
	if err != nil || len(opened.Unreadable) > 0 {
		t.Fatal(opened.Unreadable, err)
	}
	values := map[string]string{}
	for name, value := range opened.Values {
		values[name] = string(value)
	}
	return values
}

// hostedBridge is the HostedBridge as a backup has it.
func hostedBridge(b store.Bridge, user string) *v1alpha1.HostedBridge {
	return &v1alpha1.HostedBridge{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "HostedBridge"},
		ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name, UID: b.UID},
		Spec:       v1alpha1.HostedBridgeSpec{UserID: v1alpha1.UserID(user)},
	}
}

// ringSecret is a ring in a Secret.
func ringSecret(data map[string]string) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: ringRef}, Data: map[string][]byte{}}
	for name, content := range data {
		secret.Data[name] = []byte(content)
	}
	return secret
}

func texts(data map[string][]byte) map[string]string {
	m := map[string]string{}
	for name := range maps.Keys(data) {
		m[name] = string(data[name])
	}
	return m
}
