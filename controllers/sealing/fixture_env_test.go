// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package sealing_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/sealing"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.MainOfController(m)) }

// keys is a master key whose versions a test chooses.
type keys struct {
	mu      sync.Mutex
	current envelope.Provider
	keys    *envelope.Keys
	changed chan struct{}
}

func newKeys(t *testing.T) *keys {
	t.Helper()
	k := &keys{changed: make(chan struct{})}
	k.set(t, 1, 1)
	return k
}

// set makes the versions from minimum to current the ones there are.
func (k *keys) set(t *testing.T, minimum, current uint32) {
	t.Helper()
	masters := map[uint32][envelope.KeySize]byte{}
	for v := minimum; v <= current; v++ {
		masters[v] = [envelope.KeySize]byte{1, byte(v)}
	}
	ring := must.Value(envelope.NewKeyring(masters, minimum))(t)
	k.use(t, ring)
}

func (k *keys) use(t *testing.T, p envelope.Provider) {
	t.Helper()
	next := must.Value(envelope.NewKeys(p))(t)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.current, k.keys = p, next
	close(k.changed)
	k.changed = make(chan struct{})
}

func (k *keys) Keys() *envelope.Keys {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.keys
}

func (k *keys) Current() envelope.KeyID { return k.Keys().Current() }

func (k *keys) Minimum() uint32 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current.Minimum()
}

func (k *keys) Changed() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.changed
}

// fixture is a reconciler on a real API server, without a cache: it reads what
// was just written, so that a test says exactly what it reconciles with.
type fixture struct {
	client.Client
	*sealing.Reconciler
	store     *secretstore.Store
	keys      *keys
	events    *events.FakeRecorder
	registry  *prometheus.Registry
	log       bytes.Buffer
	namespace string
	clock     *clocktesting.FakePassiveClock
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	direct := must.Value(client.NewWithWatch(testenv.Config(), client.Options{Scheme: testenv.Scheme()}))(t)
	f := &fixture{
		keys:     newKeys(t),
		events:   events.NewFakeRecorder(64),
		registry: prometheus.NewRegistry(), namespace: testenv.Namespace(t, direct),
		clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
	}
	sealed := prometheus.NewCounter(prometheus.CounterOpts{Name: "sealed"})
	f.registry.MustRegister(sealed)
	metrics := must.Value(sealing.NewMetrics(f.registry, sealed))(t)
	f.Reconciler = &sealing.Reconciler{
		Keys: f.keys, Recorder: f.events, Metrics: metrics, Clock: f.clock,
		Settings: sealing.Settings{Namespace: testenv.Namespace(t, direct), Tiers: quota.Defaults(), Concurrency: 2, Retention: 720 * time.Hour},
	}
	f.use(t, testenv.Indexed{WithWatch: direct, Values: indexValues})
	return f
}

func indexValues(o client.Object, field string) []string {
	for _, index := range sealing.Indexes() {
		if index.Field == field {
			return index.Values(o)
		}
	}
	return nil
}

// use makes everything read and write through c.
func (f *fixture) use(t *testing.T, c client.Client) {
	t.Helper()
	var err error
	f.Client, f.Reconciler.Client, f.Live = c, c, c
	f.store, err = secretstore.New(secretstore.Config{
		Secrets: testenv.Secrets{Client: c}, Keys: f.keys.Keys, Cluster: "test", Random: rand.Reader, Now: time.Now,
		Log: slog.New(slog.NewTextHandler(&f.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Store = f.store
}

// secret makes a Secret of the test's namespace.
func (f *fixture) secret(t *testing.T, name string, data map[string]string) *corev1.Secret {
	t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}, StringData: data}
	testenv.ExpectApplied(t, f.Client, s)
	return s
}

// bridge makes a bridge whose user id no other test has.
func (f *fixture) bridge(t *testing.T, name string, refs ...v1alpha1.SecretRef) *v1alpha1.HostedBridge {
	t.Helper()
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name},
		Spec: v1alpha1.HostedBridgeSpec{
			UserID: v1alpha1.UserID(f.namespace + "-" + name), SecretRefs: refs,
			Servers: []v1alpha1.Server{{
				Name: "one", Secrets: []v1alpha1.SecretName{"TOKEN"},
				Transport: v1alpha1.Transport{URL: "https://one.example.com/mcp"},
			}},
		},
	}
	testenv.ExpectApplied(t, f.Client, b)
	return b
}

// change applies change to the stored spec.
func (f *fixture) change(t *testing.T, b *v1alpha1.HostedBridge, change func(*v1alpha1.HostedBridgeSpec)) {
	t.Helper()
	testenv.ExpectChanged(t, f.Client, b, func() { change(&b.Spec) })
}

// write changes the Secret's data.
func (f *fixture) write(t *testing.T, s *corev1.Secret, data map[string]string) {
	t.Helper()
	testenv.ExpectChanged(t, f.Client, s, func() { s.Data, s.StringData = nil, data })
}

// reconcile reconciles once and reads the bridge anew.
func (f *fixture) reconcile(t *testing.T, b *v1alpha1.HostedBridge) *v1alpha1.SecretsStatus {
	t.Helper()
	testenv.ExpectReconciled(t, f.Reconciler, b)
	testenv.ExpectExists(t, f.Client, b)
	if b.Status.Secrets == nil {
		t.Fatal("there is no report")
	}
	if b.Status.Secrets.ObservedGeneration != b.Generation {
		t.Errorf("the report is about generation %d, not %d", b.Status.Secrets.ObservedGeneration, b.Generation)
	}
	return b.Status.Secrets
}

func (f *fixture) reconcileError(t *testing.T, b *v1alpha1.HostedBridge) error {
	t.Helper()
	_, err := f.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
	return err
}

func ref(b *v1alpha1.HostedBridge) secretstore.Bridge {
	return secretstore.Bridge{Namespace: b.Namespace, Name: b.Name, UID: b.UID}
}

// set does what a user's PUT does.
func (f *fixture) set(t *testing.T, b *v1alpha1.HostedBridge, name, value string) {
	t.Helper()
	_, err := f.store.Update(t.Context(), ref(b), func(context.Context, secretstore.Listing, func(string) ([]byte, error)) ([]secretstore.Change, error) {
		return []secretstore.Change{{Name: name, Value: []byte(value)}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// expect compares what opens for the bridge, as "NAME=value", with "*" behind a
// name that follows its source.
func (f *fixture) expect(t *testing.T, b *v1alpha1.HostedBridge, want ...string) {
	t.Helper()
	opened := must.Value(f.store.Open(t.Context(), ref(b)))(t)
	listing := must.Value(f.store.List(t.Context(), ref(b)))(t)
	var got []string
	for _, name := range slices.Sorted(maps.Keys(opened.Values)) {
		mark := ""
		if e, _ := listing.Find(name); e.Managed() {
			mark = "*"
		}
		got = append(got, name+mark+"="+string(opened.Values[name]))
	}
	for _, name := range opened.Unreadable {
		got = append(got, name+"?")
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("secrets of %s (-want +got):\n%s", b.Name, diff)
	}
}

// expectFailures compares failures with "name: reason: part of the message".
func expectFailures(t *testing.T, s *v1alpha1.SecretsStatus, want ...string) {
	t.Helper()
	if len(s.Failures) != len(want) {
		t.Errorf("failures %+v, want %q", s.Failures, want)
		return
	}
	for i, f := range s.Failures {
		part := strings.SplitN(want[i], ": ", 3)
		if f.Name != part[0] || f.Reason != part[1] || !strings.Contains(f.Message, part[2]) {
			t.Errorf("failure %+v, want %q", f, want[i])
		}
	}
}

// expectEvents compares the events so far by "kind reason" and forgets them.
func (f *fixture) expectEvents(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for len(f.events.Events) > 0 {
		event := <-f.events.Events
		words := strings.Fields(event)
		got = append(got, words[0]+" "+words[1])
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// metric returns the value of the series of that name, and of that key where
// there is a label.
func (f *fixture) metric(t *testing.T, name, key string) float64 {
	t.Helper()
	families := must.Value(f.registry.Gather())(t)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() != name || key != "" && m.GetLabel()[0].GetValue() != key {
				continue
			}
			if m.GetGauge() != nil {
				return m.GetGauge().GetValue()
			}
			return m.GetCounter().GetValue()
		}
	}
	return 0
}

// key returns a reference to one key of a Secret.
func key(secret, key, as string) v1alpha1.SecretRef {
	return v1alpha1.SecretRef{Name: secret, Keys: []v1alpha1.SecretRefKey{{Key: key, As: v1alpha1.SecretName(as)}}}
}

func deleteSource(r v1alpha1.SecretRef) v1alpha1.SecretRef {
	r.DeleteSource = true
	return r
}
