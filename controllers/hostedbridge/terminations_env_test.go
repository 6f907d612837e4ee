// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/hostedbridge"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// end does what the kubelet does when the bridge's process is killed for want of
// memory: it reports the end with what the process had noted. It has started the
// process as often as restarts says, and does so again when runs is true.
func (f *fixture) end(t *testing.T, b *v1alpha1.HostedBridge, restarts int32, runs bool, server string) {
	t.Helper()
	pod := f.pod(t, b.Name)
	before := pod.DeepCopy()
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Reason: "OOMKilled", ExitCode: 137, FinishedAt: metav1.NewTime(f.clock.Now()),
		Message: health.Suspect{Server: server, Cause: health.SuspectMemory}.Text(),
	}}
	s := corev1.ContainerStatus{Name: "bridge", Image: "bridge", RestartCount: restarts}
	if len(pod.Status.ContainerStatuses) > 0 {
		s.LastTerminationState = pod.Status.ContainerStatuses[0].LastTerminationState
	}
	s.State = ended
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady"}}
	if runs {
		s.RestartCount, s.Ready = restarts+1, true
		s.State, s.LastTerminationState = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(f.clock.Now())}}, ended
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{s}
	must.Succeed(t, f.Status().Patch(t.Context(), pod, client.StrategicMergeFrom(before)))
}

// faults returns what the bridge is told of its servers that are out of service.
func (f *fixture) faults(t *testing.T, b *v1alpha1.HostedBridge) map[string]string {
	t.Helper()
	told := f.configMap(b.Name)
	testenv.ExpectExists(t, f.Client, told)
	c := must.Value(bridgeconfig.Parse([]byte(told.Data["config.json"])))(t)
	faults := map[string]string{}
	for _, s := range c.Servers {
		if s.Fault != "" {
			faults[s.Name] = s.Fault
		}
	}
	return faults
}

// expectOut reconciles and expects that exactly these servers are out of service,
// in the bridge's configuration and by the condition.
func (f *fixture) expectOut(t *testing.T, b *v1alpha1.HostedBridge, names ...string) {
	t.Helper()
	testenv.ExpectReconciled(t, f.reconciler, b)
	faults := f.faults(t, b)
	testenv.ExpectExists(t, f.Client, b)
	stable := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStable)
	if out := stable != nil && stable.Reason == v1alpha1.ReasonServersOutOfService; out != (len(names) > 0) || len(faults) != len(names) {
		t.Fatalf("the bridge is told of %v, and the condition is %+v; want %v out of service", faults, stable, names)
	}
	for _, name := range names {
		if faults[name] == "" || !strings.Contains(stable.Message, "server "+name+": "+faults[name]) {
			t.Errorf("of server %s the bridge is told %q, and the condition says %q", name, faults[name], stable.Message)
		}
	}
}

// expectEvent expects that the last event begins like this.
func (f *fixture) expectEvent(t *testing.T, begins string) {
	t.Helper()
	var all []string
	for {
		select {
		case e := <-f.events.Events:
			all = append(all, e)
			continue
		default:
		}
		if len(all) == 0 || !strings.HasPrefix(all[len(all)-1], begins) {
			t.Errorf("the events are %q, want %s… last", all, begins)
		}
		return
	}
}

func (f *fixture) podExists(t *testing.T, name string) bool {
	t.Helper()
	pod := &corev1.Pod{}
	err := f.Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: name + "-bridge-1"}, pod)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return !apierrors.IsNotFound(err) && pod.DeletionTimestamp == nil
}

// restart makes the reconciler that of another process, which knows only what the
// API server has.
func (f *fixture) restart() {
	former := f.Reconciler
	f.Reconciler = &hostedbridge.Reconciler{Recorder: former.Recorder, Clock: former.Clock, Live: former.Live, Settings: former.Settings}
	f.use(former.Client)
}

func TestABridgeThatEndsAgainAndAgainIsBackWithoutTheServerThatEndsIt(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("ends", func(s *v1alpha1.HostedBridgeSpec) {
		s.Servers, s.DesiredState = servers("flood", "everything"), v1alpha1.StateRunning
	})
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	f.roll(t, b)
	f.expectOut(t, b)

	// The kubelet starts the process at once: nothing is to be done.
	f.end(t, b, 0, true, "flood")
	f.expectOut(t, b)
	if !f.podExists(t, "ends") {
		t.Fatal("a pod is deleted whose bridge the kubelet starts at once")
	}
	f.clock.Step(3 * time.Second)
	f.end(t, b, 1, false, "flood")
	f.expectOut(t, b)
	if f.podExists(t, "ends") {
		t.Fatal("the pod is left whose bridge waits for the kubelet's back-off")
	}
	if len(b.Status.Terminations) != 2 {
		t.Fatalf("the pod is gone, and the status has the ends %+v", b.Status.Terminations)
	}
	f.roll(t, b)
	f.clock.Step(3 * time.Second)
	f.restart()
	f.end(t, b, 0, true, "flood")
	f.expectOut(t, b, "flood")
	f.expectEvent(t, "Warning "+v1alpha1.ReasonServersOutOfService)
	if told := f.pod(t, "ends").Annotations[v1alpha1.AnnotationConfigDigest]; told == "" {
		t.Error("the pod that runs is not told of its configuration")
	}
	if ready := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady); ready.Status != metav1.ConditionTrue || !strings.Contains(ready.Message, "server flood (until ") {
		t.Errorf("Ready says %+v", ready)
	}

	// It is the same after a restart of the operator, and nothing is written.
	f.restart()
	written := b.ResourceVersion
	f.expectOut(t, b, "flood")
	if b.ResourceVersion != written {
		t.Error("a status is written that says the same")
	}
	// Then it is tried again, and out of service for twice the time.
	f.clock.Step(5 * time.Minute)
	f.expectOut(t, b)
	f.clock.Step(time.Second)
	f.end(t, b, 1, true, "flood")
	f.expectOut(t, b, "flood")
	f.clock.Step(9 * time.Minute)
	f.expectOut(t, b, "flood")
	// A change of the server is another server.
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) { s.Servers[0].Transport.URL += "/mended" })
	f.expectOut(t, b)
	f.clock.Step(time.Hour)
	f.expectOut(t, b)
	if len(b.Status.Terminations)+len(b.Status.Outages) > 0 || meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStable) != nil {
		t.Errorf("an hour later the status has %+v, %+v and %+v", b.Status.Terminations, b.Status.Outages, b.Status.Conditions)
	}
	f.expectEvent(t, "Normal "+v1alpha1.ConditionStable)
}

// TestABridgeThatCanNeverStartIsLeftToTheKubelet has a bridge end whatever it is
// told, whose pods are not to be replaced for ever.
func TestABridgeThatCanNeverStartIsLeftToTheKubelet(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("never", func(s *v1alpha1.HostedBridgeSpec) { s.DesiredState = v1alpha1.StateRunning })
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	var replaced []bool
	for range 6 {
		f.roll(t, b)
		for restarts := range int32(2) {
			f.clock.Step(time.Second)
			f.end(t, b, restarts, false, "")
			testenv.ExpectReconciled(t, f.reconciler, b)
		}
		replaced = append(replaced, !f.podExists(t, "never"))
		if f.podExists(t, "never") {
			must.Succeed(t, f.Delete(t.Context(), f.pod(t, "never"), client.GracePeriodSeconds(0)))
		}
	}
	if want := []bool{true, true, true, false, false, false}; !slices.Equal(replaced, want) {
		t.Errorf("pods are replaced: %v, want %v", replaced, want)
	}
	testenv.ExpectExists(t, f.Client, b)
	stable := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStable)
	if stable == nil || stable.Reason != v1alpha1.ReasonTerminatedRepeatedly || !strings.Contains(stable.Message, "kubelet's back-off") {
		t.Errorf("the condition is %+v", stable)
	}
	f.expectEvent(t, "Warning "+v1alpha1.ReasonTerminatedRepeatedly)
}

// TestTheControllerSeesThatABridgeEnds is about what the caches keep of a pod,
// and which changes of it are passed on.
func TestTheControllerSeesThatABridgeEnds(t *testing.T) {
	f := newFixture(t)
	f.start(t)
	b := f.bridge("seen", func(s *v1alpha1.HostedBridgeSpec) { s.DesiredState = v1alpha1.StateRunning })
	testenv.ExpectApplied(t, f.Client, b)
	_, d := f.children("seen")
	f.eventually(t, "the Deployment is there", d, func() bool { return true })
	f.roll(t, b)
	f.clock.SetTime(time.Now().Truncate(time.Second))
	f.end(t, b, 0, true, "everything")
	f.eventually(t, "the first end is seen", b, func() bool { return len(b.Status.Terminations) == 1 })
	f.clock.Step(time.Second)
	f.end(t, b, 1, false, "everything")
	f.eventually(t, "the second end is seen", b, func() bool { return len(b.Status.Terminations) == 2 && b.Status.Terminations[1].Server == "everything" })
	wait.Until(t, "the pod is deleted", func() bool { return !f.podExists(t, "seen") })
	f.roll(t, b)
	f.clock.Step(time.Second)
	f.end(t, b, 0, true, "everything")
	f.eventually(t, "the server is out of service", b, func() bool { return len(b.Status.Outages) == 1 && b.Status.Outages[0].Message != "" })
}
