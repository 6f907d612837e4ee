// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package sealing_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// setAccess writes what an administrator writes when a user loses their access, or gets it again.
func (f *fixture) setAccess(t *testing.T, b *v1alpha1.HostedBridge, a v1alpha1.Access) {
	t.Helper()
	p := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: f.Settings.Namespace, Name: "user." + string(b.User())}}
	err := f.Get(t.Context(), client.ObjectKeyFromObject(p), p)
	if apierrors.IsNotFound(err) {
		p.Spec = v1alpha1.BridgePersonSpec{User: b.User(), Access: a}
		testenv.ExpectApplied(t, f.Client, p)
		return
	}
	must.Succeed(t, err)
	testenv.ExpectChanged(t, f.Client, p, func() { p.Spec.Access = a })
}

// says writes into the status of a bridge whatever other processes can write there.
func (f *fixture) says(t *testing.T, b *v1alpha1.HostedBridge, until time.Time, destroyed *metav1.Time) {
	t.Helper()
	testenv.ExpectStatusChanged(t, f.Client, b, func() {
		b.Status.Access = &v1alpha1.BridgeAccess{State: v1alpha1.AccessOffboarded, Since: metav1.NewTime(until)}
		b.Status.Secrets.RetainedUntil, b.Status.Secrets.DestroyedTime = new(metav1.NewTime(until)), destroyed
	})
}

func (f *fixture) secretsLeft(t *testing.T, b *v1alpha1.HostedBridge) int {
	t.Helper()
	var list corev1.SecretList
	must.Succeed(t, f.List(t.Context(), &list, client.InNamespace(f.namespace)))
	left := 0
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], b) {
			left++
		}
	}
	return left
}

func TestSecretsOfPeopleWhoLeftAreDestroyedAfterTheRetention(t *testing.T) {
	f := newFixture(t)
	f.secret(t, "given", map[string]string{"GIVEN": "g"})
	b := f.bridge(t, "alice", v1alpha1.SecretRef{Name: "given"})
	f.set(t, b, "OWN", "o")
	f.reconcile(t, b)

	f.setAccess(t, b, v1alpha1.AccessSuspended)
	if s := f.reconcile(t, b); s.RetainedUntil != nil || s.Count != 2 {
		t.Errorf("suspended: %+v", s)
	}
	f.setAccess(t, b, v1alpha1.AccessOffboarded)
	end := f.clock.Now().Add(f.Settings.Retention)
	if s := f.reconcile(t, b); s.RetainedUntil == nil || !s.RetainedUntil.Time.Equal(end) || s.DestroyedTime != nil || s.Count != 2 {
		t.Errorf("offboarded: %+v", s)
	}
	f.clock.SetTime(end.Add(-time.Minute))
	f.keys.set(t, 1, 2) // Until then secrets are looked after as others are.
	got, err := f.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
	if err != nil || got.RequeueAfter != time.Minute {
		t.Errorf("a minute before the end: again after %s, error %v", got.RequeueAfter, err)
	}
	f.expect(t, b, "GIVEN*=g", "OWN=o")

	f.clock.SetTime(end)
	s := f.reconcile(t, b)
	if s.DestroyedTime == nil || !s.DestroyedTime.Time.Equal(end) || s.Count != 0 || s.Revision != "" || b.Status.KeyVersion != nil {
		t.Errorf("at the end: %+v, key version %v", s, b.Status.KeyVersion)
	}
	if left := f.secretsLeft(t, b); left != 0 {
		t.Errorf("%d Secrets are left", left)
	}
	f.clock.SetTime(end.Add(time.Hour))
	if again := f.reconcile(t, b); !again.DestroyedTime.Equal(s.DestroyedTime) || f.secretsLeft(t, b) != 0 {
		t.Errorf("later: %+v", again)
	}

	// Somebody who comes back begins with what the spec gives.
	f.setAccess(t, b, v1alpha1.AccessAllowed)
	if s := f.reconcile(t, b); s.DestroyedTime != nil || s.RetainedUntil != nil || s.Count != 1 {
		t.Errorf("allowed again: %+v", s)
	}
	f.expect(t, b, "GIVEN*=g")
}

func TestSomebodyWhoComesBackInTimeKeepsTheirSecrets(t *testing.T) {
	f := newFixture(t)
	b := f.bridge(t, "alice")
	f.set(t, b, "OWN", "o")
	f.setAccess(t, b, v1alpha1.AccessOffboarded)
	f.reconcile(t, b)
	f.clock.SetTime(f.clock.Now().Add(f.Settings.Retention / 2))
	f.setAccess(t, b, v1alpha1.AccessAllowed)
	if s := f.reconcile(t, b); s.RetainedUntil != nil {
		t.Errorf("%+v", s)
	}
	f.expect(t, b, "OWN=o")
	f.setAccess(t, b, v1alpha1.AccessOffboarded)
	if s := f.reconcile(t, b); !s.RetainedUntil.Time.Equal(f.clock.Now().Add(f.Settings.Retention)) {
		t.Errorf("the time begins again: %+v", s)
	}
}

func TestNobodysWordDestroysSecretsBeforeTheRetentionIsOver(t *testing.T) {
	f := newFixture(t)
	b := f.bridge(t, "alice")
	f.set(t, b, "OWN", "o")
	f.reconcile(t, b)
	past := metav1.NewTime(f.clock.Now().Add(-time.Hour))
	for _, destroyed := range []*metav1.Time{nil, &past} {
		f.says(t, b, past.Time, destroyed)
		if s := f.reconcile(t, b); s.RetainedUntil != nil || s.DestroyedTime != nil || s.Count != 1 {
			t.Errorf("of a user who has access: %+v", s)
		}
	}
	f.setAccess(t, b, v1alpha1.AccessOffboarded)
	end := f.clock.Now().Add(f.Settings.Retention)
	for _, at := range []time.Time{f.clock.Now(), end.Add(-time.Second)} {
		f.clock.SetTime(at)
		f.says(t, b, past.Time, &past)
		if s := f.reconcile(t, b); s.RetainedUntil == nil || !s.RetainedUntil.Time.Equal(end) || s.DestroyedTime != nil || s.Count != 1 {
			t.Errorf("of a user who left, at %s: %+v", at, s)
		}
	}
	f.expect(t, b, "OWN=o")
	f.clock.SetTime(end)
	f.says(t, b, end.Add(time.Hour), nil)
	if s := f.reconcile(t, b); s.DestroyedTime == nil || f.secretsLeft(t, b) != 0 {
		t.Errorf("at the end: %+v", s)
	}
}

// TestATimeAheadOfTheRetentionBeginsAgain has a keybroker whose clock is a year ahead, for a
// while.
func TestATimeAheadOfTheRetentionBeginsAgain(t *testing.T) {
	f := newFixture(t)
	b := f.bridge(t, "alice")
	f.set(t, b, "OWN", "o")
	f.setAccess(t, b, v1alpha1.AccessOffboarded)
	right := f.clock.Now()
	f.clock.SetTime(right.AddDate(1, 0, 0))
	f.reconcile(t, b)
	f.clock.SetTime(right)
	end := right.Add(f.Settings.Retention)
	if s := f.reconcile(t, b); !s.RetainedUntil.Time.Equal(end) {
		t.Errorf("until %s, want %s", s.RetainedUntil, end)
	}
	f.clock.SetTime(end)
	if s := f.reconcile(t, b); s.DestroyedTime == nil || f.secretsLeft(t, b) != 0 {
		t.Errorf("at the end: %+v", s)
	}
}

func TestAPersonWithoutSecretsLeavesAfterTheRetention(t *testing.T) {
	f := newFixture(t)
	b := f.bridge(t, "alice")
	f.setAccess(t, b, v1alpha1.AccessOffboarded)
	end := f.clock.Now().Add(f.Settings.Retention)
	for _, step := range []struct {
		at        time.Time
		destroyed bool
	}{{f.clock.Now(), false}, {end.Add(-time.Second), false}, {end, true}} {
		f.clock.SetTime(step.at)
		if s := f.reconcile(t, b); s.RetainedUntil == nil || !s.RetainedUntil.Time.Equal(end) || (s.DestroyedTime != nil) != step.destroyed {
			t.Errorf("at %s: %+v", step.at, s)
		}
	}
	if left := f.secretsLeft(t, b); left != 0 {
		t.Errorf("there are %d Secrets", left)
	}
}

func TestTheKeybrokerSeesItselfWhoLeaves(t *testing.T) {
	f := newFixture(t)
	f.start(t)
	b := f.bridge(t, "alice")
	f.set(t, b, "OWN", "o")
	retained := func(want bool) func() bool {
		return func() bool {
			testenv.ExpectExists(t, f.Client, b)
			return b.Status.Secrets != nil && (b.Status.Secrets.RetainedUntil != nil) == want
		}
	}
	wait.Until(t, "the bridge is reported", retained(false))
	f.setAccess(t, b, v1alpha1.AccessOffboarded)
	wait.Until(t, "its secrets are retained", retained(true))
	f.setAccess(t, b, v1alpha1.AccessAllowed)
	wait.Until(t, "its user is back", retained(false))
	if l := must.Value(f.store.List(t.Context(), ref(b)))(t); !l.RetainedUntil.IsZero() {
		t.Errorf("still noted: %s", l.RetainedUntil)
	}
}
