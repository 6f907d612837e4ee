// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/bridgeperson"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/test/health"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// personRecord returns a BridgePerson of the installation.
func (f *fixture) personRecord(name string, spec v1alpha1.BridgePersonSpec) *v1alpha1.BridgePerson {
	return &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: f.Settings.Namespace, Name: name}, Spec: spec}
}

func (f *fixture) setAccess(t *testing.T, p *v1alpha1.BridgePerson, a v1alpha1.Access) {
	t.Helper()
	testenv.ExpectChanged(t, f.Client, p, func() { p.Spec.Access = a })
}

// followPerson reconciles the person as its controller does, and says in a few words how far
// the person has left.
func (f *fixture) followPerson(t *testing.T, p *v1alpha1.BridgePerson) string {
	t.Helper()
	r := &bridgeperson.Reconciler{Client: f.Client, Clock: f.clock, Namespace: f.Settings.Namespace}
	testenv.ExpectReconciled(t, reconcile.AsReconciler(f.Client, r), p)
	testenv.ExpectExists(t, f.Client, p)
	var words []string
	for _, kind := range []string{v1alpha1.ConditionStopped, v1alpha1.ConditionSecretsDestroyed, v1alpha1.ConditionDeleted, v1alpha1.ConditionLeft} {
		if c := meta.FindStatusCondition(p.Status.Conditions, kind); c != nil {
			words = append(words, fmt.Sprintf("%s=%s:%s", kind, c.Status, c.Reason))
		}
	}
	return strings.Join(words, " ")
}

// endLogins writes what the ingress writes once keys and logins ended.
func (f *fixture) endLogins(t *testing.T, p *v1alpha1.BridgePerson) {
	t.Helper()
	object := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}}
	status := apply.Status(v1alpha1.BridgePersonStatus{LoginsEndedTime: new(metav1.NewTime(f.clock.Now()))})
	must.Succeed(t, f.Status().Patch(t.Context(), object, status, client.FieldOwner("hosted-bridge-ingress-leaving"), client.ForceOwnership))
}

// running creates a bridge and brings its pod up.
func (f *fixture) running(t *testing.T, b *v1alpha1.HostedBridge) {
	t.Helper()
	testenv.ExpectApplied(t, f.Client, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseRunning, nil)
}

func TestABridgeStopsWhileItsPeopleHaveNoAccess(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) { s.DesiredState = v1alpha1.StateRunning })
	f.running(t, b)
	user := f.personRecord("user."+string(b.User()), v1alpha1.BridgePersonSpec{User: b.User(), Access: v1alpha1.AccessSuspended})
	testenv.ExpectApplied(t, f.Client, user)

	f.expect(t, b, v1alpha1.PhasePending, map[string]string{v1alpha1.ConditionWorkloadAvailable: "False Progressing"})
	if got := f.followPerson(t, user); got != "Stopped=False:PodsEnding" {
		t.Error(got)
	}
	health.Expect(t, user, health.InProgress)
	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseSuspended, map[string]string{v1alpha1.ConditionReady: "True Suspended"})
	since := b.Status.Access.Since
	if b.Status.Access.State != v1alpha1.AccessSuspended || b.Spec.DesiredState != v1alpha1.StateRunning {
		t.Errorf("access %+v, spec %s", b.Status.Access, b.Spec.DesiredState)
	}
	if got := f.followPerson(t, user); got != "Stopped=True:Done" {
		t.Error(got)
	}
	health.Expect(t, user, health.Current)

	f.clock.Step(time.Minute)
	before := f.versions(t, b)
	testenv.ExpectReconciled(t, f.reconciler, b)
	testenv.ExpectExists(t, f.Client, b)
	if diff := cmp.Diff(before, f.versions(t, b)); diff != "" || !b.Status.Access.Since.Equal(&since) {
		t.Errorf("something is written although nothing changed:\n%s", diff)
	}

	f.setAccess(t, user, v1alpha1.AccessAllowed)
	testenv.ExpectReconciled(t, f.reconciler, b)
	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseRunning, nil)
	if b.Status.Access != nil || f.followPerson(t, user) != "" || user.Status.Bridges != nil {
		t.Errorf("allowed again: %+v, %+v", b.Status.Access, user.Status)
	}
}

// offboarded is the fixture of a person who has a bridge that their first login made, and
// one together with somebody else.
func (f *fixture) offboarded(t *testing.T) (own, shared *v1alpha1.HostedBridge, person *v1alpha1.BridgePerson) {
	t.Helper()
	subject := func(names ...string) func(*v1alpha1.HostedBridgeSpec) {
		return func(s *v1alpha1.HostedBridgeSpec) {
			s.OAuth = &v1alpha1.OAuthAccess{}
			for _, n := range names {
				s.OAuth.Subjects = append(s.OAuth.Subjects, v1alpha1.OAuthSubject{Issuer: "https://idp.example.com", Subject: f.namespace + n})
			}
			s.DesiredState = v1alpha1.StateRunning
		}
	}
	own, shared = f.bridge("own", subject("alice")), f.bridge("shared", subject("alice", "bob"))
	own.Labels = map[string]string{v1alpha1.LabelOnboarded: "true"}
	f.running(t, own)
	f.running(t, shared)
	person = f.personRecord("p-alice", v1alpha1.BridgePersonSpec{Issuer: "https://idp.example.com", Subject: f.namespace + "alice", Access: v1alpha1.AccessOffboarded})
	testenv.ExpectApplied(t, f.Client, person)
	return own, shared, person
}

func TestAPersonWhoIsOffboardedLeavesStepByStep(t *testing.T) {
	f := newFixture(t)
	own, shared, person := f.offboarded(t)
	f.expect(t, own, v1alpha1.PhasePending, nil)
	f.expect(t, shared, v1alpha1.PhaseRunning, nil)
	f.roll(t, own)
	f.expect(t, own, v1alpha1.PhaseOffboarded, nil)
	f.followPerson(t, person)
	health.Expect(t, person, health.InProgress) // Logins are left to end.
	f.endLogins(t, person)
	if got := f.followPerson(t, person); got != "Stopped=True:Done SecretsDestroyed=False:Retained Deleted=False:BridgesExist Left=False:Retained" {
		t.Error(got)
	}
	health.Expect(t, person, health.Current) // The retention time alone is left.
	end := metav1.NewTime(f.clock.Now().Add(time.Hour).Truncate(time.Second))
	f.report(t, own, 1, v1alpha1.SecretsStatus{Count: 2, RetainedUntil: &end})
	f.followPerson(t, person)
	for _, b := range person.Status.Bridges {
		if b.Shared != (b.Name == "shared") || b.Name == "own" && !b.SecretsRetainedUntil.Equal(&end) {
			t.Errorf("%+v", b)
		}
	}
	f.report(t, own, 1, v1alpha1.SecretsStatus{RetainedUntil: &end, DestroyedTime: &end})
	f.followPerson(t, person)
	if err := f.Get(t.Context(), client.ObjectKeyFromObject(own), own); !apierrors.IsNotFound(err) {
		t.Fatalf("the bridge that a login made is there: %v", err)
	}
	if got := f.followPerson(t, person); got != "Stopped=True:Done SecretsDestroyed=True:Done Deleted=True:Done Left=True:Done" {
		t.Error(got)
	}
	left := meta.FindStatusCondition(person.Status.Conditions, v1alpha1.ConditionLeft)
	if len(person.Status.Bridges) != 2 || !strings.Contains(left.Message, f.namespace+"/shared") || !strings.Contains(left.Message, "replace") {
		t.Errorf("%+v: %s", person.Status.Bridges, left.Message)
	}
	f.expect(t, shared, v1alpha1.PhaseRunning, nil)
	version := person.ResourceVersion
	f.clock.Step(time.Hour)
	f.followPerson(t, person)
	if person.ResourceVersion != version {
		t.Error("the status is written although nothing changed")
	}
}

func TestABridgeOfAManifestStaysWhenItsUserIsOffboarded(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) { s.DesiredState = v1alpha1.StateRunning })
	f.running(t, b)
	user := f.personRecord("user."+string(b.User()), v1alpha1.BridgePersonSpec{User: b.User(), Access: v1alpha1.AccessOffboarded})
	testenv.ExpectApplied(t, f.Client, user)
	testenv.ExpectReconciled(t, f.reconciler, b)
	f.roll(t, b)
	f.expect(t, b, v1alpha1.PhaseOffboarded, nil)
	f.report(t, b, 1, v1alpha1.SecretsStatus{DestroyedTime: new(metav1.NewTime(f.clock.Now()))})
	f.endLogins(t, user)
	if got := f.followPerson(t, user); got != "Stopped=True:Done SecretsDestroyed=True:Done Deleted=True:Done Left=True:Done" {
		t.Error(got)
	}
	if c := meta.FindStatusCondition(user.Status.Conditions, v1alpha1.ConditionDeleted); !strings.Contains(c.Message, f.namespace+"/alice stays") {
		t.Error(c.Message)
	}
	testenv.ExpectExists(t, f.Client, b)
}

func TestACrashWhileAPersonLeavesIsRepaired(t *testing.T) {
	const writes = 3 // Status, deleted bridge, status.
	run := func(t *testing.T, n int) string {
		f := newFixture(t)
		own, _, person := f.offboarded(t)
		testenv.ExpectReconciled(t, f.reconciler, own)
		f.roll(t, own)
		f.expect(t, own, v1alpha1.PhaseOffboarded, nil)
		f.endLogins(t, person)
		f.report(t, own, 1, v1alpha1.SecretsStatus{DestroyedTime: new(metav1.NewTime(f.clock.Now()))})
		sound := f.Client
		c := &testenv.Crash{Limit: n}
		f.use(indexed(c.Client(sound.(testenv.Indexed).WithWatch)))
		r := reconcile.AsReconciler(f.Client, &bridgeperson.Reconciler{Client: f.Client, Clock: f.clock, Namespace: f.Settings.Namespace})
		for range 2 {
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(person)}); err != nil && !errors.Is(err, testenv.ErrCrash) {
				t.Fatal(err)
			}
		}
		if !c.Dead() && c.Writes != writes {
			t.Errorf("%d writes, want %d", c.Writes, writes)
		}
		f.use(sound)
		f.followPerson(t, person)
		return f.followPerson(t, person)
	}
	want := run(t, 1000)
	if !strings.Contains(want, "Left=True") {
		t.Error(want)
	}
	for n := 1; n <= writes; n++ {
		if got := run(t, n); got != want {
			t.Errorf("after write %d: %s\nwithout a crash: %s", n, got, want)
		}
	}
}

func TestTheAPIServerRefusesABridgePersonThatIsNobodyOrTwo(t *testing.T) {
	f := newFixture(t)
	for name, spec := range map[string]v1alpha1.BridgePersonSpec{
		"nobody": {}, "both": {User: "alice", Issuer: "https://a", Subject: "x"}, "half": {Issuer: "https://a"},
		"a bad user": {User: "Alice"}, "a bad access": {User: "alice", Access: "Gone"},
	} {
		if err := f.Create(t.Context(), f.personRecord("refused", spec)); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := f.personRecord("p-1", v1alpha1.BridgePersonSpec{Issuer: "https://a", Subject: "x"})
	testenv.ExpectApplied(t, f.Client, p)
	for name, change := range map[string]func(*v1alpha1.BridgePersonSpec){
		"another subject": func(s *v1alpha1.BridgePersonSpec) { s.Subject = "y" },
		"a user":          func(s *v1alpha1.BridgePersonSpec) { *s = v1alpha1.BridgePersonSpec{User: "alice"} },
	} {
		changed := p.DeepCopy()
		change(&changed.Spec)
		if err := f.Update(t.Context(), changed); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "stays the same person") {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.Spec.Access = v1alpha1.AccessSuspended
	if err := f.Update(t.Context(), p); err != nil {
		t.Error(err)
	}
}
