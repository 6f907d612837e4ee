// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package route is the ingress's table of who is reached where: from what the
// API server says of HostedBridges and pods to a snapshot that a request looks
// its user and its key up in. The package is pure.
package route

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
)

// State is what may be done with a request for a bridge.
type State string

// The states.
const (
	// Ready: the pod answers its readiness probe; dial it.
	Ready State = "Ready"
	// Starting: the bridge should run and has no ready pod; wait.
	Starting State = "Starting"
	// Suspended: the bridge should not run; refuse.
	Suspended State = "Suspended"
)

// Backend is where one user's requests go.
type Backend struct {
	User      v1alpha1.UserID
	BridgeUID types.UID
	Namespace string
	Name      string
	State     State

	// The pod is set only while the state is Ready. Its address may since
	// have been given to another pod; only the TLS handshake tells.
	PodName string
	PodUID  types.UID
	PodIP   string
}

// KeyEntry is a key that opens a user's bridge.
type KeyEntry struct {
	User v1alpha1.UserID
	Hash apikey.Hash
	// ExpiresAt is zero for a key that does not expire.
	ExpiresAt time.Time
}

// Table is a snapshot of all routes. It is never changed once it is built.
type Table struct {
	backends map[v1alpha1.UserID]Backend
	keys     map[string][]KeyEntry
}

// Lookup returns where the user's requests go.
func (t *Table) Lookup(user v1alpha1.UserID) (Backend, bool) {
	b, ok := t.backends[user]
	return b, ok
}

// Keys returns the entries of a key id. Ids are random, so that there is
// hardly ever more than one; nothing forbids it.
func (t *Table) Keys(id string) []KeyEntry { return t.keys[id] }

// Backends calls yield for each backend, in no order, until it returns false.
func (t *Table) Backends(yield func(Backend) bool) {
	for _, b := range t.backends {
		if !yield(b) {
			return
		}
	}
}

// Len returns how many users have a route.
func (t *Table) Len() int { return len(t.backends) }

// podKey finds the pods of a bridge. The namespace is part of it because an
// annotation alone is a claim that a pod anywhere could make.
type podKey struct {
	namespace string
	bridge    types.UID
}

// Build makes the snapshot of these objects. Objects that are being deleted
// count as gone. Of bridges with the same user only the one that Precedes the
// others is routed, keys included.
func Build(bridges []*v1alpha1.HostedBridge, pods []*corev1.Pod) *Table {
	t := &Table{
		backends: make(map[v1alpha1.UserID]Backend, len(bridges)),
		keys:     make(map[string][]KeyEntry, len(bridges)),
	}
	ready := readyPods(pods)
	for user, b := range owners(bridges) {
		t.backends[user] = backend(b, user, ready[podKey{b.Namespace, b.UID}])
		for _, key := range b.Spec.APIKeys {
			hash, err := apikey.ParseHash(key.Hash)
			if err != nil {
				continue // The API server's rules let none in; it would open nothing.
			}
			entry := KeyEntry{User: user, Hash: hash}
			if key.ExpiresAt != nil {
				entry.ExpiresAt = key.ExpiresAt.Time
			}
			t.keys[key.ID] = append(t.keys[key.ID], entry)
		}
	}
	return t
}

// owners returns the bridge that each user id belongs to.
func owners(bridges []*v1alpha1.HostedBridge) map[v1alpha1.UserID]*v1alpha1.HostedBridge {
	owners := make(map[v1alpha1.UserID]*v1alpha1.HostedBridge, len(bridges))
	for _, b := range bridges {
		if b.DeletionTimestamp != nil {
			continue
		}
		user, err := v1alpha1.ParseUserID(string(b.User()))
		if err != nil {
			continue
		}
		if other, taken := owners[user]; !taken || b.Precedes(other) {
			owners[user] = b
		}
	}
	return owners
}

// readyPods returns the newest ready pod of each bridge. The strategy of its
// Deployment lets only one run, but an evicted pod can overlap its successor.
func readyPods(pods []*corev1.Pod) map[podKey]*corev1.Pod {
	ready := make(map[podKey]*corev1.Pod, len(pods))
	for _, pod := range pods {
		if !isReady(pod) {
			continue
		}
		key := podKey{pod.Namespace, types.UID(pod.Annotations[v1alpha1.AnnotationBridgeUID])}
		if other, taken := ready[key]; !taken || newer(pod, other) {
			ready[key] = pod
		}
	}
	return ready
}

func isReady(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil || pod.Status.PodIP == "" || pod.Annotations[v1alpha1.AnnotationBridgeUID] == "" {
		return false
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// newer orders pods by age, and by UID where the age is the same second's, so
// that every replica of the ingress picks the same one.
func newer(a, b *corev1.Pod) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return b.CreationTimestamp.Before(&a.CreationTimestamp)
	}
	return a.UID > b.UID
}

func backend(b *v1alpha1.HostedBridge, user v1alpha1.UserID, pod *corev1.Pod) Backend {
	route := Backend{User: user, BridgeUID: b.UID, Namespace: b.Namespace, Name: b.Name, State: Starting}
	switch {
	case b.Spec.DesiredState == v1alpha1.StateSuspended:
		// Even while its pod still ends: no new call may begin.
		route.State = Suspended
	case pod != nil:
		route.State = Ready
		route.PodName, route.PodUID, route.PodIP = pod.Name, pod.UID, pod.Status.PodIP
	}
	return route
}
