// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package sealing_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	bridgeac "github.com/hostedbridge/hostedbridge/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// setAccess takes the access of a bridge's user away, or gives it back, as an administrator and
// then the operator do.
func (f *fixture) setAccess(t *testing.T, b *v1alpha1.HostedBridge, a v1alpha1.Access) {
	t.Helper()
	p := &v1alpha1.BridgePerson{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.Settings.Namespace, Name: access.UserName(b.User())},
		Spec:       v1alpha1.BridgePersonSpec{User: b.User()},
	}
	testenv.ExpectPresent(t, f.Client, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.Settings.Namespace}}, p)
	testenv.ExpectChanged(t, f.Client, p, func() { p.Spec.Access = a })
	f.sayAccess(t, b, a)
}

// sayAccess writes what the operator writes when people lose their access, or get it again.
func (f *fixture) sayAccess(t *testing.T, b *v1alpha1.HostedBridge, a v1alpha1.Access) {
	t.Helper()
	status := bridgeac.HostedBridgeStatus()
	if a != v1alpha1.AccessAllowed {
		status.WithAccess(bridgeac.BridgeAccess().WithState(a).WithSince(metav1.NewTime(f.clock.Now())))
	}
	ac := bridgeac.HostedBridge(b.Name, b.Namespace).WithStatus(status)
	must.Succeed(t, f.Status().Apply(t.Context(), ac, client.FieldOwner(v1alpha1.FieldOwnerOperator), client.ForceOwnership))
	testenv.ExpectExists(t, f.Client, b)
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

// TestTheOperatorsWordAloneDestroysNothing has the operator say that people left who did not.
func TestTheOperatorsWordAloneDestroysNothing(t *testing.T) {
	f := newFixture(t)
	b := f.bridge(t, "alice")
	f.set(t, b, "OWN", "o")
	f.setAccess(t, b, v1alpha1.AccessAllowed)
	f.sayAccess(t, b, v1alpha1.AccessOffboarded)
	if s := f.reconcile(t, b); s.RetainedUntil != nil {
		t.Errorf("the time begins: %+v", s)
	}
	f.clock.SetTime(f.clock.Now().Add(2 * f.Settings.Retention))
	got, err := f.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
	if err != nil || got.RequeueAfter != time.Minute {
		t.Errorf("again after %s, error %v", got.RequeueAfter, err)
	}
	f.expect(t, b, "OWN=o")
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
