// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package watch_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridge/health"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/route/watch"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestStatusIsWrittenOnceAndOnlyForTheBridgeThatWasMeant(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	w := start(t)
	s, err := watch.NewStatusWriter(testenv.Config(), w, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: namespace}}
	testenv.ExpectApplied(t, c, b)
	await(t, w, "the bridge", isRouted(v1alpha1.UserID(namespace), route.Starting, ""))
	backend, _ := w.Current().Lookup(v1alpha1.UserID(namespace))
	report := health.Summarize(map[string]health.Server{
		"one": {Status: health.Healthy, Tools: 5}, "two": {Status: health.Unhealthy, Tools: 1},
	})

	s.Observe(t.Context(), backend, report)
	testenv.ExpectExists(t, c, b)
	if b.Status.Servers != "1/2" || b.Status.Tools == nil || *b.Status.Tools != 6 {
		t.Fatalf("status is %+v", b.Status)
	}
	awaitVersion(t, w, backend, b.ResourceVersion)
	s.Observe(t.Context(), backend, report)
	expectVersion(t, c, b, b.ResourceVersion)

	// A bridge of the same name that came since must not get the old one's.
	stale := backend
	stale.BridgeUID = "another"
	s.Observe(t.Context(), stale, health.Summarize(nil))
	expectVersion(t, c, b, b.ResourceVersion)

	// Two calls within the grain are one write, and leave the rest alone.
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	at := time.Now().Truncate(time.Second)
	s.Called(backend, at)
	await(t, w, "the time of the call", func(*route.Table) bool {
		seen, err := w.Bridge(t.Context(), backend)
		return err == nil && seen.Status.LastActivityTime != nil && seen.Status.LastActivityTime.Equal(&metav1.Time{Time: at})
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	testenv.ExpectExists(t, c, b)
	if b.Status.Servers != "1/2" || *b.Status.Tools != 6 {
		t.Errorf("the call's time took other fields with it: %+v", b.Status)
	}
}

// awaitVersion returns when the watcher has seen that version of the bridge.
func awaitVersion(t *testing.T, w *watch.Watcher, b route.Backend, version string) {
	t.Helper()
	await(t, w, "the written status", func(*route.Table) bool {
		seen, err := w.Bridge(t.Context(), b)
		return err == nil && seen.ResourceVersion == version
	})
}

func expectVersion(t *testing.T, c client.Client, b *v1alpha1.HostedBridge, version string) {
	t.Helper()
	testenv.ExpectExists(t, c, b)
	if b.ResourceVersion != version {
		t.Errorf("the bridge was written again: version %s, want %s", b.ResourceVersion, version)
	}
}
