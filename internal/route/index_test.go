// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// dump is all that a table says, in one order.
func dump(t *Table) []string {
	var lines []string
	for b := range t.Backends {
		lines = append(lines, fmt.Sprintf("%+v", b))
	}
	for _, shard := range t.keys {
		for id, entries := range shard {
			for _, e := range entries {
				lines = append(lines, fmt.Sprintf("key %s opens %s by %x until %v", id, e.User, e.Hash, e.ExpiresAt))
			}
		}
	}
	for _, shard := range t.subjects {
		for s, users := range shard {
			lines = append(lines, fmt.Sprintf("subject %s may use %s", s, users))
		}
	}
	slices.Sort(lines)
	return append(lines, fmt.Sprint(t.Len(), " routes"))
}

// world is what an API server could hold: few names, so that they collide.
type world struct {
	random  *rand.Rand
	uid     int
	bridges map[string]*v1alpha1.HostedBridge
	pods    map[string]*corev1.Pod
}

// pick returns true once in n times.
func (w *world) pick(n int) bool { return w.random.IntN(n) == 0 }

func (w *world) newUID() types.UID {
	w.uid++
	return types.UID(fmt.Sprint("uid-", w.uid))
}

// step changes one object and tells the index.
func (w *world) step(x *Index) {
	name := fmt.Sprintf("name-%d", w.random.IntN(6))
	namespace := []string{"one", "two"}[w.random.IntN(2)]
	if w.pick(2) {
		w.stepBridge(x, namespace, name)
	} else {
		w.stepPod(x, namespace, name)
	}
}

func (w *world) stepBridge(x *Index, namespace, name string) {
	old := w.bridges[namespace+name]
	if old != nil && w.pick(4) {
		delete(w.bridges, namespace+name)
		x.DeleteBridge(old)
		return
	}
	b := bridge(namespace, name, w.random.IntN(4), func(b *v1alpha1.HostedBridge) {
		b.UID = w.newUID()
		if w.pick(2) {
			b.Spec.UserID = v1alpha1.UserID(fmt.Sprintf("name-%d", w.random.IntN(6)))
		}
	})
	if old != nil && !w.pick(4) { // Else it was deleted and made anew unseen.
		b.UID, b.CreationTimestamp, b.Spec.UserID = old.UID, old.CreationTimestamp, old.Spec.UserID
	}
	if w.pick(5) {
		b.Spec.DesiredState = v1alpha1.StateSuspended
	}
	if w.pick(5) {
		b.DeletionTimestamp = &metav1.Time{Time: epoch}
	}
	for i := range w.random.IntN(3) {
		k := v1alpha1.APIKey{ID: fmt.Sprintf("key-%d", 2*w.random.IntN(3)+i), Hash: fmt.Sprintf("sha256:%064x", w.random.IntN(2))}
		if w.pick(2) {
			k.ExpiresAt = &metav1.Time{Time: epoch}
		}
		b.Spec.APIKeys = append(b.Spec.APIKeys, k)
	}
	if w.pick(2) {
		subjects("one", fmt.Sprint("subject-", w.random.IntN(3)), fmt.Sprint("subject-", w.random.IntN(3)))(b)
	}
	if w.pick(2) {
		b.Status.Secrets = &v1alpha1.SecretsStatus{Revision: fmt.Sprint("revision-", w.random.IntN(2))}
	}
	if w.pick(2) {
		b.Spec.Servers = []v1alpha1.Server{{Name: "one", Secrets: []v1alpha1.SecretName{v1alpha1.SecretName(fmt.Sprint("SECRET_", w.random.IntN(2)))}}}
	}
	w.bridges[namespace+name] = b
	x.SetBridge(b)
}

func (w *world) stepPod(x *Index, namespace, name string) {
	if old := w.pods[namespace+name]; old != nil && w.pick(4) {
		delete(w.pods, namespace+name)
		x.DeletePod(old)
		return
	}
	of := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{UID: w.newUID()}}
	for _, b := range w.bridges {
		if w.pick(3) {
			of = b
		}
	}
	p := pod(of, name, w.random.IntN(3), func(p *corev1.Pod) {
		p.Namespace, p.UID = namespace, w.newUID()
		if w.pick(4) {
			p.Status.Conditions[0].Status = corev1.ConditionFalse
		}
		if w.pick(8) {
			p.Annotations = nil
		}
		if w.pick(8) {
			p.DeletionTimestamp = &metav1.Time{Time: epoch}
		}
	})
	w.pods[namespace+name] = p
	x.SetPod(p)
}

func (w *world) table() *Table {
	var bridges []*v1alpha1.HostedBridge
	var pods []*corev1.Pod
	for _, b := range w.bridges {
		bridges = append(bridges, b)
	}
	for _, p := range w.pods {
		pods = append(pods, p)
	}
	return Build(bridges, pods)
}

func TestWhatChangesOneByOneIsAsIfBuiltAnew(t *testing.T) {
	for seed := range uint64(4) {
		w := &world{
			random:  rand.New(rand.NewPCG(seed, 1)),
			bridges: map[string]*v1alpha1.HostedBridge{}, pods: map[string]*corev1.Pod{},
		}
		x := NewIndex()
		former := x.Snapshot()
		said := dump(former)
		for i := range 200 {
			for range 1 + w.random.IntN(3) {
				w.step(x)
			}
			table := x.Snapshot()
			got := dump(table)
			if diff := cmp.Diff(dump(w.table()), got); diff != "" {
				t.Fatalf("seed %d, step %d (-built anew +changed):\n%s", seed, i, diff)
			}
			if diff := cmp.Diff(said, dump(former)); diff != "" {
				t.Fatalf("seed %d, step %d changed a table that was given out:\n%s", seed, i, diff)
			}
			if table != former && cmp.Equal(said, got) {
				t.Fatalf("seed %d, step %d: another table that says the same", seed, i)
			}
			former, said = table, got
		}
		if x.Snapshot() != former {
			t.Fatalf("seed %d: another table though nothing happened", seed)
		}
	}
}

func TestNothingIsKeptOfWhatIsGone(t *testing.T) {
	bridges, pods := installation(100)
	x := NewIndex()
	for i := range bridges {
		x.SetPod(pods[i]) // Before its bridge.
		x.SetBridge(bridges[i])
	}
	if got := x.Snapshot().Len(); got != 100 {
		t.Fatalf("%d routes of 100", got)
	}
	for i := range bridges {
		x.DeleteBridge(bridges[i])
		x.DeletePod(pods[i])
		x.DeletePod(pods[i]) // A watch may say so twice.
	}
	table := x.Snapshot()
	if left := len(x.bridges) + len(x.pods) + len(x.claims) + len(x.podsOf) + len(x.users) + len(x.dirty) + len(x.routes); left != 0 {
		t.Errorf("%d entries are left", left)
	}
	if diff := cmp.Diff([]string{"0 routes"}, dump(table)); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	for i := range table.keys {
		if len(table.keys[i])+len(table.backends[i])+len(table.subjects[i]) != 0 {
			t.Errorf("shard %d is not empty", i)
		}
	}
}

func TestShardsAreFilledEvenly(t *testing.T) {
	var count [shards]int
	for i := range 10_000 {
		count[shardOf(fmt.Sprintf("user-%d", i))]++
	}
	if most := slices.Max(count[:]); most > 80 {
		t.Errorf("the fullest shard has %d of 10,000 names, want about 40", most)
	}
}

// A pod becomes ready, or not, among 10,000.
func BenchmarkChange(b *testing.B) {
	bridges, pods := installation(10_000)
	x := NewIndex()
	for i := range bridges {
		x.SetBridge(bridges[i])
		x.SetPod(pods[i])
	}
	x.Snapshot()
	unready := pods[5000].DeepCopy()
	unready.Status.Conditions[0].Status = corev1.ConditionFalse
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		x.SetPod([]*corev1.Pod{unready, pods[5000]}[i%2])
		x.Snapshot()
	}
}

func BenchmarkLookup(b *testing.B) {
	t := Build(installation(10_000))
	user := v1alpha1.UserID("user-5000")
	id := strings.Clone(string(user))
	for b.Loop() {
		if _, ok := t.Lookup(user); !ok || len(t.Keys(id)) != 1 {
			b.Fatal("no route")
		}
	}
}

func BenchmarkSubjects(b *testing.B) {
	t := Build(installation(10_000))
	key := oauth.KeyOf(provider, "user-5000")
	b.ReportAllocs()
	for b.Loop() {
		if len(t.Subjects(key)) != 1 {
			b.Fatal("nobody")
		}
	}
}
