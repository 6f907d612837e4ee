// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// Index follows HostedBridges, pods and BridgePersons one change at a time, so that the cost
// of the next snapshot depends on what changed and not on what exists. It keeps
// the objects that it is given, which must not be changed then. It is not safe
// for concurrent use; its snapshots are.
type Index struct {
	bridges map[types.NamespacedName]*v1alpha1.HostedBridge
	pods    map[types.NamespacedName]*corev1.Pod
	claims  map[v1alpha1.UserID][]*v1alpha1.HostedBridge
	podsOf  map[bridgeKey][]*corev1.Pod
	users   map[bridgeKey]v1alpha1.UserID
	// bySubject are the users whose bridges name a subject.
	bySubject map[oauth.SubjectKey][]v1alpha1.UserID
	people    *access.People
	// dirty are the users whose route in the table may be outdated, and moved the people
	// whose standing may be.
	dirty     map[v1alpha1.UserID]bool
	moved     map[oauth.SubjectKey]bool
	routes    map[v1alpha1.UserID]routed
	standings map[oauth.SubjectKey]Standing
	table     *Table
}

// bridgeKey finds the pods of a bridge. The namespace is part of it because a
// pod anywhere could carry the annotation.
type bridgeKey struct {
	namespace string
	uid       types.UID
}

// routed is what the table has of one user. The zero value is no route.
type routed struct {
	backend  Backend
	keys     []key
	subjects []oauth.SubjectKey
}

func (r routed) exists() bool { return r.backend.User != "" }

func (r routed) equal(other routed) bool {
	return r.backend == other.backend && slices.EqualFunc(r.keys, other.keys, key.equal) && slices.Equal(r.subjects, other.subjects)
}

// NewIndex returns an empty index.
func NewIndex() *Index {
	return &Index{
		bridges: map[types.NamespacedName]*v1alpha1.HostedBridge{},
		pods:    map[types.NamespacedName]*corev1.Pod{},
		claims:  map[v1alpha1.UserID][]*v1alpha1.HostedBridge{},
		podsOf:  map[bridgeKey][]*corev1.Pod{},
		users:   map[bridgeKey]v1alpha1.UserID{},

		bySubject: map[oauth.SubjectKey][]v1alpha1.UserID{},
		people:    access.NewPeople(nil),
		dirty:     map[v1alpha1.UserID]bool{},
		moved:     map[oauth.SubjectKey]bool{},
		routes:    map[v1alpha1.UserID]routed{},
		standings: map[oauth.SubjectKey]Standing{},
		table:     &Table{},
	}
}

// SetBridge replaces the bridge of b's name.
func (x *Index) SetBridge(b *v1alpha1.HostedBridge) {
	x.DeleteBridge(b)
	user, err := v1alpha1.ParseUserID(string(b.User()))
	if err != nil {
		return // The API server's rules refuse such names; no path could contain it.
	}
	x.bridges[nameOf(b)] = b
	x.claims[user] = append(x.claims[user], b)
	x.users[bridgeKey{b.Namespace, b.UID}] = user
	for _, key := range subjectsOf(b) {
		x.bySubject[key] = append(x.bySubject[key], user)
	}
	x.dirty[user] = true
}

// DeleteBridge removes the bridge of b's name.
func (x *Index) DeleteBridge(b *v1alpha1.HostedBridge) {
	old, ok := x.bridges[nameOf(b)]
	if !ok {
		return
	}
	delete(x.bridges, nameOf(b))
	without(x.claims, old.User(), old)
	delete(x.users, bridgeKey{old.Namespace, old.UID})
	for _, key := range subjectsOf(old) {
		removeOnce(x.bySubject, key, old.User())
	}
	x.dirty[old.User()] = true
}

// SetPerson replaces the person of p's name.
func (x *Index) SetPerson(p *v1alpha1.BridgePerson) {
	x.touch(x.people.Get(p.Name))
	x.people.Set(p)
	x.touch(p)
}

// DeletePerson removes the person of p's name.
func (x *Index) DeletePerson(p *v1alpha1.BridgePerson) {
	x.touch(x.people.Get(p.Name))
	x.people.Delete(p)
}

// touch notes that what is known of a person changed, and so the access to bridges.
func (x *Index) touch(p *v1alpha1.BridgePerson) {
	switch {
	case p == nil:
		return
	case p.Spec.User != "":
		x.dirty[p.Spec.User] = true
		return
	}
	key := access.KeyOf(p)
	x.moved[key] = true
	for _, user := range x.bySubject[key] {
		x.dirty[user] = true
	}
	for _, user := range x.people.Person(key).RuledUsers() {
		x.dirty[user] = true
	}
	if user := access.RuledUser(p); user != "" {
		x.dirty[user] = true
	}
}

// SetPod replaces the pod of pod's name.
func (x *Index) SetPod(pod *corev1.Pod) {
	x.DeletePod(pod)
	of := bridgeOf(pod)
	if of.uid == "" {
		return
	}
	x.pods[nameOf(pod)] = pod
	x.podsOf[of] = append(x.podsOf[of], pod)
	x.mark(of)
}

// DeletePod removes the pod of pod's name.
func (x *Index) DeletePod(pod *corev1.Pod) {
	old, ok := x.pods[nameOf(pod)]
	if !ok {
		return
	}
	delete(x.pods, nameOf(pod))
	without(x.podsOf, bridgeOf(old), old)
	x.mark(bridgeOf(old))
}

// mark notes that the pods of a bridge changed. If a pod comes before its
// bridge, it is found when the bridge comes.
func (x *Index) mark(of bridgeKey) {
	if user, ok := x.users[of]; ok {
		x.dirty[user] = true
	}
}

// Snapshot returns the table of the index's content. It is the one returned
// before if no route has changed since.
func (x *Index) Snapshot() *Table {
	d := draft{from: x.table}
	for user := range x.dirty {
		have, want := x.routes[user], x.decide(user)
		if have.equal(want) {
			continue
		}
		d.replace(have, want)
		if want.exists() {
			x.routes[user] = want
		} else {
			delete(x.routes, user)
		}
	}
	clear(x.dirty)
	for key := range x.moved {
		person := x.people.Person(key)
		want := Standing{person.Access() != v1alpha1.AccessAllowed, person.LoginsEnded()}
		if x.standings[key] == want {
			continue
		}
		d.replaceStanding(key, want)
		if want == (Standing{}) {
			delete(x.standings, key)
		} else {
			x.standings[key] = want
		}
	}
	clear(x.moved)
	if d.table != nil {
		d.table.routes = len(x.routes)
		x.table = d.table
	}
	return x.table
}

func (x *Index) decide(user v1alpha1.UserID) routed {
	b := owner(x.claims[user])
	if b == nil {
		return routed{}
	}
	pods := x.podsOf[bridgeKey{b.Namespace, b.UID}]
	r := routed{backend: backendOf(effective.Of(b), pods), keys: keysOf(b), subjects: subjectsOf(b)}
	r.backend.LoginsEnded = x.people.User(user).LoginsEnded()
	if x.people.Bridge(b) != v1alpha1.AccessAllowed {
		r.close()
	}
	return r
}

// close takes the keys and the pod of a bridge away that nobody may use. The table still
// has it, for administrators.
func (r *routed) close() {
	r.keys = nil
	b := &r.backend
	b.Closed, b.State, b.Absence = true, Suspended, Absence{}
	b.PodName, b.PodUID, b.PodIP = "", "", ""
}

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func bridgeOf(pod *corev1.Pod) bridgeKey {
	return bridgeKey{pod.Namespace, types.UID(pod.Annotations[v1alpha1.AnnotationBridgeUID])}
}

// without removes an element of a list, and the list with its last element.
func without[K, V comparable](lists map[K][]V, k K, v V) {
	rest := slices.DeleteFunc(lists[k], func(element V) bool { return element == v })
	if lists[k] = rest; len(rest) == 0 {
		delete(lists, k)
	}
}

// removeOnce removes one element of a list that may have it several times.
func removeOnce[K, V comparable](lists map[K][]V, k K, v V) {
	if at := slices.Index(lists[k], v); at >= 0 {
		lists[k] = slices.Delete(lists[k], at, at+1)
	}
	if len(lists[k]) == 0 {
		delete(lists, k)
	}
}

// draft is a table that is being made from another. It shares every shard with
// that one until it copies it.
type draft struct {
	from     *Table
	table    *Table // Nil until something differs.
	backends [shards]bool
	keys     [shards]bool
	subjects [shards]bool
	people   [shards]bool
}

// begin copies the table before the first change.
func (d *draft) begin() {
	if d.table == nil {
		t := *d.from
		d.table = &t
	}
}

// replace puts want in place of have.
func (d *draft) replace(have, want routed) {
	d.begin()
	if have.exists() {
		delete(d.backendsOf(have.backend.User), have.backend.User)
	}
	if want.exists() {
		d.backendsOf(want.backend.User)[want.backend.User] = want.backend
	}
	if !slices.EqualFunc(have.keys, want.keys, key.equal) {
		d.replaceKeys(have, want)
	}
	if !slices.Equal(have.subjects, want.subjects) {
		d.replaceSubjects(have, want)
	}
}

func (d *draft) replaceKeys(have, want routed) {
	for _, k := range have.keys {
		shard := d.keysOf(k.id)
		// A copy: tables before this one have the list too.
		rest := slices.DeleteFunc(slices.Clone(shard[k.id]), func(e KeyEntry) bool { return e.User == k.entry.User })
		if shard[k.id] = rest; len(rest) == 0 {
			delete(shard, k.id)
		}
	}
	for _, k := range want.keys {
		shard := d.keysOf(k.id)
		shard[k.id] = append(slices.Clip(shard[k.id]), k.entry)
	}
}

func (d *draft) replaceSubjects(have, want routed) {
	for _, s := range have.subjects {
		shard := d.subjectsOf(s)
		// A copy, as above.
		rest := slices.DeleteFunc(slices.Clone(shard[s]), func(user v1alpha1.UserID) bool { return user == have.backend.User })
		if shard[s] = rest; len(rest) == 0 {
			delete(shard, s)
		}
	}
	for _, s := range want.subjects {
		shard := d.subjectsOf(s)
		at, _ := slices.BinarySearch(shard[s], want.backend.User)
		shard[s] = slices.Insert(slices.Clip(shard[s]), at, want.backend.User)
	}
}

// replaceStanding puts want in place of what was taken away from a person.
func (d *draft) replaceStanding(key oauth.SubjectKey, want Standing) {
	d.begin()
	i := shardOfSubject(key)
	shard := own(&d.table.people[i], &d.people[i])
	if want == (Standing{}) {
		delete(shard, key)
		return
	}
	shard[key] = want
}

func (d *draft) backendsOf(user v1alpha1.UserID) map[v1alpha1.UserID]Backend {
	i := shardOf(string(user))
	return own(&d.table.backends[i], &d.backends[i])
}

func (d *draft) keysOf(id string) map[string][]KeyEntry {
	i := shardOf(id)
	return own(&d.table.keys[i], &d.keys[i])
}

func (d *draft) subjectsOf(s oauth.SubjectKey) map[oauth.SubjectKey][]v1alpha1.UserID {
	i := shardOfSubject(s)
	return own(&d.table.subjects[i], &d.subjects[i])
}

// own returns the shard, after it was replaced by a copy the first time.
func own[K comparable, V any](shard *map[K]V, owned *bool) map[K]V {
	if !*owned {
		*owned = true
		if *shard == nil {
			*shard = map[K]V{}
		} else {
			*shard = maps.Clone(*shard)
		}
	}
	return *shard
}
