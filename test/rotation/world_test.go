// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build rotation || testenv

package rotation

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/masterkey"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

const (
	// concurrency is the keybroker's own.
	concurrency = 8
	// marker begins every value, so that it is found where it must not be, as
	// it is and, being of 15 bytes, in base64.
	marker = "a-plaintext-of-"
)

// fleet is an installation with many bridges, seen from outside of the
// keybroker.
type fleet struct {
	client    client.Client
	store     *secretstore.Store
	ring      string
	namespace string
	bridges   []secretstore.Bridge
	secrets   int
}

// newFleet makes the ring with version 1, and no bridge yet.
func newFleet(t *testing.T, bridges, secrets int) *fleet {
	t.Helper()
	w := &fleet{client: testenv.Client(t), ring: t.TempDir(), bridges: make([]secretstore.Bridge, bridges), secrets: secrets}
	w.namespace = testenv.Namespace(t, w.client)
	w.key(t, "authority")
	w.key(t, "1")
	w.file(t, "current", "1")
	_, w.store = w.open(t)
	return w
}

// populate makes the bridges of these numbers, and seals their secrets.
func (w *fleet) populate(t *testing.T, from, to int) {
	t.Helper()
	each(t, from, to, 2*concurrency, w.provision)
}

// open returns the master key as it is in the ring now, and a store under it.
func (w *fleet) open(t *testing.T) (*masterkey.Source, *secretstore.Store) {
	t.Helper()
	keys := must.Value(masterkey.Open(t.Context(), masterkey.Options{Dir: w.ring}))(t)
	cluster := must.Value(keybroker.NewCluster(testenv.Config()))(t)
	s, err := secretstore.New(secretstore.Config{
		Secrets: cluster, Keys: keys.Keys, Cluster: "hosted-bridge",
		Random: rand.Reader, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys, s
}

// key adds a key to the ring.
func (w *fleet) key(t *testing.T, name string) {
	t.Helper()
	key := make([]byte, 32)
	must.Value(rand.Read(key))(t)
	w.file(t, name, base64.StdEncoding.EncodeToString(key))
}

// file writes a file of the ring all at once, as the kubelet does.
func (w *fleet) file(t *testing.T, name, content string) {
	t.Helper()
	aside := filepath.Join(t.TempDir(), name)
	must.Succeed(t, os.WriteFile(aside, []byte(content), 0o600))
	must.Succeed(t, os.Rename(aside, filepath.Join(w.ring, name)))
}

// each does something for the bridges of these numbers, so many at a time.
func each(t *testing.T, from, to, atOnce int, do func(ctx context.Context, i int) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(atOnce)
	for i := from; i < to; i++ {
		group.Go(func() error { return do(ctx, i) })
	}
	must.Succeed(t, group.Wait())
}

func (w *fleet) provision(ctx context.Context, i int) error {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("%s-%05d", w.namespace, i)}}
	if err := w.client.Create(ctx, b); err != nil {
		return err
	}
	w.bridges[i] = secretstore.Bridge{Namespace: b.Namespace, Name: b.Name, UID: b.UID}
	_, err := w.store.Update(ctx, w.bridges[i], func(context.Context, secretstore.Listing, func(string) ([]byte, error)) ([]secretstore.Change, error) {
		changes := make([]secretstore.Change, w.secrets)
		for n := range changes {
			changes[n] = secretstore.Change{Name: secretName(n), Value: []byte(value(i, n))}
		}
		return changes, nil
	})
	return err
}

func secretName(n int) string { return fmt.Sprintf("SECRET_%02d", n) }

func value(bridge, n int) string { return marker + strconv.Itoa(bridge) + "-" + strconv.Itoa(n) }

// check opens all secrets of a bridge and compares them.
func (w *fleet) check(ctx context.Context, s *secretstore.Store, i int) error {
	opened, err := s.Open(ctx, w.bridges[i])
	if err != nil {
		return err
	}
	defer opened.Wipe()
	return w.compare(i, opened.Values, opened.Unreadable)
}

// compare compares what was opened with what was sealed.
func (w *fleet) compare(i int, opened map[string][]byte, unreadable []string) error {
	if len(unreadable) > 0 || len(opened) != w.secrets {
		return fmt.Errorf("bridge %d: %d secrets open and %d do not", i, len(opened), len(unreadable))
	}
	for n := range w.secrets {
		if string(opened[secretName(n)]) != value(i, n) {
			return fmt.Errorf("bridge %d: secret %d is another", i, n)
		}
	}
	return nil
}

// left returns how many envelopes the API server has under version 1.
func (w *fleet) left(t *testing.T) int {
	t.Helper()
	var list corev1.SecretList
	ours := client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.FieldOwnerKeybroker}
	must.Succeed(t, w.client.List(t.Context(), &list, client.InNamespace(w.namespace), ours))
	left := 0
	for i := range list.Items {
		for _, content := range list.Items[i].Data {
			// Salts and indexes are no envelopes.
			if header, err := envelope.Inspect(content); err == nil && header.Key.Version == 1 {
				left++
			}
		}
	}
	return left
}

// floor returns how long as many plain merge patches take as there are bridges,
// of the size of a rewrap, as many at a time.
func (w *fleet) floor(t *testing.T) time.Duration {
	t.Helper()
	template := &corev1.Secret{}
	must.Succeed(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: w.bridges[0].Name + "-envelopes"}, template))
	delete(template.Data, ".index") // A rewrap does not write it.
	targets := make([]*corev1.Secret, concurrency)
	for i := range targets {
		targets[i] = &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("floor-%d", i)}, Data: template.Data,
		}
	}
	testenv.ExpectApplied(t, w.client, objects(targets)...)
	var next atomic.Int64
	group, ctx := errgroup.WithContext(t.Context())
	begin := time.Now()
	for _, target := range targets {
		group.Go(func() error {
			for next.Add(1) <= int64(len(w.bridges)) {
				if err := patch(ctx, w.client, target); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must.Succeed(t, group.Wait())
	return time.Since(begin)
}

func objects(secrets []*corev1.Secret) []client.Object {
	all := make([]client.Object, len(secrets))
	for i, s := range secrets {
		all[i] = s
	}
	return all
}

// patch replaces all data by other data of the same size.
func patch(ctx context.Context, c client.Client, target *corev1.Secret) error {
	data := map[string][]byte{}
	for name, value := range target.Data {
		data[name] = make([]byte, len(value))
		_, _ = rand.Read(data[name]) // It never fails.
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]string{"resourceVersion": target.ResourceVersion}, "data": data,
	})
	if err != nil {
		return err
	}
	return c.Patch(ctx, target, client.RawPatch(types.MergePatchType, body))
}
