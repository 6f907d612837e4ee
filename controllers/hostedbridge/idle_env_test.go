// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// alwaysRunning is a bridge that does not sleep.
func alwaysRunning(s *v1alpha1.HostedBridgeSpec) { s.DesiredState = v1alpha1.StateRunning }

// used notes that the bridge was used then, as the ingress does.
func (f *fixture) used(t *testing.T, b *v1alpha1.HostedBridge, at time.Time) {
	t.Helper()
	body := fmt.Appendf(nil, `{"status":{"lastActivityTime":%q}}`, at.UTC().Format(time.RFC3339))
	if err := f.Status().Patch(t.Context(), b, client.RawPatch(types.MergePatchType, body), client.FieldOwner(v1alpha1.FieldOwnerIngress)); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) replicas(t *testing.T, b *v1alpha1.HostedBridge) int32 {
	t.Helper()
	_, d := f.children(b.Name)
	testenv.ExpectExists(t, f.Client, d)
	return *d.Spec.Replicas
}

// requeue reconciles once more and returns when the next time is.
func (f *fixture) requeue(t *testing.T, b *v1alpha1.HostedBridge) time.Duration {
	t.Helper()
	result := must.Value(f.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)}))(t)
	return result.RequeueAfter
}

func TestABridgeOnDemandSleepsAndIsWoken(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) { s.IdleTimeout = &metav1.Duration{Duration: 10 * time.Minute} })
	testenv.ExpectApplied(t, f.Client, b)
	f.expect(t, b, v1alpha1.PhasePending, progressing)
	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseRunning, available)
	if got := f.requeue(t, b); got != 10*time.Minute {
		t.Errorf("a bridge that is ready is looked at again in %s", got)
	}

	f.clock.Step(4 * time.Minute)
	f.used(t, b, f.clock.Now())
	f.clock.Step(6 * time.Minute)
	f.expect(t, b, v1alpha1.PhaseRunning, available)
	if got := f.requeue(t, b); got != 4*time.Minute {
		t.Errorf("a bridge that was used 6 minutes ago is looked at again in %s", got)
	}

	f.clock.Step(4 * time.Minute)
	f.expect(t, b, v1alpha1.PhasePending, progressing)
	if n := f.replicas(t, b); n != 0 || !b.Status.IdleSince.Equal(b.Status.LastActivityTime) {
		t.Errorf("%d replicas, idle since %v; it was used at %v", n, b.Status.IdleSince, b.Status.LastActivityTime)
	}
	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseAsleep, asleep)
	expectMessage(t, b, v1alpha1.ConditionReady, "asleep: a call to status.url wakes the bridge")

	before := f.versions(t, b)
	for range 5 {
		f.clock.Step(time.Hour)
		testenv.ExpectReconciled(t, f.reconciler, b)
	}
	if diff := cmp.Diff(before, f.versions(t, b)); diff != "" {
		t.Errorf("something is written while a bridge sleeps (-before +after):\n%s", diff)
	}
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.Servers = servers("another") })
	f.expect(t, b, v1alpha1.PhaseAsleep, asleep)
	if n := f.replicas(t, b); n != 0 || b.Status.ObservedGeneration != b.Generation {
		t.Errorf("a bridge that sleeps and is changed has %d replicas, generation %d of %d", n, b.Status.ObservedGeneration, b.Generation)
	}

	f.used(t, b, f.clock.Now())
	f.expect(t, b, v1alpha1.PhaseWaking, progressing)
	if n := f.replicas(t, b); n != 1 || b.Status.IdleSince != nil {
		t.Errorf("a bridge that was called has %d replicas, and idle since %v", n, b.Status.IdleSince)
	}
	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseRunning, available)
	f.expectEvents(t)
}

// asleep makes a bridge that sleeps since an hour.
func (f *fixture) asleep(t *testing.T, name string) *v1alpha1.HostedBridge {
	t.Helper()
	b := f.bridge(name)
	testenv.ExpectApplied(t, f.Client, b)
	status := apply.Status(v1alpha1.HostedBridgeStatus{Phase: v1alpha1.PhaseAsleep, IdleSince: new(metav1.NewTime(time.Now().Add(-time.Hour)))})
	must.Succeed(t, f.Status().Patch(t.Context(), named(b), status, client.FieldOwner(v1alpha1.FieldOwnerOperator), client.ForceOwnership))
	return b
}

// TestManyThatAreCalledWakeInTurn has a real controller, with caches that are
// late, wake six bridges of which two may start at once.
func TestManyThatAreCalledWakeInTurn(t *testing.T) {
	f := newFixture(t)
	f.Settings.MaxWaking = 2
	var all []*v1alpha1.HostedBridge
	for i := range 6 {
		all = append(all, f.asleep(t, fmt.Sprintf("b%d", i)))
	}
	f.start(t)
	for _, b := range all {
		_, d := f.children(b.Name)
		f.eventually(t, "has a Deployment without a pod", d, func() bool { return *d.Spec.Replicas == 0 })
	}
	began := time.Now().Truncate(time.Second)
	for i, b := range all {
		f.used(t, b, began.Add(time.Duration(i)*time.Second))
	}
	for i, b := range all {
		f.eventually(t, "is waking", b, func() bool { return b.Status.Phase == v1alpha1.PhaseWaking })
		_, d := f.children(b.Name)
		if i < 2 {
			f.eventually(t, "starts", d, func() bool { return *d.Spec.Replicas == 1 })
		}
	}
	for i, b := range all {
		_, d := f.children(b.Name)
		f.eventually(t, "starts in its turn", d, func() bool { return *d.Spec.Replicas == 1 })
		if started, want := f.started(t, all), min(i+2, 6); started > want {
			t.Errorf("when %d are ready %d have started, want at most %d", i, started, want)
		}
		f.roll(t, b)
		f.eventually(t, "runs", b, func() bool { return b.Status.Phase == v1alpha1.PhaseRunning })
	}
}

// started returns how many of the bridges' Deployments have a pod.
func (f *fixture) started(t *testing.T, all []*v1alpha1.HostedBridge) (n int) {
	t.Helper()
	for _, b := range all {
		d := &appsv1.Deployment{}
		_, named := f.children(b.Name)
		must.Succeed(t, f.Get(t.Context(), client.ObjectKeyFromObject(named), d))
		n += int(*d.Spec.Replicas)
	}
	return n
}

// TestUseDoesNotWakeTheController notes use of a bridge that runs.
func TestUseDoesNotWakeTheController(t *testing.T) {
	f := newFixture(t)
	written := f.start(t)
	b := f.bridge("alice")
	testenv.ExpectApplied(t, f.Client, b)
	f.eventually(t, "made", b, func() bool { return reason(b, v1alpha1.ConditionReady) == "Progressing" })
	f.roll(t, b)
	f.eventually(t, "ready", b, func() bool { return b.Status.Phase == v1alpha1.PhaseRunning && b.Status.PodName != "" })
	before := written.all.Load()
	seen, at := b.DeepCopy(), time.Now().Truncate(time.Second)
	for range 20 {
		at = at.Add(time.Second)
		f.used(t, b, at)
		eventually(t, written, "the controller's cache has it", seen, func() bool {
			return seen.Status.LastActivityTime != nil && seen.Status.LastActivityTime.Time.Equal(at)
		})
	}
	// The reconciliations of its becoming ready may still be on their way.
	if wrote := written.all.Load() - before; wrote > 3 {
		t.Errorf("%d reconciliations for 20 times of use; the bridge is now %s", wrote, must.Value(json.Marshal(seen))(t))
	}
}

// TestABridgeThatRunsIsNotAsleepWhoeverSaidSo has somebody's patch, and a clock that is ahead,
// put a bridge to sleep. The ingress waits for a bridge that is asleep, whatever its phase is.
func TestABridgeThatRunsIsNotAsleepWhoeverSaidSo(t *testing.T) {
	for name, since := range map[string]time.Duration{"before": -time.Hour, "some minutes ahead": 10 * time.Minute, "years ahead": 1e5 * time.Hour} {
		for _, writer := range []client.FieldOwner{"kubectl-patch", v1alpha1.FieldOwnerOperator} {
			t.Run(name+" by "+string(writer), func(t *testing.T) {
				f := newFixture(t)
				b := f.bridge("alice")
				testenv.ExpectApplied(t, f.Client, b)
				f.expect(t, b, v1alpha1.PhasePending, progressing)
				f.roll(t, b)
				f.expect(t, b, v1alpha1.PhaseRunning, available)

				idle := f.clock.Now().Add(since)
				before := b.DeepCopy()
				b.Status.IdleSince = new(metav1.NewTime(idle))
				must.Succeed(t, f.Status().Patch(t.Context(), b, client.MergeFrom(before), writer))
				f.expect(t, b, v1alpha1.PhasePending, progressing)
				f.roll(t, b)
				f.expect(t, b, v1alpha1.PhaseAsleep, asleep)

				f.used(t, b, idle.Add(time.Second))
				f.expect(t, b, v1alpha1.PhaseWaking, progressing)
				f.roll(t, b)
				f.expect(t, b, v1alpha1.PhaseRunning, available)
				if effective.Of(b).Asleep() {
					t.Errorf("it runs, and is asleep since %s", b.Status.IdleSince)
				}
			})
		}
	}
}
