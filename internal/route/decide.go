// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"bytes"
	"hash/fnv"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// owner returns the bridge that a user id belongs to, of those that claim it,
// or nil.
func owner(claims []*v1alpha1.HostedBridge) *v1alpha1.HostedBridge {
	var owner *v1alpha1.HostedBridge
	for _, b := range claims {
		if b.DeletionTimestamp == nil && (owner == nil || b.Precedes(owner)) {
			owner = b
		}
	}
	return owner
}

// newestReady returns the newest ready pod, or nil. The strategy of a bridge's
// Deployment runs only one, but an evicted pod can overlap its successor.
func newestReady(pods []*corev1.Pod) *corev1.Pod {
	var newest *corev1.Pod
	for _, pod := range pods {
		if isReady(pod) && (newest == nil || newer(pod, newest)) {
			newest = pod
		}
	}
	return newest
}

func isReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.PodIP != "" && v1alpha1.BridgeReady(pod)
}

// candidate returns the pod that will probably be ready next, or none: the
// newest that is not ending, if it has an address. While that has no address,
// an older one is about to end.
func candidate(pods []*corev1.Pod) Candidate {
	var newest *corev1.Pod
	for _, pod := range pods {
		if stays(pod) && (newest == nil || newer(pod, newest)) {
			newest = pod
		}
	}
	if newest == nil || newest.Status.PodIP == "" {
		return Candidate{}
	}
	return Candidate{PodName: newest.Name, PodUID: newest.UID, PodIP: newest.Status.PodIP}
}

// stays reports whether the pod has not ended and is not being deleted.
func stays(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// newer orders pods by age, and by UID within the same second, so that every
// replica of the ingress picks the same one.
func newer(a, b *corev1.Pod) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return b.CreationTimestamp.Before(&a.CreationTimestamp)
	}
	return a.UID > b.UID
}

// backendOf returns the route to b, which has these pods.
func backendOf(b *effective.Bridge, pods []*corev1.Pod) Backend {
	route := Backend{
		User: b.User(), BridgeUID: b.UID, Namespace: b.Namespace, Name: b.Name, State: Starting,
		Tier: b.Spec.Tier, IdleTimeout: b.IdleTimeout(), Grants: GrantsOf(b), Servers: digestOf(b.Spec.Servers),
	}
	if b.Status.ObservedGeneration == b.Generation {
		route.Configuration = b.Status.Configuration
	}
	if b.Status.Secrets != nil {
		route.SecretsRevision = b.Status.Secrets.Revision
	}
	switch {
	case b.Spec.DesiredState == v1alpha1.StateSuspended:
		// Even while its pod still ends: no new call may begin.
		route.State = Suspended
	case b.Asleep() && !b.Woken():
		route.State = Sleeping // Its pod may still be ending.
	case b.Asleep():
		// The operator has not handled the wake-up yet; an existing pod is
		// ending.
	default:
		if pod := newestReady(pods); pod != nil {
			route.State = Ready
			route.PodName, route.PodUID, route.PodIP = pod.Name, pod.UID, pod.Status.PodIP
		} else {
			route.Candidate = candidate(pods)
			if c := BlockedBy(b.HostedBridge); c != nil {
				route.Blocked = c.Reason
			}
		}
	}
	return route
}

// blockedWords say to users what keeps a bridge's pod from running.
var blockedWords = map[string]string{
	v1alpha1.ReasonPodRefused:       "The bridge cannot start: the cluster refuses to run it.",
	v1alpha1.ReasonPodUnschedulable: "The bridge cannot start now: the cluster has no room for it.",
	v1alpha1.ReasonImageNotPulled:   "The bridge cannot start now: the cluster cannot fetch its image.",
}

// BlockedWords says to users what a reason of Backend.Blocked is, empty for none.
func BlockedWords(reason string) string { return blockedWords[reason] }

// BlockedBy returns the condition that says why the pod of a bridge cannot run, nil if nothing is
// known to keep it from running.
func BlockedBy(b *v1alpha1.HostedBridge) *metav1.Condition {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionWorkloadAvailable)
	if c == nil || c.Status != metav1.ConditionFalse || !v1alpha1.PodBlocked(c.Reason) {
		return nil
	}
	return c
}

// digestOf returns a digest of the servers' names. That two lists have one is no harm: their
// bridge is asked for its health later.
func digestOf(servers []effective.Server) uint32 {
	if len(servers) == 0 {
		return 0
	}
	h := fnv.New32a()
	for _, s := range servers {
		_, _ = h.Write([]byte(s.Name + " ")) // Never fails.
	}
	return h.Sum32()
}

// key is an entry with the id under which it is found.
type key struct {
	id    string
	entry KeyEntry
}

func (k key) equal(other key) bool {
	return k.id == other.id && k.entry.User == other.entry.User && k.entry.Hash == other.entry.Hash &&
		k.entry.ExpiresAt.Equal(other.entry.ExpiresAt)
}

// keysOf returns the keys that give access to b.
func keysOf(b *v1alpha1.HostedBridge) []key {
	keys := make([]key, 0, len(b.Spec.APIKeys))
	for _, k := range b.Spec.APIKeys {
		hash, err := apikey.ParseHash(k.Hash)
		if err != nil {
			continue // The API server's rules refuse such hashes; it would never match.
		}
		entry := KeyEntry{User: b.User(), Hash: hash}
		if k.ExpiresAt != nil {
			entry.ExpiresAt = k.ExpiresAt.Time
		}
		keys = append(keys, key{k.ID, entry})
	}
	return keys
}

// subjectsOf returns the subjects that may use b by a login, sorted and each
// once, so that the same list in another order is no change.
func subjectsOf(b *v1alpha1.HostedBridge) []oauth.SubjectKey {
	if b.Spec.OAuth == nil {
		return nil
	}
	subjects := make([]oauth.SubjectKey, 0, len(b.Spec.OAuth.Subjects))
	for _, s := range b.Spec.OAuth.Subjects {
		subjects = append(subjects, oauth.KeyOf(s.Issuer, s.Subject))
	}
	slices.SortFunc(subjects, func(a, b oauth.SubjectKey) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(subjects)
}
