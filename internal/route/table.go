// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package route is the ingress's routing table: from what the API server says
// of HostedBridges and pods to a snapshot in which a request looks up its user,
// its key and its login. The package is pure.
package route

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
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
	// Sleeping: the bridge does not run because it was not used; wake it.
	Sleeping State = "Sleeping"
)

// Backend is where one user's requests go.
type Backend struct {
	User      v1alpha1.UserID
	BridgeUID types.UID
	Namespace string
	Name      string
	State     State
	// Tier is spec.tier, which sets the user's limits.
	Tier string
	// IdleTimeout is how long the bridge may be unused before it sleeps; 0
	// means that it never sleeps.
	IdleTimeout time.Duration
	// Grants are which servers may use which secrets.
	Grants Grants
	// Servers is a digest of the names of the bridge's servers, 0 for none.
	Servers uint32 `json:",omitzero"`
	Revisions
	// Standing is that of the bridge's user: it is closed if nobody may use the bridge,
	// since all of its people were suspended or offboarded, or its user was. It has no
	// keys then.
	Standing

	// The pod is set only while the state is Ready. Its address may belong to
	// another pod by now; only the TLS handshake shows that.
	PodName string
	PodUID  types.UID
	PodIP   string

	Absence
}

// Absence is what is known of the pod of a bridge that should run and has no ready one. It is set only
// while the state is Starting.
type Absence struct {
	// Blocked is what keeps the pod from running, if an administrator has to look at it: a reason of
	// the condition WorkloadAvailable.
	Blocked string `json:",omitzero"`
	// Candidate is the pod that will probably be ready next. It is not known to serve yet.
	Candidate Candidate
}

// Revisions tell what a bridge should have now from what it had before.
type Revisions struct {
	// Configuration is a digest of the configuration that the bridge runs by, empty
	// while the operator has not acted on the spec as it is.
	Configuration string `json:",omitzero"`
	// SecretsRevision is the revision of the secrets that the bridge should
	// have, empty while there are none.
	SecretsRevision string
}

// Candidate is a pod that has an address and is not ready yet. No request goes
// there until the pod itself has said that it is ready and belongs to the
// bridge: then Backend.At returns the route to it.
type Candidate struct {
	PodName string
	PodUID  types.UID
	PodIP   string
}

// At returns b as it would be if its candidate were ready.
func (b Backend) At(c Candidate) Backend {
	b.State, b.Absence = Ready, Absence{}
	b.PodName, b.PodUID, b.PodIP = c.PodName, c.PodUID, c.PodIP
	return b
}

// KeyEntry is a key that gives access to a user's bridge.
type KeyEntry struct {
	User v1alpha1.UserID
	Hash apikey.Hash
	// ExpiresAt is zero for a key that does not expire.
	ExpiresAt time.Time
}

// Standing is what is taken away from a person. The zero value is nothing.
type Standing struct {
	// Closed means that the person is suspended or offboarded.
	Closed bool `json:",omitzero"`
	// LoginsEnded is when the person's logins ended, or an administrator or directory
	// ended them; zero if they never did.
	LoginsEnded time.Time `json:",omitzero"`
}

// shards is the number of parts of a table. A change copies the parts that it
// touches: at 10,000 bridges 40 entries instead of 10,000.
const shards = 256

// Table is a snapshot of all routes. It is never changed once it is built.
type Table struct {
	backends [shards]map[v1alpha1.UserID]Backend
	keys     [shards]map[string][]KeyEntry
	subjects [shards]map[oauth.SubjectKey][]v1alpha1.UserID
	people   [shards]map[oauth.SubjectKey]Standing
	routes   int
}

// Build makes the snapshot of these objects. Objects that are being deleted
// count as gone. Of bridges with the same user only the one that Precedes the
// others is routed, keys and subjects included.
func Build(bridges []*v1alpha1.HostedBridge, pods []*corev1.Pod, persons ...*v1alpha1.BridgePerson) *Table {
	x := NewIndex()
	for _, p := range persons {
		x.SetPerson(p)
	}
	for _, b := range bridges {
		x.SetBridge(b)
	}
	for _, pod := range pods {
		x.SetPod(pod)
	}
	return x.Snapshot()
}

// Lookup returns where the user's requests go.
func (t *Table) Lookup(user v1alpha1.UserID) (Backend, bool) {
	b, ok := t.backends[shardOf(string(user))][user]
	return b, ok
}

// Keys returns the entries of a key id, in no order. Ids are random, so there
// is more than one only if a key was copied; nothing forbids that.
func (t *Table) Keys(id string) []KeyEntry { return t.keys[shardOf(id)][id] }

// Subjects returns the users whose HostedBridges name a person or program, in the order of
// their ids. The caller must not change the list.
func (t *Table) Subjects(key oauth.SubjectKey) []v1alpha1.UserID {
	return t.subjects[shardOfSubject(key)][key]
}

// Standing returns what is taken away from a person.
func (t *Table) Standing(key oauth.SubjectKey) Standing {
	return t.people[shardOfSubject(key)][key]
}

// Backends calls yield for each backend, in no order, until it returns false.
func (t *Table) Backends(yield func(Backend) bool) {
	for _, shard := range t.backends {
		for _, b := range shard {
			if !yield(b) {
				return
			}
		}
	}
}

// Len returns how many users have a route.
func (t *Table) Len() int { return t.routes }

// shardOf is FNV-1a, folded. An attacker who chooses names of the same shard
// makes its changes as slow as those of an undivided table, no more.
func shardOf(s string) int {
	const offset, prime = 2166136261, 16777619
	h := uint32(offset)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * prime
	}
	h ^= h >> 16
	return int((h ^ h>>8) % shards)
}

// shardOfSubject needs no hash: a key is one.
func shardOfSubject(key oauth.SubjectKey) int { return int(key[0]) % shards }
