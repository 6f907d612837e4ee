// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
)

// ended reports whether all containers of the pod have ended and will not start
// again.
func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func observedPod(pod *corev1.Pod) bridgestate.Pod {
	o := bridgestate.Pod{
		Name:      pod.Name,
		UID:       pod.UID,
		Created:   pod.CreationTimestamp.Time,
		Ready:     v1alpha1.BridgeReady(pod),
		Deleting:  pod.DeletionTimestamp != nil,
		Failing:   failing(pod),
		Unmounted: unmounted(pod),
		Told:      pod.Annotations[v1alpha1.AnnotationConfigDigest],
	}
	o.Waiting, o.Blocked = waiting(pod)
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == v1alpha1.BridgeContainer {
			o.Terminated, o.TerminatedBefore, o.Down = ends(s)
		}
	}
	return o
}

// ends returns the last two ends of the bridge's process, and whether it has
// ended more than once and not been started again. After the first end in a pod
// the kubelet starts it at once.
func ends(s corev1.ContainerStatus) (last, before bridgestate.Termination, down bool) {
	last, before = terminationOf(s.State.Terminated), terminationOf(s.LastTerminationState.Terminated)
	backsOff := s.State.Waiting != nil && s.State.Waiting.Reason == crashLoopBackOff
	return last, before, s.RestartCount > 0 && (backsOff || s.State.Terminated != nil)
}

func terminationOf(t *corev1.ContainerStateTerminated) bridgestate.Termination {
	if t == nil {
		return bridgestate.Termination{}
	}
	noted := health.ParseSuspect(t.Message)
	if noted.Cause == health.SuspectInFlight && t.ExitCode == killed && t.Reason != outOfMemory {
		noted.Server = "" // No server can do that.
	}
	return bridgestate.Termination{Time: t.FinishedAt.Time, Reason: t.Reason, Server: noted.Server}
}

const (
	// killed is the exit code of a process that was ended by SIGKILL, and
	// outOfMemory the kubelet's reason where the kernel did so for want of
	// memory. Some runtimes do not tell the kubelet.
	killed      = 137
	outOfMemory = "OOMKilled"
)

// crashLoopBackOff is the kubelet's reason for a container that it starts again
// only after some time.
const crashLoopBackOff = "CrashLoopBackOff"

// waiting says what keeps a pod's bridge from running, and the reason if an administrator has to
// look at it. For a container it gives only the kubelet's reason: the message changes with each try,
// and each change would be a write.
func waiting(pod *corev1.Pod) (message, blocked string) {
	if c := podCondition(pod, corev1.PodScheduled); c.Status == corev1.ConditionFalse {
		if c.Reason == corev1.PodReasonUnschedulable {
			blocked = v1alpha1.ReasonPodUnschedulable
		}
		return c.Message, blocked
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, s := range statuses {
			if _, server := bridgeobjects.StdioServer(s.Name); server {
				continue
			}
			if w := s.State.Waiting; w != nil && w.Reason != "" && !starting[w.Reason] {
				if strings.HasPrefix(causes[w.Reason], imageCause) {
					blocked = v1alpha1.ReasonImageNotPulled
				}
				return fmt.Sprintf("container %s is waiting: %s", s.Name, w.Reason), blocked
			}
		}
	}
	return "", ""
}

// starting are the reasons of a container that has not started yet and has no
// error.
var starting = map[string]bool{"ContainerCreating": true, "PodInitializing": true}

// failing says which servers' containers do not run, and why.
func failing(pod *corev1.Pod) string {
	var said []string
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, s := range statuses {
			server, ok := bridgeobjects.StdioServer(s.Name)
			if why := cause(s); ok && why != "" {
				said = append(said, fmt.Sprintf("server %s does not run: %s", server, why))
			}
		}
	}
	return strings.Join(said, "; ")
}

// unmounted returns the servers whose containers do not start for want of an image. The kubelet
// gives the same reasons for an image that a container mounts as for its own.
func unmounted(pod *corev1.Pod) (servers []string) {
	for _, s := range pod.Status.ContainerStatuses {
		server, ok := bridgeobjects.StdioServer(s.Name)
		if w := s.State.Waiting; ok && w != nil && w.Reason != crashLoopBackOff && causes[w.Reason] != "" {
			servers = append(servers, server)
		}
	}
	return servers
}

// imageCause is how the causes begin that are about an image.
const imageCause = "its image"

// causes are the reasons why a container does not start, in plain words.
var causes = map[string]string{
	"ErrImagePull":               "its image cannot be pulled",
	"ImagePullBackOff":           "its image cannot be pulled",
	"ErrImageNeverPull":          "its image is not on the node",
	"RegistryUnavailable":        "its image's registry does not answer",
	"InvalidImageName":           "its image's name is not valid",
	"ImageInspectError":          "its image cannot be read",
	"CreateContainerConfigError": "its container cannot be made",
	"CreateContainerError":       "its container cannot be made",
	"RunContainerError":          "its container cannot be started",
}

// cause says in a few words why a container does not run. It is empty for a
// container that runs or is still starting.
func cause(s corev1.ContainerStatus) string {
	switch {
	case s.State.Waiting != nil && s.State.Waiting.Reason == crashLoopBackOff:
		return endings(s.LastTerminationState.Terminated)
	case s.State.Waiting != nil && s.State.Waiting.Reason != "" && !starting[s.State.Waiting.Reason]:
		reason := s.State.Waiting.Reason
		return fmt.Sprintf("%s (%s)", cmp.Or(causes[reason], "its container is waiting"), reason)
	case s.State.Terminated != nil:
		return endings(s.State.Terminated)
	default:
		return ""
	}
}

// endings says how a container ended and that it is started again.
func endings(t *corev1.ContainerStateTerminated) string {
	switch {
	case t == nil:
		return "its container ends again and again (CrashLoopBackOff)"
	case t.Reason == outOfMemory:
		return "its container ended for want of memory (OOMKilled) and is started again; transport.stdio.resources, or recipe.resources, can give it more"
	default:
		return fmt.Sprintf("its container ended with exit code %d and is started again", t.ExitCode)
	}
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}
