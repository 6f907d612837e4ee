// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// bridge returns a bridge of that user, created age seconds after the epoch.
func bridge(namespace, name string, age int, change ...func(*v1alpha1.HostedBridge)) *v1alpha1.HostedBridge {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("bridge-" + namespace + "-" + name),
		CreationTimestamp: metav1.NewTime(epoch.Add(time.Duration(age) * time.Second)),
	}}
	for _, f := range change {
		f(b)
	}
	return b
}

// pod returns a ready pod of the bridge.
func pod(b *v1alpha1.HostedBridge, name string, age int, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.Namespace, Name: name, UID: types.UID("pod-" + name),
			CreationTimestamp: metav1.NewTime(epoch.Add(time.Duration(age) * time.Second)),
			Annotations:       map[string]string{v1alpha1.AnnotationBridgeUID: string(b.UID)},
		},
		Status: corev1.PodStatus{
			PodIP:      "10.0.0.1",
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func TestBuildRoutesAUser(t *testing.T) {
	alice := bridge("one", "alice", 0)
	deleting := metav1.NewTime(epoch)
	for _, test := range []struct {
		name    string
		bridges []*v1alpha1.HostedBridge
		pods    []*corev1.Pod
		state   State // Empty: no route.
		bridge  types.UID
		pod     string
	}{
		{"to the ready pod", []*v1alpha1.HostedBridge{alice}, []*corev1.Pod{pod(alice, "a", 0)}, Ready, alice.UID, "a"},
		{"to nowhere while there is no pod", []*v1alpha1.HostedBridge{alice}, nil, Starting, alice.UID, ""},
		{"to nowhere while the pod is not ready", []*v1alpha1.HostedBridge{alice}, []*corev1.Pod{
			pod(alice, "a", 0, func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }),
		}, Starting, alice.UID, ""},
		{"to nowhere while the pod has no address", []*v1alpha1.HostedBridge{alice}, []*corev1.Pod{
			pod(alice, "a", 0, func(p *corev1.Pod) { p.Status.PodIP = "" }),
		}, Starting, alice.UID, ""},
		{"not to a pod that ends", []*v1alpha1.HostedBridge{alice}, []*corev1.Pod{
			pod(alice, "a", 0, func(p *corev1.Pod) { p.DeletionTimestamp = &deleting }),
		}, Starting, alice.UID, ""},
		{"to the newer of two ready pods", []*v1alpha1.HostedBridge{alice}, []*corev1.Pod{
			pod(alice, "new", 2), pod(alice, "old", 1),
		}, Ready, alice.UID, "new"},
		{"not to a pod of another namespace with the same annotation", []*v1alpha1.HostedBridge{alice}, []*corev1.Pod{
			pod(alice, "a", 0, func(p *corev1.Pod) { p.Namespace = "two" }),
		}, Starting, alice.UID, ""},
		{"not to a pod of an earlier bridge of the same name", []*v1alpha1.HostedBridge{alice}, []*corev1.Pod{
			pod(alice, "a", 0, func(p *corev1.Pod) { p.Annotations[v1alpha1.AnnotationBridgeUID] = "earlier" }),
		}, Starting, alice.UID, ""},
		{"not to a pod without the annotation", []*v1alpha1.HostedBridge{alice}, []*corev1.Pod{
			pod(alice, "a", 0, func(p *corev1.Pod) { p.Annotations = nil }),
		}, Starting, alice.UID, ""},
		{"nowhere when suspended, though the pod still answers", []*v1alpha1.HostedBridge{
			bridge("one", "alice", 0, func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = v1alpha1.StateSuspended }),
		}, []*corev1.Pod{pod(alice, "a", 0)}, Suspended, alice.UID, ""},
		{"nowhere when it sleeps, though the pod still answers", []*v1alpha1.HostedBridge{
			bridge("one", "alice", 0, asleep(60, nil)),
		}, []*corev1.Pod{pod(alice, "a", 0)}, Sleeping, alice.UID, ""},
		{"nowhere when it sleeps since its last call", []*v1alpha1.HostedBridge{
			bridge("one", "alice", 0, asleep(60, new(int64(60)))),
		}, nil, Sleeping, alice.UID, ""},
		{"nowhere yet when it was called in its sleep, though a pod still answers", []*v1alpha1.HostedBridge{
			bridge("one", "alice", 0, asleep(60, new(int64(61)))),
		}, []*corev1.Pod{pod(alice, "a", 0)}, Starting, alice.UID, ""},
		{"to the pod of one that slept and shall always run", []*v1alpha1.HostedBridge{
			bridge("one", "alice", 0, asleep(60, nil), func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = v1alpha1.StateRunning }),
		}, []*corev1.Pod{pod(alice, "a", 0)}, Ready, alice.UID, "a"},
		{"no more once the bridge is being deleted", []*v1alpha1.HostedBridge{
			bridge("one", "alice", 0, func(b *v1alpha1.HostedBridge) { b.DeletionTimestamp = &deleting }),
		}, []*corev1.Pod{pod(alice, "a", 0)}, "", "", ""},
		{"to the older of two bridges with that user id", []*v1alpha1.HostedBridge{
			bridge("two", "impostor", 1, func(b *v1alpha1.HostedBridge) { b.Spec.UserID = "alice" }), alice,
		}, []*corev1.Pod{pod(alice, "a", 0)}, Ready, alice.UID, "a"},
		{"to the younger one when the older is being deleted", []*v1alpha1.HostedBridge{
			bridge("one", "alice", 0, func(b *v1alpha1.HostedBridge) { b.DeletionTimestamp = &deleting }),
			bridge("two", "next", 1, func(b *v1alpha1.HostedBridge) { b.Spec.UserID = "alice" }),
		}, []*corev1.Pod{pod(alice, "a", 0)}, Starting, "bridge-two-next", ""},
		{"not by a name that is no user id", []*v1alpha1.HostedBridge{bridge("one", "alice.smith", 0)}, nil, "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := Build(test.bridges, test.pods).Lookup("alice")
			if ok != (test.state != "") {
				t.Fatalf("route exists: %v", ok)
			}
			if got.State != test.state || got.BridgeUID != test.bridge || got.PodName != test.pod {
				t.Errorf("route is %+v", got)
			}
			if (got.PodIP != "") != (test.state == Ready) {
				t.Errorf("state %s with address %q", got.State, got.PodIP)
			}
		})
	}
}

func notReady(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }

func TestACandidateIsThePodThatWillBeReadyNext(t *testing.T) {
	alice, deleting := bridge("one", "alice", 0), metav1.NewTime(epoch)
	suspended := bridge("one", "alice", 0, func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = v1alpha1.StateSuspended })
	for name, test := range map[string]struct {
		bridge *v1alpha1.HostedBridge
		pods   []*corev1.Pod
		want   string
	}{
		"none":                            {alice, nil, ""},
		"one":                             {alice, []*corev1.Pod{pod(alice, "a", 0, notReady)}, "a"},
		"one, said unready by nobody yet": {alice, []*corev1.Pod{pod(alice, "a", 0, func(p *corev1.Pod) { p.Status.Conditions = nil })}, "a"},
		"none where one is ready":         {alice, []*corev1.Pod{pod(alice, "a", 0), pod(alice, "b", 1, notReady)}, ""},
		"not without an address":          {alice, []*corev1.Pod{pod(alice, "a", 0, notReady, func(p *corev1.Pod) { p.Status.PodIP = "" })}, ""},
		"not the predecessor of one without an address": {alice, []*corev1.Pod{
			pod(alice, "a", 0, notReady), pod(alice, "b", 1, notReady, func(p *corev1.Pod) { p.Status.PodIP = "" }),
		}, ""},
		"not one that is told to end": {alice, []*corev1.Pod{pod(alice, "a", 0, notReady, func(p *corev1.Pod) { p.DeletionTimestamp = &deleting })}, ""},
		"not one that ended": {alice, []*corev1.Pod{
			pod(alice, "a", 0, notReady), pod(alice, "b", 1, notReady, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }),
			pod(alice, "c", 2, notReady, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		}, "a"},
		"the newest":                          {alice, []*corev1.Pod{pod(alice, "a", 0, notReady), pod(alice, "c", 2, notReady), pod(alice, "b", 1, notReady)}, "c"},
		"not another bridge's":                {alice, []*corev1.Pod{pod(bridge("one", "bob", 0), "a", 0, notReady)}, ""},
		"none of a suspended bridge":          {suspended, []*corev1.Pod{pod(suspended, "a", 0, notReady)}, ""},
		"none while it sleeps":                {bridge("one", "alice", 0, asleep(60, nil)), []*corev1.Pod{pod(alice, "a", 0, notReady)}, ""},
		"none while its wake is not taken up": {bridge("one", "alice", 0, asleep(60, new(int64(61)))), []*corev1.Pod{pod(alice, "a", 0, notReady)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := Build([]*v1alpha1.HostedBridge{test.bridge}, test.pods).Lookup("alice")
			if got.Candidate.PodName != test.want {
				t.Errorf("the candidate is %+v", got.Candidate)
			}
			if (got.State == Ready) != (got.PodIP != "") || test.want != "" && got.State != Starting {
				t.Errorf("state %s, address %q", got.State, got.PodIP)
			}
			at := got.At(Candidate{"x", "uid-x", "10.0.0.9"})
			want := got
			want.State, want.Candidate, want.PodName, want.PodUID, want.PodIP = Ready, Candidate{}, "x", "uid-x", "10.0.0.9"
			if at != want {
				t.Errorf("at a candidate it is %+v", at)
			}
		})
	}
}

// asleep has a bridge sleep since then, and have been used last, in seconds.
func asleep(since int64, last *int64) func(*v1alpha1.HostedBridge) {
	return func(b *v1alpha1.HostedBridge) {
		b.Spec.DesiredState = v1alpha1.StateOnDemand
		b.Status.IdleSince = &metav1.Time{Time: time.Unix(since, 0)}
		if last != nil {
			b.Status.LastActivityTime = &metav1.Time{Time: time.Unix(*last, 0)}
		}
	}
}

func TestBuildIndexesTheKeysOfOwnersOnly(t *testing.T) {
	hash := "sha256:" + strings.Repeat("0a", 32)
	expiry := metav1.NewTime(epoch)
	withKeys := func(keys ...v1alpha1.APIKey) func(*v1alpha1.HostedBridge) {
		return func(b *v1alpha1.HostedBridge) { b.Spec.UserID, b.Spec.APIKeys = "alice", keys }
	}
	table := Build([]*v1alpha1.HostedBridge{
		bridge("one", "alice", 0, withKeys(
			v1alpha1.APIKey{ID: "lasting", Hash: hash}, v1alpha1.APIKey{ID: "ending", Hash: hash, ExpiresAt: &expiry},
			v1alpha1.APIKey{ID: "broken", Hash: "sha256:short"},
		)),
		bridge("two", "impostor", 1, withKeys(v1alpha1.APIKey{ID: "stolen", Hash: hash})),
		bridge("one", "bob", 0, func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys = []v1alpha1.APIKey{{ID: "lasting", Hash: hash}} }),
	}, nil)
	count := map[string]int{}
	for _, id := range []string{"lasting", "ending", "broken", "stolen", "unknown"} {
		count[id] = len(table.Keys(id))
	}
	want := map[string]int{"lasting": 2, "ending": 1, "broken": 0, "stolen": 0, "unknown": 0}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("entries by key id (-want +got):\n%s", diff)
	}
	if got := table.Keys("ending")[0]; got.User != "alice" || !got.ExpiresAt.Equal(epoch) {
		t.Errorf("entry is %+v", got)
	}
}

const provider = "https://login.example.com"

// subjects lets those use a bridge whom the provider calls by these names.
func subjects(names ...string) func(*v1alpha1.HostedBridge) {
	return func(b *v1alpha1.HostedBridge) {
		b.Spec.OAuth = &v1alpha1.OAuthAccess{}
		for _, name := range names {
			b.Spec.OAuth.Subjects = append(b.Spec.OAuth.Subjects, v1alpha1.OAuthSubject{Issuer: provider, Subject: name})
		}
	}
}

func TestBuildIndexesTheSubjectsOfOwnersOnly(t *testing.T) {
	deleting := metav1.NewTime(epoch)
	as := func(user v1alpha1.UserID) func(*v1alpha1.HostedBridge) {
		return func(b *v1alpha1.HostedBridge) { b.Spec.UserID = user }
	}
	table := Build([]*v1alpha1.HostedBridge{
		bridge("one", "team", 0, subjects("bob", "alice")),
		bridge("one", "alice", 0, subjects("alice", "alice")),
		bridge("two", "impostor", 1, as("alice"), subjects("mallory")),
		bridge("one", "leaving", 0, subjects("alice"), func(b *v1alpha1.HostedBridge) { b.DeletionTimestamp = &deleting }),
		bridge("one", "asleep", 0, subjects("alice"), asleep(60, nil)),
		bridge("one", "nobody", 0, subjects()),
		bridge("one", "keys", 0),
	}, nil)
	for name, test := range map[string]struct {
		issuer, subject string
		want            []v1alpha1.UserID
	}{
		"someone in several bridges, in the order of the users": {provider, "alice", []v1alpha1.UserID{"alice", "asleep", "team"}},
		"someone in one":                        {provider, "bob", []v1alpha1.UserID{"team"}},
		"someone of the younger of two bridges": {provider, "mallory", nil},
		"the same name at another provider":     {"https://evil.example.com", "alice", nil},
		"the same name at it with a slash":      {provider + "/", "alice", nil},
		"a name in other letters":               {provider, "Alice", nil},
		"what the two make when put together":   {provider + "a", "lice", nil},
		"nobody":                                {provider, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, table.Subjects(oauth.KeyOf(test.issuer, test.subject))); diff != "" {
				t.Errorf("users (-want +got):\n%s", diff)
			}
		})
	}
}

// A list of subjects in another order would wake everyone who waits for a table.
func TestSubjectsInAnotherOrderAreNoChange(t *testing.T) {
	x := NewIndex()
	x.SetBridge(bridge("one", "alice", 0, subjects("one", "two", "three")))
	before := x.Snapshot()
	x.SetBridge(bridge("one", "alice", 0, subjects("three", "one", "two")))
	if x.Snapshot() != before {
		t.Error("another table that says the same")
	}
	x.SetBridge(bridge("one", "alice", 0, subjects("three", "one")))
	after := x.Snapshot()
	gone := oauth.KeyOf(provider, "two")
	if len(before.Subjects(gone)) != 1 || len(after.Subjects(gone)) != 0 {
		t.Errorf("a subject that was removed: %v, and before %v", after.Subjects(gone), before.Subjects(gone))
	}
}

// installation returns n bridges with a key, a subject and a ready pod each.
func installation(n int) ([]*v1alpha1.HostedBridge, []*corev1.Pod) {
	bridges, pods := make([]*v1alpha1.HostedBridge, n), make([]*corev1.Pod, n)
	for i := range n {
		name := fmt.Sprintf("user-%d", i)
		bridges[i] = bridge("one", name, i, func(b *v1alpha1.HostedBridge) {
			b.Spec.APIKeys = []v1alpha1.APIKey{{ID: name, Hash: "sha256:" + strings.Repeat("0a", 32)}}
			b.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: provider, Subject: name}}}
			b.Spec.Servers = []v1alpha1.Server{{Name: "one", Secrets: []v1alpha1.SecretName{"GITHUB_TOKEN"}}}
			b.Status.Secrets = &v1alpha1.SecretsStatus{Revision: "0123456789abcdef"}
		})
		pods[i] = pod(bridges[i], name, i)
	}
	return bridges, pods
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		bridges, pods := installation(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				Build(bridges, pods)
			}
		})
	}
}
