// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// record reads the BridgePerson by which administrators take the access of a user away.
func (i *installation) record(b *v1alpha1.HostedBridge) (*v1alpha1.BridgePerson, error) {
	p := &v1alpha1.BridgePerson{}
	return p, i.client.Get(i.t.Context(), client.ObjectKey{Namespace: i.options.Namespace, Name: access.UserName(b.User())}, p)
}

// audited returns the steps of a user that are in the audit trail.
func (i *installation) audited(b *v1alpha1.HostedBridge) []string {
	i.t.Helper()
	p := must.Value(i.record(b))(i.t)
	var steps []string
	for _, a := range p.Status.Audited {
		steps = append(steps, a.Step)
	}
	return steps
}

func TestAccessOfTheAdminSurface(t *testing.T) {
	t.Parallel()
	first, second := startTwo(t)
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: first.namespace, Name: first.namespace},
		Spec:       v1alpha1.HostedBridgeSpec{APIKeys: []v1alpha1.APIKey{{ID: "manifest0000", Hash: "sha256:" + strings.Repeat("0a", 32)}}},
	}
	testenv.ExpectApplied(t, first.client, b)
	path := "users/" + string(b.User()) + "/access"
	var report access.Report
	first.await("the user", func() bool { return first.admin("GET", path, "", &report) == http.StatusOK })
	if report.Access != v1alpha1.AccessAllowed || report.Effective != v1alpha1.AccessAllowed || report.Bridge.Keys != 1 || report.Steps != nil {
		t.Errorf("before: %+v", report)
	}
	var made struct{ Key string }
	if status := first.admin("POST", "users/"+string(b.User())+"/keys", `{}`, &made); status != http.StatusCreated {
		t.Fatalf("a key: %d", status)
	}
	opens := func(want int) {
		t.Helper()
		for _, replica := range []*installation{first, second} {
			replica.await("the key", func() bool { return replica.health(b, made.Key) == want })
		}
	}
	set := func(body string) {
		t.Helper()
		report = access.Report{}
		if status := first.admin("PUT", path, body, &report); status != http.StatusOK {
			t.Fatalf("%s: %d", body, status)
		}
	}
	steps := func(want ...string) {
		t.Helper()
		first.await("the steps in the audit trail", func() bool { return slices.Equal(first.audited(b), want) })
	}
	opens(http.StatusOK)

	set(`{"access": "Offboarded", "dryRun": true}`)
	if report.Effective != v1alpha1.AccessOffboarded || len(report.Steps) != 5 {
		t.Errorf("dry run: %+v", report)
	}
	if _, err := first.record(b); !apierrors.IsNotFound(err) {
		t.Errorf("a dry run writes a BridgePerson: %v", err)
	}
	set(`{"access": "Suspended"}`)
	if report.Access != v1alpha1.AccessSuspended || report.Effective != v1alpha1.AccessSuspended {
		t.Errorf("suspended: %+v", report)
	}
	opens(http.StatusUnauthorized)
	steps("Suspended")
	set(`{"access": "Allowed"}`)
	opens(http.StatusOK)
	steps("Allowed")

	set(`{"access": "Offboarded"}`)
	opens(http.StatusUnauthorized)
	steps("Offboarded", "LoginsEnded")
	testenv.ExpectExists(t, first.client, b)
	if len(b.Spec.APIKeys) != 1 || b.Spec.APIKeys[0].ID != "manifest0000" {
		t.Errorf("the keys are %+v", b.Spec.APIKeys)
	}
	p, err := first.record(b)
	if err != nil || p.Status.LoginsEndedTime == nil {
		t.Fatalf("%+v: %v", p, err)
	}
	set(`{"access": "Allowed"}`)
	steps("Allowed")
	if now, err := first.record(b); err != nil || !now.Status.LoginsEndedTime.Equal(p.Status.LoginsEndedTime) {
		t.Errorf("logins from before come back: %v, %v", now.Status.LoginsEndedTime, err)
	}
	opens(http.StatusUnauthorized) // The key is gone for good.
}

// TestAStepOfLeavingIsFinishedByTheNextProcess has what an ingress leaves that ends between
// two steps: only the access is written.
func TestAStepOfLeavingIsFinishedByTheNextProcess(t *testing.T) {
	t.Parallel()
	i := start(t, 8443)
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: i.namespace}}
	testenv.ExpectApplied(t, i.client, b)
	p := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: i.options.Namespace, Name: access.UserName(b.User())}}
	p.Spec = v1alpha1.BridgePersonSpec{User: b.User(), Access: v1alpha1.AccessOffboarded}
	testenv.ExpectApplied(t, i.client, p)
	i.await("the steps", func() bool { return slices.Equal(i.audited(b), []string{"Offboarded", "LoginsEnded"}) })
	i.end()
	testenv.ExpectStatusChanged(t, i.client, p, func() {
		p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionStopped, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonLeavingDone, LastTransitionTime: metav1.Now()}}
	})
	i.launch()
	i.await("the step of the operator", func() bool { return slices.Equal(i.audited(b), []string{"Offboarded", "LoginsEnded", "Stopped"}) })
}

func TestAnAccessThatCannotBeSet(t *testing.T) {
	t.Parallel()
	first, _ := startTwo(t)
	for name, tt := range map[string]struct {
		user, body string
		status     int
	}{
		"nobody":             {"nobody-of-this-name", `{"access":"Suspended"}`, http.StatusNotFound},
		"another access":     {"nobody", `{"access":"Gone"}`, http.StatusUnprocessableEntity},
		"no access":          {"nobody", `{}`, http.StatusUnprocessableEntity},
		"an unknown member":  {"nobody", `{"access":"Suspended","force":true}`, http.StatusUnprocessableEntity},
		"another type":       {"nobody", `{"access":["Suspended"]}`, http.StatusUnprocessableEntity},
		"no JSON":            {"nobody", `access=Suspended`, http.StatusUnprocessableEntity},
		"too long":           {"nobody", `{"access":"` + strings.Repeat("x", 5000) + `"}`, http.StatusRequestEntityTooLarge},
		"a user of bad form": {"No_body", `{"access":"Suspended"}`, http.StatusNotFound},
	} {
		first.await(name, func() bool {
			got := first.admin("PUT", "users/"+tt.user+"/access", tt.body, nil)
			return got == tt.status
		})
	}
	if status, _ := first.send("PUT", "/admin/users/nobody/access", "wrong", `{"access":"Suspended"}`); status != http.StatusUnauthorized {
		t.Errorf("without the admin key: %d", status)
	}
}
