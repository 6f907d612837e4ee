// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package sealing_test

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/sealing"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// running is the controller in a manager, as in the process.
type running struct {
	manager ctrl.Manager
	writes  atomic.Int64
	stop    func()
}

// count counts the requests that write.
func (r *running) count(inner http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method != http.MethodGet {
			r.writes.Add(1)
		}
		return inner.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// start runs f's controller in a manager until stop, or until the test ends.
func (f *fixture) start(t *testing.T) *running {
	t.Helper()
	r := &running{}
	config := testenv.Config()
	config.Wrap(r.count)
	options := sealing.CacheOptions(f.Settings.Namespace, nil)
	options.DefaultNamespaces = map[string]cache.Config{f.namespace: {}}
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: testenv.Scheme(), Logger: logr.Discard(), Cache: options,
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
	})
	if err != nil {
		t.Fatal(err)
	}
	r.manager = m
	direct := must.Value(client.New(config, client.Options{Scheme: testenv.Scheme()}))(t)
	f.use(t, direct)
	reconciler := *f.Reconciler
	reconciler.Client, reconciler.Live = m.GetClient(), m.GetAPIReader()
	must.Succeed(t, reconciler.Setup(t.Context(), m))
	r.stop = testenv.Run(t, m.Start)
	return r
}

// eventuallyOpens waits until the bridge has exactly this secret, and the
// report is about it.
func (f *fixture) eventuallyOpens(t *testing.T, b *v1alpha1.HostedBridge, name, value string) {
	t.Helper()
	wait.Until(t, name+" is "+value, func() bool {
		opened, err := f.store.Open(t.Context(), ref(b))
		testenv.ExpectExists(t, f.Client, b)
		return err == nil && string(opened.Values[name]) == value && b.Status.Secrets != nil && b.Status.Secrets.Revision == opened.Revision
	})
}

func TestTheWatchesBringEveryChange(t *testing.T) {
	f := newFixture(t)
	f.start(t)
	b := f.bridge(t, "alice", v1alpha1.SecretRef{Name: "github"})
	wait.Until(t, "the absent source is reported", func() bool {
		testenv.ExpectExists(t, f.Client, b)
		return b.Status.Secrets != nil && len(b.Status.Secrets.Failures) == 1
	})
	source := f.secret(t, "github", map[string]string{"TOKEN": "first"})
	f.eventuallyOpens(t, b, "TOKEN", "first")
	f.write(t, source, map[string]string{"TOKEN": "second"})
	f.eventuallyOpens(t, b, "TOKEN", "second")

	f.set(t, b, "OWN", "mine")
	f.eventuallyOpens(t, b, "OWN", "mine")

	f.keys.set(t, 1, 2)
	wait.Until(t, "the new key version is taken up", func() bool {
		testenv.ExpectExists(t, f.Client, b)
		return b.Status.KeyVersion != nil && *b.Status.KeyVersion == 2
	})

	envelopes := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "alice-envelopes"}}
	must.Succeed(t, f.Delete(t.Context(), envelopes))
	wait.Until(t, "lost envelopes are made anew from their source", func() bool {
		testenv.ExpectExists(t, f.Client, b)
		return b.Status.Secrets.Count == 1
	})
	f.eventuallyOpens(t, b, "TOKEN", "second")

	// A report that somebody spoils is mended.
	testenv.ExpectStatusChanged(t, f.Client, b, func() { b.Status.Secrets.Revision = "spoilt" })
	f.eventuallyOpens(t, b, "TOKEN", "second")
}

func TestALeaderThatTakesOverWritesNothing(t *testing.T) {
	f := newFixture(t)
	f.secret(t, "github", map[string]string{"TOKEN": "x", "lower": "y"})
	first := f.start(t)
	b := f.bridge(t, "alice", v1alpha1.SecretRef{Name: "github"}, v1alpha1.SecretRef{Name: "absent"})
	f.eventuallyOpens(t, b, "TOKEN", "x")
	first.stop()
	f.Metrics.Reset()

	second := f.start(t)
	f.bridge(t, "bob") // When this one is done the first of the queue are.
	wait.Until(t, "both are seen", func() bool {
		bob := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "bob"}}
		testenv.ExpectExists(t, f.Client, bob)
		return bob.Status.Secrets != nil && f.metric(t, "hostedbridge_envelopes", "local:1") == 1
	})
	second.stop()
	// The test's own creation of bob, and bob's report.
	if n := second.writes.Load(); n != 2 {
		t.Errorf("%d writes, want 2", n)
	}
}

func TestNoDataOfASecretIsCached(t *testing.T) {
	f := newFixture(t)
	secret := f.secret(t, "github", map[string]string{"TOKEN": "x"})
	r := f.start(t)
	b := f.bridge(t, "alice", v1alpha1.SecretRef{Name: "github"})
	f.eventuallyOpens(t, b, "TOKEN", "x")

	var full corev1.Secret
	err := r.manager.GetClient().Get(t.Context(), client.ObjectKeyFromObject(secret), &full)
	if _, refused := errors.AsType[*cache.ErrResourceNotCached](err); !refused {
		t.Errorf("error %v, so that the data of every Secret would be cached", err)
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	must.Succeed(t, r.manager.GetClient().Get(t.Context(), client.ObjectKeyFromObject(secret), metadata))
	if len(metadata.ManagedFields) > 0 || metadata.UID != secret.UID {
		t.Errorf("metadata %+v", metadata)
	}
	var cached v1alpha1.HostedBridge
	must.Succeed(t, r.manager.GetClient().Get(t.Context(), client.ObjectKeyFromObject(b), &cached))
	if len(cached.ManagedFields) > 0 || cached.Spec.Mode != "" || len(cached.Spec.Servers) != 1 {
		t.Errorf("HostedBridge %+v", cached)
	}
}
