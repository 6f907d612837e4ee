// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestWhatAPodSaysOfTheEndsOfItsBridge also reads the pod as the cache holds it.
func TestWhatAPodSaysOfTheEndsOfItsBridge(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const memory, inFlight = `{"server":"flood","cause":"memory"}`, `{"server":"flood","cause":"in_flight"}`
	ended := func(reason string, code int32, message string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			FinishedAt: metav1.NewTime(now), Reason: reason, ExitCode: code, Message: message,
		}}
	}
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	waits := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 10s"}}
	starts := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	tests := map[string]struct {
		status       corev1.ContainerStatus
		last, before bridgestate.Termination
		down         bool
	}{
		"it runs": {status: corev1.ContainerStatus{Name: "bridge", State: runs}},
		"it was started again": {
			status: corev1.ContainerStatus{Name: "bridge", State: runs, RestartCount: 1, LastTerminationState: ended("OOMKilled", 137, memory)},
			before: bridgestate.Termination{Time: now, Reason: "OOMKilled", Server: "flood"},
		},
		"its first end": {
			status: corev1.ContainerStatus{Name: "bridge", State: ended("Error", 2, inFlight)},
			last:   bridgestate.Termination{Time: now, Reason: "Error", Server: "flood"},
		},
		"its second end": {
			status: corev1.ContainerStatus{Name: "bridge", State: ended("Error", 2, ""), RestartCount: 1, LastTerminationState: ended("Error", 2, "")},
			last:   bridgestate.Termination{Time: now, Reason: "Error"}, before: bridgestate.Termination{Time: now, Reason: "Error"}, down: true,
		},
		"it waits for the kubelet's back-off": {
			status: corev1.ContainerStatus{Name: "bridge", State: waits, RestartCount: 1, LastTerminationState: ended("Error", 2, "")},
			before: bridgestate.Termination{Time: now, Reason: "Error"}, down: true,
		},
		"it starts again": {status: corev1.ContainerStatus{Name: "bridge", State: starts, RestartCount: 1}},
		"a program's end": {status: corev1.ContainerStatus{Name: "stdio-flood", State: ended("Error", 1, memory), RestartCount: 7}},
		"killed while memory is short": {
			status: corev1.ContainerStatus{Name: "bridge", State: ended("Error", 137, memory)},
			last:   bridgestate.Termination{Time: now, Reason: "Error", Server: "flood"},
		},
		"out of memory at once": {
			status: corev1.ContainerStatus{Name: "bridge", State: ended("OOMKilled", 137, inFlight)},
			last:   bridgestate.Termination{Time: now, Reason: "OOMKilled", Server: "flood"},
		},
		"killed by somebody, which is no server's fault": {
			status: corev1.ContainerStatus{Name: "bridge", State: ended("Error", 137, inFlight)},
			last:   bridgestate.Termination{Time: now, Reason: "Error"},
		},
		"a text that is no note": {
			status: corev1.ContainerStatus{Name: "bridge", State: ended("Error", 2, "panic: flood")},
			last:   bridgestate.Termination{Time: now, Reason: "Error"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationBridgeUID: "uid"}},
				Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{tt.status}},
			}
			got := observedPod(pod)
			if got.Terminated != tt.last || got.TerminatedBefore != tt.before || got.Down != tt.down {
				t.Errorf("it says %+v, %+v, down: %t", got.Terminated, got.TerminatedBefore, got.Down)
			}
			cached := must.Value(stripPod(pod))(t)
			if diff := cmp.Diff(got, observedPod(cached.(*corev1.Pod))); diff != "" {
				t.Errorf("the cache's pod says another (-pod +cached):\n%s", diff)
			}
		})
	}
}
