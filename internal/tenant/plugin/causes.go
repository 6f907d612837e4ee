// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/overview"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

// cause is one thing that is wrong with a bridge, or that keeps somebody from using it.
type cause struct {
	// what is the part of the bridge, and reason the API's word for what is wrong with it.
	what, reason string
	message      string
	since        time.Time
	// user is what the user's page says to do, and next what is to be done beside what the
	// documentation says of the reason.
	user, next string
}

// causes returns what is wrong with a bridge, what matters most first.
func causes(b *effective.Bridge, pods []corev1.Pod, now time.Time) []cause {
	return slices.Concat(accessCauses(b), specCauses(b), conditionCauses(b), serverCauses(b, pods, now), podCauses(pods), keyCauses(b, now))
}

func accessCauses(b *effective.Bridge) []cause {
	a := b.Status.Access
	if a == nil {
		return nil
	}
	return []cause{{
		what: "Access", reason: string(a.State), since: a.Since.Time, message: "The people of the bridge are " + accessWord(a.State) + ".",
		next: command("resume", b) + ", unless a directory or another record took the access away",
	}}
}

// specCauses says that what follows may be about an earlier spec.
func specCauses(b *effective.Bridge) []cause {
	if b.Status.ObservedGeneration >= b.Generation {
		return nil
	}
	return []cause{{
		what: "Operator", reason: "NotObserved", message: "The operator has not acted on the last change of the HostedBridge yet.",
		next: "If this lasts longer than some seconds, see whether the operator runs and what its log says.",
	}}
}

// summaries are conditions that repeat what others say, or what the servers say.
var summaries = []string{
	v1alpha1.ConditionReady, v1alpha1.ConditionServersHealthy, v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling,
}

// fine are the reasons of conditions that nobody has to act on.
var fine = []string{
	v1alpha1.ReasonAccepted, v1alpha1.ReasonNothingToSeal, v1alpha1.ReasonSealed, v1alpha1.ReasonAvailable, v1alpha1.ReasonAsleep,
	v1alpha1.ReasonProfilesApplied, v1alpha1.ReasonNetworkPolicyEnforced, v1alpha1.ReasonNetworkPolicyOff, v1alpha1.ReasonNotProbed,
}

func conditionCauses(b *effective.Bridge) (found []cause) {
	for _, c := range b.Status.Conditions {
		suspended := c.Reason == v1alpha1.ReasonSuspended && b.Status.Access != nil
		consequence := c.Reason == v1alpha1.ReasonNotAccepted // Of the condition Accepted.
		if slices.Contains(summaries, c.Type) || slices.Contains(fine, c.Reason) || suspended || consequence {
			continue
		}
		found = append(found, cause{
			what: overview.ConditionWords(c), reason: c.Reason, message: c.Message, since: c.LastTransitionTime.Time,
		})
	}
	return found
}

// serverCauses returns the servers that do not work, as the user's page has them. To
// administrators it also says what users cannot act on.
func serverCauses(b *effective.Bridge, pods []corev1.Pod, now time.Time) (found []cause) {
	for _, s := range selfservice.ServersOf(selfservice.View{Bridge: b, Report: bridgestate.LastReport(b), Now: now}).Servers {
		if s.Works() || !s.Has() && s.Reason != selfservice.ReasonNoRoom && s.Reason != selfservice.ReasonChoiceIgnored {
			continue
		}
		c := serverCause(b, s)
		if hasProgram(pods, s.Name) {
			c.next = command("logs", b) + " --server=" + s.Name
		}
		found = append(found, c)
	}
	return found
}

// serverCause returns why a server does not work, and what its user can do.
func serverCause(b *effective.Bridge, s selfservice.Server) cause {
	c := cause{what: "Server " + s.Name, reason: string(s.State), message: s.Message}
	for _, state := range b.Status.ServerStates {
		if state.Name == s.Name && state.State == v1alpha1.ServerUnhealthy {
			c.reason, c.message = state.Reason, cmp.Or(state.Message, s.Message)
		}
	}
	if !s.Has() {
		c.reason = bridgestate.CamelCase(s.Reason)
	}
	if s.Since != nil {
		c.since = *s.Since
	}
	if s.Fix != nil && s.State != health.Connecting {
		c.user = strings.TrimSpace(s.Fix.Text + " " + s.Fix.URL)
	}
	return c
}

// hasProgram reports whether a pod has a container for the program of a server.
func hasProgram(pods []corev1.Pod, server string) bool {
	return slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return programContainer(&pod, server) != "" })
}

// programContainer returns the container of the program of a server, empty if the pod has none.
func programContainer(pod *corev1.Pod, server string) string {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if of, is := bridgeobjects.StdioServer(c.Name); is && of == server {
			return c.Name
		}
	}
	return ""
}

// podCauses returns what keeps the containers of a bridge from running, and why they ended last.
func podCauses(pods []corev1.Pod) (found []cause) {
	for _, pod := range pods {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				found = append(found, cause{what: "Pod " + pod.Name, reason: c.Reason, message: c.Message, since: c.LastTransitionTime.Time})
			}
		}
		for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			if c, wrong := containerCause(s); wrong {
				found = append(found, c)
			}
		}
	}
	return found
}

// usualWaits are the kubelet's reasons for a container that is on its way.
var usualWaits = []string{"ContainerCreating", "PodInitializing", ""}

func containerCause(s corev1.ContainerStatus) (cause, bool) {
	c := cause{what: "Container " + s.Name}
	if server, is := bridgeobjects.StdioServer(s.Name); is {
		c.what = "Program of server " + server
	}
	if w := s.State.Waiting; w != nil && !slices.Contains(usualWaits, w.Reason) {
		c.reason, c.message = w.Reason, w.Message
	}
	last := s.LastTerminationState.Terminated
	if last == nil {
		last = s.State.Terminated
	}
	if last != nil && last.ExitCode != 0 {
		c.reason, c.since = cmp.Or(c.reason, last.Reason), last.FinishedAt.Time
		ended := fmt.Sprintf("it ended with the code %d (%s), and was started again %d times", last.ExitCode, last.Reason, s.RestartCount)
		c.message = strings.TrimPrefix(c.message+"; "+ended, "; ")
	}
	return c, c.reason != ""
}

// keyCauses returns why nobody has a way into the bridge.
func keyCauses(b *effective.Bridge, now time.Time) (found []cause) {
	for _, k := range b.Spec.APIKeys {
		if k.ExpiresAt == nil || k.ExpiresAt.After(now) {
			continue
		}
		found = append(found, cause{
			what: "Key " + strings.TrimSpace(k.ID+" "+k.Name), reason: "Expired", since: k.ExpiresAt.Time,
			message: "The key has expired, and is answered 401.", next: command("key create", b),
		})
	}
	noLogin := b.Spec.OAuth == nil || len(b.Spec.OAuth.Subjects) == 0
	if len(b.Spec.APIKeys) == 0 && noLogin {
		found = append(found, cause{
			what: "Keys", reason: "None", next: command("key create", b),
			message: "The bridge has no key and names no login, so that nobody can use it unless a rule of the installation maps a login to it.",
		})
	}
	return found
}

// command returns a command of this program about a bridge.
func command(name string, b *effective.Bridge) string {
	return "kubectl bridge " + name + " " + b.Name + " --namespace=" + b.Namespace
}
