// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// TestBothReplicasSayWhatHasChangedSinceTheLastVisit has a user visit at one replica, an
// administrator look at them and approve a request by kubectl, which writes no time, and the user
// come back at the other replica two hours later.
func TestBothReplicasSayWhatHasChangedSinceTheLastVisit(t *testing.T) {
	t.Parallel()
	first, second := startTwo(t, "--login-requests-per-second=0")
	b := first.offering("jira")
	user := string(b.User())
	var made struct{ Key string }
	for _, i := range []*installation{first, second} {
		i.await("the user", func() bool { return i.admin("POST", "users/"+user+"/keys", `{}`, &made) == http.StatusCreated })
	}
	at := &consoleVisitor{t, "http://" + first.public, must.Value(cookiejar.New(nil))(t)}
	first.await("a login", func() bool {
		status, page := at.submit("/login", "/login", "key", made.Key, "next", "/catalog")
		return status == http.StatusOK && strings.Contains(page, "jira")
	})
	const section = "Since your last visit"
	visits := func() *v1alpha1.Visits {
		testenv.ExpectExists(t, first.client, b)
		return b.Status.Visits
	}
	if status, page := at.send(http.MethodGet, "/", nil); status != http.StatusOK || strings.Contains(page, section) {
		t.Fatalf("the first visit: %d %s", status, page)
	}
	if v := visits(); v == nil || v.Before != nil || len(v.Last.Servers) != 1 || v.Last.Servers[0].Name != "jira" || v.Last.Servers[0].State != v1alpha1.SeenOffered {
		t.Fatalf("the first visit is kept as %+v", v)
	}
	if status, answer := first.send("PUT", "/u/"+user+"/requests/jira", made.Key, `{"reason": "tickets"}`); status != http.StatusOK {
		t.Fatalf("ask: %d %s", status, answer)
	}
	q := &v1alpha1.BridgeRequest{ObjectMeta: metav1.ObjectMeta{Namespace: first.options.Namespace, Name: v1alpha1.RequestName(b.User(), "jira")}}
	testenv.ExpectExists(t, first.client, q)
	before := q.DeepCopy()
	q.Spec.Decision = &v1alpha1.RequestDecision{Verdict: v1alpha1.RequestApproved, Reason: "Welcome."}
	must.Succeed(t, first.client.Patch(t.Context(), q, client.MergeFrom(before), client.FieldOwner("kubectl-patch")))
	testenv.ExpectStatusChanged(t, first.client, b, func() {
		b.Status.Visits.Last.Time = metav1.NewTime(time.Now().Add(-2 * time.Hour))
		b.Status.Effective.Servers = append(b.Status.Effective.Servers, v1alpha1.EffectiveServer{Name: "wiki", Profile: "team", Use: v1alpha1.ServerOptional, Reason: v1alpha1.ReasonServerOff})
	})
	noted := visits().Last.Time

	if status, page := administratorOf(t, first).send(http.MethodGet, "/console/people/"+user, nil); status != http.StatusOK {
		t.Fatalf("the page of administrators: %d %s", status, page)
	}
	second.await("what a program is told", func() bool {
		status, answer := second.send("GET", "/u/"+user+"/news", made.Key, "")
		return status == http.StatusOK && strings.Contains(answer, `"request_approved"`) && strings.Contains(answer, "The server wiki is offered to you.")
	})
	if v := visits(); v.Before != nil || !v.Last.Time.Equal(&noted) {
		t.Fatalf("who only looks is taken for the user: %+v", v)
	}

	first.await("the offer at the other replica", func() bool {
		_, answer := first.send("GET", "/u/"+user+"/news", made.Key, "")
		return strings.Contains(answer, "wiki")
	})
	for _, i := range []*installation{second, first} {
		back := &consoleVisitor{t, "http://" + i.public, at.jar}
		_, page := back.send(http.MethodGet, "/", nil)
		for _, says := range []string{section, "Your request for jira was approved. Turn it on.", "Welcome.", "The server wiki is offered to you."} {
			if !strings.Contains(page, says) {
				t.Errorf("the page does not say %q: %s", says, page)
			}
		}
	}
	if v := visits(); v.Before == nil || !v.Before.Time.Equal(&noted) || len(v.Last.Servers) != 2 {
		t.Fatalf("the second visit is kept as %+v", v)
	}
	testenv.ExpectStatusChanged(t, first.client, b, func() { b.Status.Visits.Last.Time = metav1.NewTime(time.Now().Add(-2 * time.Hour)) })
	if _, page := at.send(http.MethodGet, "/", nil); !strings.Contains(page, "Your request for jira was approved.") || strings.Contains(page, "wiki is offered") {
		t.Errorf("the third visit, which by its time is before the approval: %s", page)
	}
	if status, answer := first.send("PUT", "/u/"+user+"/visit", made.Key, ""); status != http.StatusOK || strings.Contains(answer, "wiki") {
		t.Errorf("a program's visit: %d %s", status, answer)
	}
}
