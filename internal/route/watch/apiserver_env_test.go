// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package watch

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// installIngress gives the ingress its rights, and returns how it then reaches
// the API server.
func installIngress(t *testing.T, p *testenv.ControlPlane) *rest.Config {
	t.Helper()
	c := p.Client()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "hosted-bridge-system"}}
	must.Succeed(t, c.Create(t.Context(), namespace))
	testenv.ExpectInstalled(t, c, filepath.Join("..", "..", "..", "config", "rbac", "ingress.yaml"), namespace.Name)
	return p.ConfigOf(namespace.Name, "hosted-bridge-ingress")
}

// addBridge makes a bridge of user in the namespace default, with a key of that
// name and a ready pod.
func addBridge(t *testing.T, c client.Client, user string) *v1alpha1.HostedBridge {
	t.Helper()
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: user},
		Spec:       v1alpha1.HostedBridgeSpec{APIKeys: []v1alpha1.APIKey{{ID: keyOf(user), Hash: "sha256:" + strings.Repeat("0a", 32)}}},
	}
	testenv.ExpectApplied(t, c, b)
	pod := bridgePod(b)
	pod.Name = user
	testenv.ExpectApplied(t, c, pod)
	setReady(t, c, pod, corev1.ConditionTrue)
	return b
}

func keyOf(user string) string { return (user + "000000000000")[:12] }

// isOpen reports whether the user's key opens a bridge that can be called.
func isOpen(table *route.Table, user string) bool {
	b, _ := table.Lookup(v1alpha1.UserID(user))
	keys := table.Keys(keyOf(user))
	return b.State == route.Ready && b.PodIP == "10.1.2.3" && len(keys) == 1 && keys[0].User == b.User
}

// attempts counts the requests that failed or were refused.
type attempts struct {
	failed atomic.Int32
	inner  http.RoundTripper
}

// countAttempts has the failures of config's requests counted.
func countAttempts(config *rest.Config) *attempts {
	a := &attempts{}
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		a.inner = inner
		return a
	})
	return a
}

func (a *attempts) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := a.inner.RoundTrip(r)
	if err != nil || res.StatusCode >= http.StatusBadRequest {
		a.failed.Add(1)
	}
	return res, err
}

// await returns when some more have failed, of both kinds.
func (a *attempts) await(t *testing.T) {
	t.Helper()
	before := a.failed.Load()
	wait.Until(t, "attempts that fail", func() bool { return a.failed.Load() >= before+4 })
}

func awaitContact(t *testing.T, w *Watcher) {
	t.Helper()
	wait.Until(t, "contact with the API server", func() bool { return time.Since(w.Confirmed()) < time.Second })
}

func TestAnAPIServerThatEndsAndComesBackTakesNoRoute(t *testing.T) {
	p := testenv.StartControlPlane(t)
	config := installIngress(t, p)
	c := p.Client()
	for _, user := range []string{"alice", "bob", "carol"} {
		addBridge(t, c, user)
	}
	attempts := countAttempts(config)
	w := startAt(t, config)
	await(t, w, "all bridges", func(table *route.Table) bool {
		return table.Len() == 3 && isOpen(table, "alice") && isOpen(table, "bob") && isOpen(table, "carol")
	})
	if age := time.Since(w.Confirmed()); age > 10*time.Second {
		t.Errorf("the routes are %s old while the API server tells of changes", age)
	}

	p.Stop()
	stopped := time.Now()
	table := w.Current()
	attempts.await(t)
	if w.Current() != table {
		t.Error("the table changed while the API server was away")
	}
	if confirmed := w.Confirmed(); confirmed.After(stopped) {
		t.Errorf("confirmed %s after the API server's end", confirmed.Sub(stopped))
	}

	// From here on no table may be without those who stay.
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			changed := w.Changed()
			if table := w.Current(); !isOpen(table, "alice") || !isOpen(table, "bob") {
				t.Errorf("a table of %d routes is without alice or bob", table.Len())
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}()
	p.Start()
	awaitContact(t, w)
	carol := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "carol"}}
	must.Succeed(t, c.Delete(t.Context(), carol))
	await(t, w, "the bridge that was deleted afterwards", func(table *route.Table) bool { return table.Len() == 2 })
	cancel()
	<-ended
}

// countFurther makes an API server count its versions further than the one before it, which ran
// for seconds. It would otherwise take a watch from the last version of that one for a watch
// of what comes later: https://kubernetes.io/docs/tasks/administer-cluster/configure-upgrade-etcd/
// therefore asks to restart all clients after a loss.
func countFurther(t *testing.T, c client.Client) {
	t.Helper()
	counter := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "counter"}}
	must.Succeed(t, c.Create(t.Context(), counter))
	for n := range 300 {
		counter.Data = map[string]string{"n": strconv.Itoa(n)}
		must.Succeed(t, c.Update(t.Context(), counter))
	}
}

func TestAnAPIServerThatLostEverythingIsBelievedOnceItAnswers(t *testing.T) {
	p := testenv.StartControlPlane(t)
	config := installIngress(t, p)
	addBridge(t, p.Client(), "alice")
	attempts := countAttempts(config)
	w := startAt(t, config)
	await(t, w, "the bridge", func(table *route.Table) bool { return isOpen(table, "alice") })

	p.Stop()
	p.Lose()
	p.Start()
	// It refuses now: the ingress has no rights there, and there is no such
	// resource. Neither is a word about routes.
	table := w.Current()
	attempts.await(t)
	if w.Current() != table {
		t.Error("the table changed by answers that were refusals")
	}

	// The installation is made anew, and has no bridges: an answer that is to
	// be believed, or no key could ever be revoked by deleting the last bridge.
	countFurther(t, p.Client())
	p.InstallCRDs()
	installIngress(t, p)
	await(t, w, "no bridge", func(table *route.Table) bool { return table.Len() == 0 && len(table.Keys(keyOf("alice"))) == 0 })
	addBridge(t, p.Client(), "bob")
	await(t, w, "another bridge", func(table *route.Table) bool { return isOpen(table, "bob") })
}

func TestARestoredTableServesUntilTheAPIServerHasToldOfEverything(t *testing.T) {
	p := testenv.StartControlPlane(t)
	config := installIngress(t, p)
	addBridge(t, p.Client(), "alice")
	before := startAt(t, config)
	await(t, before, "the bridge", func(table *route.Table) bool { return isOpen(table, "alice") })
	old := before.Current()
	addBridge(t, p.Client(), "bob")
	p.Stop()

	confirmed := time.Now().Add(-time.Hour)
	attempts := countAttempts(config)
	log := &logtest.Log{}
	w := must.Value(New(config, nil, "hosted-bridge-system", bundling.Package, slog.New(slog.NewJSONHandler(log, nil))))(t)
	w.Restore(old, confirmed)
	run(t, w)
	attempts.await(t)
	if w.Current() != old || !w.Confirmed().Equal(confirmed) {
		t.Errorf("serves %d routes, confirmed at %s; want the restored ones", w.Current().Len(), w.Confirmed())
	}
	changed := w.Changed()
	p.Start()
	<-changed
	// The first table after it is complete already.
	if table := w.Current(); table.Len() != 2 || !isOpen(table, "alice") || !isOpen(table, "bob") {
		t.Errorf("the next table has %d routes, want both", table.Len())
	}
	awaitContact(t, w)
	wait.Until(t, "the log of the outage and of its end", func() bool {
		return strings.Contains(log.String(), messageLost) && strings.Contains(log.String(), messageRestored)
	})
}
