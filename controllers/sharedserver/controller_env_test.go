// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package sharedserver_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/sharedserver"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/test/health"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.MainOfController(m)) }

const (
	canary = "hb-canary-shared-4f1d"
	origin = "https://pay.example.com"
)

// keys is a master key of so many versions.
type keys struct{ keys *envelope.Keys }

func (k *keys) set(t *testing.T, versions uint32) {
	t.Helper()
	masters := map[uint32][envelope.KeySize]byte{}
	for v := uint32(1); v <= versions; v++ {
		masters[v] = [envelope.KeySize]byte{1, byte(v)}
	}
	ring, err := envelope.NewKeyring(masters, 1)
	if err != nil {
		t.Fatal(err)
	}
	if k.keys, err = envelope.NewKeys(ring); err != nil {
		t.Fatal(err)
	}
}

func (k *keys) Keys() *envelope.Keys     { return k.keys }
func (k *keys) Current() envelope.KeyID  { return k.keys.Current() }
func (k *keys) Changed() <-chan struct{} { return nil }

// fixture is a reconciler on a real API server, without a cache.
type fixture struct {
	client.WithWatch
	*sharedserver.Reconciler
	store *secretstore.Store
	keys  keys
	clock *clocktesting.FakePassiveClock
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	direct := must.Value(client.NewWithWatch(testenv.Config(), client.Options{Scheme: testenv.Scheme()}))(t)
	f := &fixture{clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	f.keys.set(t, 1)
	f.Reconciler = &sharedserver.Reconciler{Keys: &f.keys, Clock: f.clock, Namespace: testenv.Namespace(t, direct)}
	f.use(t, direct)
	return f
}

// use makes everything read and write through c.
func (f *fixture) use(t *testing.T, c client.WithWatch) {
	t.Helper()
	var err error
	f.WithWatch, f.Reconciler.Client = c, c
	f.store, err = secretstore.New(secretstore.Config{
		Secrets: testenv.Secrets{Client: c}, Keys: f.keys.Keys, Cluster: "test", Random: rand.Reader, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Store = f.store
}

func (f *fixture) server(t *testing.T, name string, change ...func(*v1alpha1.SharedServerSpec)) *v1alpha1.SharedServer {
	t.Helper()
	s := &v1alpha1.SharedServer{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: name}, Spec: v1alpha1.SharedServerSpec{
		Server: v1alpha1.SharedEndpoint{Transport: v1alpha1.Transport{
			URL: origin + "/mcp", Headers: []v1alpha1.Header{{Name: "Authorization", Value: "Bearer ${PAY_TOKEN}"}},
		}},
		Secrets: []v1alpha1.SecretName{"PAY_TOKEN"}, Namespaces: []string{"people"},
		Members: []v1alpha1.IssuerGroup{{Issuer: "https://idp.example.com", Value: "payments"}},
		Owners:  []v1alpha1.IssuerGroup{{Issuer: "https://idp.example.com", Value: "leads"}},
	}}
	for _, c := range change {
		c(&s.Spec)
	}
	testenv.ExpectApplied(t, f.WithWatch, s)
	return s
}

// set does what an owner's PUT does.
func (f *fixture) set(t *testing.T, s *v1alpha1.SharedServer, name, value string) {
	t.Helper()
	_, err := f.store.Update(t.Context(), secretstore.Shared(s.Namespace, s.Name, s.UID), func(context.Context, secretstore.Listing, func(string) ([]byte, error)) ([]secretstore.Change, error) {
		return []secretstore.Change{{Name: name, Value: []byte(value), Origin: origin}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// reconcile reconciles once, reads s anew and returns its conditions as "type status reason".
func (f *fixture) reconcile(t *testing.T, s *v1alpha1.SharedServer) string {
	t.Helper()
	testenv.ExpectReconciled(t, reconcile.AsReconciler(f.WithWatch, f.Reconciler), s)
	testenv.ExpectExists(t, f.WithWatch, s)
	seen := health.Failed
	if meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReady) {
		seen = health.Current
	}
	health.Expect(t, s, seen)
	var said []string
	for _, c := range s.Status.Conditions {
		if c.Type == v1alpha1.ConditionStalled {
			continue
		}
		if strings.Contains(c.Message, canary) || c.ObservedGeneration != s.Generation {
			t.Errorf("condition %+v", c)
		}
		said = append(said, fmt.Sprintf("%s %s %s", c.Type, c.Status, c.Reason))
	}
	return strings.Join(said, ", ")
}

func (f *fixture) person(t *testing.T, name string, access v1alpha1.Access, groups ...string) {
	t.Helper()
	p := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: name},
		Spec: v1alpha1.BridgePersonSpec{Issuer: "https://idp.example.com", Subject: name, Access: access}}
	testenv.ExpectApplied(t, f.WithWatch, p)
	p.Status.Login = &v1alpha1.PersonLogin{Time: metav1.NewTime(f.clock.Now().Add(-time.Hour)), Groups: groups}
	must.Succeed(t, f.Status().Update(t.Context(), p))
}

func TestTheStatusSaysWhatIsSetForTheOrigin(t *testing.T) {
	f := newFixture(t)
	s := f.server(t, "payments")
	expect := func(want string, set, missing []string) {
		t.Helper()
		if got := f.reconcile(t, s); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		if diff := cmp.Diff([][]string{set, missing}, [][]string{s.Status.Set, s.Status.Missing}); diff != "" {
			t.Errorf("set and missing (-want +got):\n%s", diff)
		}
		version := s.ResourceVersion
		if f.reconcile(t, s); s.ResourceVersion != version {
			t.Error("it writes although nothing changed")
		}
	}
	token := []string{"PAY_TOKEN"}
	expect("Accepted True Accepted, SecretsSealed False SecretsMissing, Ready False SecretsMissing", nil, token)
	f.set(t, s, "PAY_TOKEN", canary)
	f.person(t, "alice", v1alpha1.AccessAllowed, "payments", "other")
	f.person(t, "bob", v1alpha1.AccessAllowed, "other")
	f.person(t, "susan", v1alpha1.AccessSuspended, "payments")
	expect("Accepted True Accepted, SecretsSealed True Sealed, Ready True Ready", token, nil)
	if s.Status.Members != 1 || s.Status.Revision == "" || *s.Status.KeyVersion != 1 {
		t.Errorf("%+v", s.Status)
	}
	// The master key changes: the envelope is wrapped again and the revision stays.
	before := s.Status.Revision
	f.keys.set(t, 2)
	expect("Accepted True Accepted, SecretsSealed True Sealed, Ready True Ready", token, nil)
	if s.Status.Revision != before || *s.Status.KeyVersion != 2 {
		t.Errorf("%+v", s.Status)
	}
	s.Spec.Server.Transport.URL = "https://evil.example.com/mcp"
	must.Succeed(t, f.Update(t.Context(), s))
	expect("Accepted True Accepted, SecretsSealed False OriginChanged, Ready False OriginChanged", nil, token)
	if c := meta.FindStatusCondition(s.Status.Conditions, "Ready"); !strings.Contains(c.Message, "another origin than https://evil.example.com") || !strings.Contains(c.Message, "PAY_TOKEN, for "+origin) {
		t.Error(c.Message)
	}
	s.Spec.Server.Transport.Headers[0].Value = "Bearer ${OTHER}"
	must.Succeed(t, f.Update(t.Context(), s))
	expect("Accepted False SecretNotGranted, SecretsSealed False OriginChanged, Ready False SecretNotGranted", nil, token)
	// The login of the last member lapses.
	f.clock.SetTime(f.clock.Now().Add(8 * 24 * time.Hour))
	if f.reconcile(t, s); s.Status.Members != 0 {
		t.Errorf("%d members", s.Status.Members)
	}
}

func TestASharedServerOfTheSameNameDoesNotInherit(t *testing.T) {
	f := newFixture(t)
	former := f.server(t, "payments")
	f.set(t, former, "PAY_TOKEN", canary)
	f.reconcile(t, former)
	must.Succeed(t, f.Delete(t.Context(), former))
	// This API server has no garbage collector: the former Secrets stay.
	s := f.server(t, "payments")
	if got := f.reconcile(t, s); !strings.HasSuffix(got, "SecretsSealed False NotOwned, Ready False NotOwned") || s.Status.Revision != "" {
		t.Errorf("%s, revision %q", got, s.Status.Revision)
	}
	if opened, err := f.store.Open(t.Context(), secretstore.Shared(s.Namespace, s.Name, s.UID)); !errors.Is(err, secretstore.ErrNotReady) || len(opened.Values) != 0 {
		t.Errorf("%d values, %v", len(opened.Values), err)
	}
	// Even with the owner's UID changed nothing opens: the envelopes are bound to the former.
	for _, name := range []string{v1alpha1.SharedEnvelopesSecretName("payments"), v1alpha1.SharedSaltSecretName("payments")} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: name}}
		testenv.ExpectExists(t, f.WithWatch, secret)
		secret.OwnerReferences[0].UID = s.UID
		must.Succeed(t, f.Update(t.Context(), secret))
	}
	if got := f.reconcile(t, s); !strings.HasSuffix(got, "Ready False SecretsUnreadable") {
		t.Error(got)
	}
}

func TestACrashAfterAnyWriteIsRepaired(t *testing.T) {
	run := func(t *testing.T, n int) (string, v1alpha1.SharedServerStatus) {
		f := newFixture(t)
		s := f.server(t, "payments")
		sound := f.WithWatch
		c := &testenv.Crash{Limit: n}
		f.use(t, c.Client(sound))
		// Salt, envelopes, status; then the envelopes wrapped again, and the status.
		work := func() error {
			_, err := f.store.Update(t.Context(), secretstore.Shared(s.Namespace, s.Name, s.UID), func(context.Context, secretstore.Listing, func(string) ([]byte, error)) ([]secretstore.Change, error) {
				return []secretstore.Change{{Name: "PAY_TOKEN", Value: []byte(canary), Origin: origin}}, nil
			})
			request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)}
			for version := uint32(1); version <= 2 && err == nil; version++ {
				f.keys.set(t, version)
				_, err = reconcile.AsReconciler(f.WithWatch, f.Reconciler).Reconcile(t.Context(), request)
			}
			return err
		}
		if err := work(); c.Dead() && !errors.Is(err, testenv.ErrCrash) || !c.Dead() && (err != nil || c.Writes != 5) {
			t.Fatalf("%d writes, error %v", c.Writes, err)
		}
		f.use(t, sound)
		f.keys.set(t, 2)
		f.set(t, s, "PAY_TOKEN", canary) // Whoever got no answer sends it again.
		conditions := f.reconcile(t, s)
		opened, err := f.store.Open(t.Context(), secretstore.Shared(s.Namespace, s.Name, s.UID))
		if err != nil || string(opened.Values["PAY_TOKEN"]) != canary {
			t.Errorf("%d values, %v", len(opened.Values), err)
		}
		after := s.Status
		after.Revision, after.Conditions = "", nil // Of random bytes, and of the time.
		return conditions, after
	}
	want, status := run(t, 1000)
	for n := 1; n <= 5; n++ {
		t.Run(fmt.Sprintf("after write %d", n), func(t *testing.T) {
			got, after := run(t, n)
			if diff := cmp.Diff(status, after); got != want || diff != "" {
				t.Errorf("%s, want %s; (-without +with):\n%s", got, want, diff)
			}
		})
	}
}
