// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore/storetest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// cluster is the HostedBridges and Secrets of a cluster, with a real store.
type cluster struct {
	*storetest.Memory
	*secretstore.Store
	bridges []Bridge
	keys    *envelope.Keys
}

func newCluster(t *testing.T, keys *envelope.Keys) *cluster {
	t.Helper()
	c := &cluster{Memory: storetest.New(), keys: keys}
	s, err := secretstore.New(secretstore.Config{
		Secrets: c.Memory, Keys: func() *envelope.Keys { return c.keys }, Cluster: "test",
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
	ring := must.Value(envelope.NewKeyring(masters, 0))(t)
	return must.Value(envelope.NewKeys(ring))(t)
}

// add adds a HostedBridge of the user of that name with these secrets.
func (c *cluster) add(t *testing.T, namespace, name, uid string, secrets map[string]string) secretstore.Bridge {
	t.Helper()
	b := secretstore.Bridge{Namespace: namespace, Name: name, UID: types.UID(uid)}
	c.bridges = append(c.bridges, Bridge{Bridge: b, UserID: name})
	c.set(t, b, secrets)
	return b
}

func (c *cluster) set(t *testing.T, b secretstore.Bridge, secrets map[string]string) {
	t.Helper()
	_, err := c.Update(t.Context(), b, func(context.Context, secretstore.Listing, func(string) ([]byte, error)) ([]secretstore.Change, error) {
		var changes []secretstore.Change
		for secret, value := range secrets {
			changes = append(changes, secretstore.Change{Name: secret, Value: []byte(value)})
		}
		return changes, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) Bridges(_ context.Context, namespace string) ([]secretstore.Bridge, error) {
	var all []secretstore.Bridge
	for _, b := range c.bridges {
		if namespace == "" || b.Namespace == namespace {
			all = append(all, b.Bridge)
		}
	}
	return all, c.Err
}

func (c *cluster) Belongings(_ context.Context, namespace string) ([]Belonging, error) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	var all []Belonging
	for _, secret := range c.Stored {
		owner := metav1.GetControllerOf(secret)
		if owner != nil && (namespace == "" || secret.Namespace == namespace) {
			all = append(all, Belonging{secret.Namespace, secret.Name, owner.Name, owner.UID})
		}
	}
	return all, c.Err
}

func (c *cluster) BridgeUID(_ context.Context, namespace, name string) (types.UID, error) {
	if b := c.find(namespace, name); b != nil {
		return b.UID, c.Err
	}
	return "", c.Err
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
	return c.find(namespace, name), c.Err
}

// values opens the bridge's secrets.
func (c *cluster) values(t *testing.T, b secretstore.Bridge) map[string]string {
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
func hostedBridge(b secretstore.Bridge, user string) *v1alpha1.HostedBridge {
	return &v1alpha1.HostedBridge{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "HostedBridge"},
		ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name, UID: b.UID},
		Spec:       v1alpha1.HostedBridgeSpec{UserID: v1alpha1.UserID(user)},
	}
}
