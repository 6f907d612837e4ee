// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package status

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/route/watch"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// start runs a watcher for the test.
func start(t *testing.T) *watch.Watcher {
	t.Helper()
	w := must.Value(watch.New(testenv.Config(), nil, "hosted-bridge-system", bundling.Package, slog.New(slog.DiscardHandler)))(t)
	testenv.Run(t, w.Run)
	return w
}

// await returns when the table fulfils the condition.
func await(t *testing.T, w *watch.Watcher, what string, fulfilled func(*route.Table) bool) {
	t.Helper()
	wait.Until(t, what, func() bool {
		table := w.Current()
		return table != nil && fulfilled(table)
	})
}

// newWriter returns a writer that does not run.
func writerOf(t *testing.T, w *watch.Watcher) *Writer {
	t.Helper()
	return must.Value(NewWriter(testenv.Config(), w.Bridge, slog.New(slog.DiscardHandler)))(t)
}

// applied creates a bridge and returns it with its backend, once it is seen.
func applied(t *testing.T, c client.Client, w *watch.Watcher) (*v1alpha1.HostedBridge, route.Backend) {
	t.Helper()
	namespace := testenv.Namespace(t, c)
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: namespace}}
	testenv.ExpectApplied(t, c, b)
	await(t, w, "the bridge", func(table *route.Table) bool {
		b, ok := table.Lookup(v1alpha1.UserID(namespace))
		return ok && b.State == route.Starting && b.PodIP == ""
	})
	backend, _ := w.Current().Lookup(v1alpha1.UserID(namespace))
	return b, backend
}

func TestStatusIsWrittenOnceAndLeavesTheRestAlone(t *testing.T) {
	c := testenv.Client(t)
	w := start(t)
	s := writerOf(t, w)
	b, backend := applied(t, c, w)
	b.Status.Phase = v1alpha1.PhaseRunning
	must.Succeed(t, c.Status().Update(t.Context(), b))
	awaitVersion(t, w, backend, b.ResourceVersion)
	report := health.Summarize(map[string]health.Server{
		"one": {Status: health.Healthy, Tools: 5}, "two": {Status: health.Unhealthy, Tools: 1},
	})
	at := time.Now().Truncate(time.Second)
	for _, step := range []struct {
		name   string
		note   pendingUpdate
		writes bool
	}{
		{"the first report", pendingUpdate{backend: backend, health: &report}, true},
		{"the same report", pendingUpdate{backend: backend, health: &report}, false},
		{"the first call", pendingUpdate{backend: backend, calledAt: at}, true},
		{"another call", pendingUpdate{backend: backend, calledAt: at.Add(time.Minute)}, false},
	} {
		before := b.ResourceVersion
		s.add(step.note)
		must.Succeed(t, s.flush(t.Context()))
		testenv.ExpectExists(t, c, b)
		if wrote := b.ResourceVersion != before; wrote != step.writes {
			t.Errorf("%s: written is %v", step.name, wrote)
		}
		awaitVersion(t, w, backend, b.ResourceVersion)
	}
	if b.Status.Servers != "1/2" || b.Status.Tools == nil || *b.Status.Tools != 6 ||
		!b.Status.LastActivityTime.Equal(&metav1.Time{Time: at}) || b.Status.Phase != v1alpha1.PhaseRunning {
		t.Errorf("status is %+v", b.Status)
	}
}

func TestARunningWriterWritesWhatItIsTold(t *testing.T) {
	c := testenv.Client(t)
	w := start(t)
	s := writerOf(t, w)
	_, backend := applied(t, c, w)
	stop := testenv.Run(t, s.Run)
	s.Called(backend, time.Now())
	s.Observe(t.Context(), backend, health.Report{Tools: 3})
	awaitBridge(t, w, backend, "the written status", func(seen *v1alpha1.HostedBridge) bool {
		return seen.Status.LastActivityTime != nil && seen.Status.Servers == "0/0" && *seen.Status.Tools == 3
	})
	stop()
}

// TestTheLastUseIsWrittenWhenAWatcherEndsToo ends both at once, as a process
// does.
func TestTheLastUseIsWrittenWhenAWatcherEndsToo(t *testing.T) {
	c := testenv.Client(t)
	w := must.Value(watch.New(testenv.Config(), nil, "hosted-bridge-system", bundling.Package, slog.New(slog.DiscardHandler)))(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watched := make(chan error, 1)
	go func() { watched <- w.Run(ctx) }()
	s := writerOf(t, w)
	b, backend := applied(t, c, w)
	s.Called(backend, time.Now())
	must.Succeed(t, s.flush(t.Context()))
	awaitBridge(t, w, backend, "the first use", func(seen *v1alpha1.HostedBridge) bool { return seen.Status.LastActivityTime != nil })
	last := time.Now().Add(10 * time.Second).Truncate(time.Second)
	s.Called(backend, last)
	cancel()
	if err := <-watched; err != nil {
		t.Error(err)
	}
	if err := s.Run(ctx); err != nil {
		t.Error(err)
	}
	testenv.ExpectExists(t, c, b)
	if at := b.Status.LastActivityTime; at == nil || !at.Time.Equal(last) {
		t.Errorf("the last use is %v, want %v", at, last)
	}
}

func TestALaterBridgeOfTheSameNameGetsNothingOfTheFormer(t *testing.T) {
	c := testenv.Client(t)
	w := start(t)
	s := writerOf(t, w)
	b, backend := applied(t, c, w)
	old := must.Value(w.Bridge(t.Context(), backend))(t)
	must.Succeed(t, c.Delete(t.Context(), b))
	b = &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}
	testenv.ExpectApplied(t, c, b)

	// The watch is behind: it still shows the former one.
	seen := s.bridge
	s.bridge = func(context.Context, route.Backend) (*effective.Bridge, error) { return old, nil }
	n := pendingUpdate{backend: backend, calledAt: time.Now()}
	if err := s.write(t.Context(), n); !apierrors.IsConflict(err) {
		t.Errorf("error %v, want a conflict", err)
	}
	// The watch has caught up.
	s.bridge = seen
	await(t, w, "the later bridge", func(table *route.Table) bool {
		now, ok := table.Lookup(backend.User)
		return ok && now.BridgeUID == b.UID
	})
	if err := s.write(t.Context(), n); err != nil {
		t.Error(err)
	}
	version := b.ResourceVersion
	testenv.ExpectExists(t, c, b)
	if b.ResourceVersion != version {
		t.Errorf("the later bridge was written to: %+v", b.Status)
	}
}

// awaitVersion returns when the watcher has seen that version of the bridge.
func awaitVersion(t *testing.T, w *watch.Watcher, b route.Backend, version string) {
	t.Helper()
	awaitBridge(t, w, b, "version "+version, func(seen *v1alpha1.HostedBridge) bool { return seen.ResourceVersion == version })
}

// awaitBridge returns when the watcher has seen the bridge fulfil the
// condition. It asks again and again: a change of status makes no new table.
func awaitBridge(t *testing.T, w *watch.Watcher, b route.Backend, what string, fulfilled func(*v1alpha1.HostedBridge) bool) {
	t.Helper()
	wait.Until(t, what, func() bool {
		seen, err := w.Bridge(t.Context(), b)
		return err == nil && fulfilled(seen.HostedBridge)
	})
}
