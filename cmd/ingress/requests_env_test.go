// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// offering returns a HostedBridge to which a profile offers servers on request, as the
// operator writes it.
func (i *installation) offering(servers ...string) *v1alpha1.HostedBridge {
	i.t.Helper()
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: i.namespace}}
	testenv.ExpectApplied(i.t, i.client, b)
	testenv.ExpectStatusChanged(i.t, i.client, b, func() {
		b.Status.Effective = &v1alpha1.EffectiveSettings{}
		for _, s := range servers {
			b.Status.Effective.Servers = append(b.Status.Effective.Servers, v1alpha1.EffectiveServer{
				Name: s, Profile: "team", Use: v1alpha1.ServerOnRequest, Reason: v1alpha1.ReasonNotApproved,
			})
		}
	})
	return b
}

func TestAServerIsAskedForAndApproved(t *testing.T) {
	t.Parallel()
	i, _ := startTwo(t)
	b := i.offering("jira", "wiki")
	user := string(b.User())
	path, one := "/u/"+user+"/requests", "requests/"+user+"/jira"
	var made struct{ Key string }
	i.await("the user", func() bool { return i.admin("POST", "users/"+user+"/keys", `{}`, &made) == http.StatusCreated })
	i.await("the offer", func() bool {
		status, answer := i.send("GET", path, made.Key, "")
		return status == http.StatusOK && strings.Contains(answer, `"offered":["jira","wiki"]`)
	})
	expect := func(method, path, body string, status int, says string) {
		t.Helper()
		if got, answer := i.send(method, path, made.Key, body); got != status || !strings.Contains(answer, says) {
			t.Errorf("%s %s: %d %s, want %d %s", method, path, got, answer, status, says)
		}
	}
	expect("PUT", path+"/other", `{"reason": "x"}`, http.StatusNotFound, "request_not_found")
	expect("PUT", path+"/jira", `{"reason": "`+strings.Repeat("ü", 501)+`"}`, http.StatusUnprocessableEntity, "at most 500 characters")
	expect("PUT", path+"/jira", `{"why": "x"}`, http.StatusUnprocessableEntity, "request_invalid")
	expect("PUT", path+"/jira", `{"reason": "tickets"}`, http.StatusOK, `"state":"open"`)
	expect("PUT", path+"/jira", `{"reason": "tickets"}`, http.StatusConflict, "request_open")
	expect("GET", path, "", http.StatusOK, `"offered":["wiki"]`)
	if status, _ := i.send("PUT", path+"/wiki", "hb_AAAAAAAAAAAA_"+strings.Repeat("A", 40), "{}"); status != http.StatusUnauthorized {
		t.Errorf("without a valid key: %d", status)
	}

	admin := func(method, path, body string, status int, says string) {
		t.Helper()
		if got, answer := i.send(method, "/admin/"+path, testAdminKey, body); got != status || !strings.Contains(answer, says) {
			t.Errorf("%s %s: %d %s, want %d %s", method, path, got, answer, status, says)
		}
	}
	admin("GET", "requests?state=open", "", http.StatusOK, `"user":"`+user+`","server":"jira","state":"open","reason":"tickets"`)
	admin("GET", "requests?state=closed", "", http.StatusBadRequest, "open, approved, refused")
	admin("PUT", one, `{"verdict": "Refused"}`, http.StatusUnprocessableEntity, "a refusal needs a reason")
	admin("PUT", one, `{"verdict": "Maybe", "reason": "x"}`, http.StatusUnprocessableEntity, "Approved or Refused")
	admin("PUT", "requests/"+user+"/wiki", `{"verdict": "Approved"}`, http.StatusNotFound, "request_not_found")
	admin("PUT", one, `{"verdict": "Refused", "reason": "use the team's"}`, http.StatusOK, `"state":"refused"`)
	expect("GET", path, "", http.StatusOK, `"answer":"use the team's"`)
	expect("PUT", path+"/jira", `{"reason": "for myself"}`, http.StatusOK, `"state":"open"`)
	admin("PUT", one, `{"verdict": "Approved"}`, http.StatusOK, `"state":"approved"`)
	expect("PUT", path+"/jira", ``, http.StatusConflict, "request_approved")
	q := &v1alpha1.BridgeRequest{ObjectMeta: metav1.ObjectMeta{Namespace: i.options.Namespace, Name: v1alpha1.RequestName(b.User(), "jira")}}
	testenv.ExpectExists(t, i.client, q)
	if d := q.Spec.Decision; d == nil || d.Verdict != v1alpha1.RequestApproved || d.Time.IsZero() || q.Spec.Reason != "for myself" {
		t.Errorf("the request is %+v", q.Spec)
	}
	i.expectActs(b, "admin/requests.approve", "user/requests.create", "admin/requests.refuse", "user/requests.create", "admin/keys.create")

	expect("DELETE", path+"/wiki", "", http.StatusNotFound, "request_not_found")
	if status := i.admin("PUT", "users/"+user+"/access", `{"access": "Offboarded"}`, nil); status != http.StatusOK {
		t.Fatalf("offboard: %d", status)
	}
	i.await("nothing left of what the person asked for", func() bool {
		admins, answer := i.send("GET", "/admin/requests", testAdminKey, "")
		return admins == http.StatusOK && !strings.Contains(answer, user)
	})
}

func TestAUserHasTenOpenRequestsAtMost(t *testing.T) {
	t.Parallel()
	i, _ := startTwo(t)
	var servers []string
	for c := 'a'; c < 'a'+12; c++ {
		servers = append(servers, string(c))
	}
	b := i.offering(servers...)
	user := string(b.User())
	var made struct{ Key string }
	i.await("the user", func() bool { return i.admin("POST", "users/"+user+"/keys", `{}`, &made) == http.StatusCreated })
	i.await("the offer", func() bool {
		_, answer := i.send("GET", "/u/"+user+"/requests", made.Key, "")
		return strings.Contains(answer, `"l"]`)
	})
	for n, server := range servers {
		want := http.StatusOK
		if n >= 10 {
			want = http.StatusConflict
		}
		i.await("an answer that is no limit of the rate", func() bool {
			status, answer := i.send("PUT", "/u/"+user+"/requests/"+server, made.Key, "{}")
			if status == http.StatusTooManyRequests {
				return false
			}
			if status != want || want == http.StatusConflict && !strings.Contains(answer, "request_limit_reached") {
				t.Errorf("request %d: %d %s", n+1, status, answer)
			}
			return true
		})
	}
	if status, _ := i.send("DELETE", "/u/"+user+"/requests/a", made.Key, ""); status != http.StatusNoContent {
		t.Errorf("withdraw: %d", status)
	}
	i.await("room for another one", func() bool {
		status, _ := i.send("PUT", "/u/"+user+"/requests/k", made.Key, "{}")
		return status == http.StatusOK
	})
}
