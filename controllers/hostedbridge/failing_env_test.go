// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func quantity(s string) resource.Quantity { return resource.MustParse(s) }

// withoutPods is an API server whose pods go right after they were listed.
func withoutPods(t *testing.T, f *fixture) client.WithWatch {
	t.Helper()
	inner := f.Client.(testenv.Indexed).WithWatch
	return interceptor.NewClient(inner, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := c.List(ctx, list, opts...); err != nil {
				return err
			}
			pods, ok := list.(*corev1.PodList)
			if !ok {
				return nil
			}
			for i := range pods.Items {
				now := int64(0)
				err := c.Delete(ctx, pods.Items[i].DeepCopy(), &client.DeleteOptions{GracePeriodSeconds: &now})
				if client.IgnoreNotFound(err) != nil {
					return err
				}
			}
			return nil
		},
	})
}

// say makes the pod's kubelet say of its containers what is given, and that the
// bridge is ready or not.
func (f *fixture) say(t *testing.T, pod *corev1.Pod, bridge bool, servers ...corev1.ContainerStatus) {
	t.Helper()
	testenv.ExpectStatusChanged(t, f.Client, pod, func() {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady"}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "bridge", Ready: bridge}}
		if !bridge {
			pod.Status.ContainerStatuses[0].State.Waiting = &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
		}
		pod.Status.InitContainerStatuses = servers
	})
}

func waitingFor(server, reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: "stdio-" + server, State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "back-off 10s"},
	}}
}

func crashing(server, reason string, code int32) corev1.ContainerStatus {
	s := waitingFor(server, "CrashLoopBackOff")
	s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code}
	return s
}

func TestAServersContainerThatDoesNotRunIsNamed(t *testing.T) {
	over := corev1.ContainerStatus{Name: "stdio-files", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 2},
	}}
	unscheduled := corev1.ContainerStatus{Name: "stdio-more", State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"},
	}}
	runs := corev1.ContainerStatus{Name: "stdio-more", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	for name, tt := range map[string]struct {
		servers []corev1.ContainerStatus
		says    []string
	}{
		"an image that is not there":    {[]corev1.ContainerStatus{waitingFor("files", "ImagePullBackOff"), unscheduled}, []string{"server files does not run: its image cannot be pulled (ImagePullBackOff)"}},
		"an image that is none":         {[]corev1.ContainerStatus{waitingFor("files", "InvalidImageName")}, []string{"server files does not run: its image's name is not valid (InvalidImageName)"}},
		"one for want of memory":        {[]corev1.ContainerStatus{crashing("files", "OOMKilled", 137), runs}, []string{"server files does not run", "for want of memory (OOMKilled)", "transport.stdio.resources"}},
		"one that crashes":              {[]corev1.ContainerStatus{crashing("files", "Error", 2)}, []string{"server files does not run: its container ended with exit code 2 and is started again"}},
		"one that has just crashed":     {[]corev1.ContainerStatus{over}, []string{"server files does not run: its container ended with exit code 2 and is started again"}},
		"a reason that is not foreseen": {[]corev1.ContainerStatus{waitingFor("files", "Novel")}, []string{"server files does not run: its container is waiting (Novel)"}},
		"two of them":                   {[]corev1.ContainerStatus{waitingFor("files", "ErrImagePull"), waitingFor("more", "CreateContainerError")}, []string{"server files does not run: its image", "server more does not run: its container cannot be made"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) { s.Servers = programs("files", "more") })
			testenv.ExpectApplied(t, f.Client, b)
			testenv.ExpectReconciled(t, f.reconciler, b)
			f.roll(t, b)
			_, d := f.children("alice")
			testenv.ExpectStatusChanged(t, f.Client, d, func() { d.Status.AvailableReplicas, d.Status.ReadyReplicas = 0, 0 })

			f.say(t, f.pod(t, "alice"), true, tt.servers...)
			testenv.ExpectReconciled(t, f.reconciler, b)
			testenv.ExpectExists(t, f.Client, b)
			if b.Status.Phase != v1alpha1.PhaseRunning || reason(b, v1alpha1.ConditionReady) != v1alpha1.ReasonReady {
				t.Errorf("the bridge is %s, %q", b.Status.Phase, message(b, v1alpha1.ConditionReady))
			}
			for _, kind := range []string{v1alpha1.ConditionWorkloadAvailable, v1alpha1.ConditionReady} {
				expectMessage(t, b, kind, tt.says...)
			}

			// The same before the bridge has started, which comes after them.
			f.say(t, f.pod(t, "alice"), false, tt.servers...)
			testenv.ExpectReconciled(t, f.reconciler, b)
			testenv.ExpectExists(t, f.Client, b)
			if b.Status.Phase != v1alpha1.PhasePending {
				t.Errorf("the bridge is %s", b.Status.Phase)
			}
			expectMessage(t, b, v1alpha1.ConditionReady, append(tt.says, "pod alice-bridge-1 is not ready: the bridge starts after")...)
		})
	}
}

func TestAPodWhoseNodeIsGoneIsNotReadyWhateverItsContainersSaid(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) { s.Servers = programs("files") })
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	f.roll(t, b)
	_, d := f.children("alice")
	testenv.ExpectExists(t, f.Client, d)
	d.Status.AvailableReplicas, d.Status.ReadyReplicas = 0, 0
	pod := f.pod(t, "alice")
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "bridge", Ready: true}}
	for _, o := range []client.Object{d, pod} {
		must.Succeed(t, f.Status().Update(t.Context(), o))
	}
	testenv.ExpectReconciled(t, f.reconciler, b)
	testenv.ExpectExists(t, f.Client, b)
	if b.Status.Phase != v1alpha1.PhasePending {
		t.Errorf("the bridge is %s", b.Status.Phase)
	}
}
