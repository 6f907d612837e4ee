// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
	"github.com/hostedbridge/hostedbridge/test/must"
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
				Name: s, Profile: "team", Use: v1alpha1.ServerOnRequest, Reason: v1alpha1.ReasonNotApproved, Offer: "recipe " + s,
			})
		}
	})
	return b
}

// version returns the version of the user's request that administrators read, and waits for it.
func (i *installation) version(b *v1alpha1.HostedBridge, server string) (version string) {
	i.t.Helper()
	i.await("the request in the list of administrators", func() bool {
		var list struct{ Requests []requests.UserRequest }
		if i.admin("GET", "requests", "", &list) != http.StatusOK {
			return false
		}
		at := slices.IndexFunc(list.Requests, func(q requests.UserRequest) bool { return q.User == b.User() && q.Server == server })
		if at >= 0 {
			version = list.Requests[at].Version
		}
		return at >= 0
	})
	return version
}

// answerOf is the body of an answer to a version of a request.
func answerOf(version string, verdict v1alpha1.RequestVerdict, reason string) string {
	return fmt.Sprintf(`{"version":%q,"verdict":%q,"reason":%q}`, version, verdict, reason)
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
	admin("GET", "requests?state=open", "", http.StatusOK, `"user":"`+user+`","server":"jira","offer":"recipe jira","state":"open","reason":"tickets"`)
	admin("GET", "requests?state=closed", "", http.StatusBadRequest, "open, approved, refused, outdated")
	version := i.version(b, "jira")
	admin("PUT", one, answerOf(version, v1alpha1.RequestRefused, ""), http.StatusUnprocessableEntity, "a refusal needs a reason")
	admin("PUT", one, answerOf(version, "Maybe", "x"), http.StatusUnprocessableEntity, "Approved or Refused")
	admin("PUT", one, `{"verdict": "Approved"}`, http.StatusUnprocessableEntity, "version must be")
	admin("PUT", "requests/"+user+"/wiki", answerOf(version, v1alpha1.RequestApproved, ""), http.StatusNotFound, "request_not_found")
	admin("PUT", one, answerOf(version, v1alpha1.RequestRefused, "use the team's"), http.StatusOK, `"state":"refused"`)
	expect("GET", path, "", http.StatusOK, `"answer":"use the team's"`)
	expect("PUT", path+"/jira", `{"reason": "for myself"}`, http.StatusOK, `"state":"open"`)
	admin("PUT", one, answerOf(version, v1alpha1.RequestApproved, ""), http.StatusConflict, "request_changed")
	admin("PUT", one, answerOf(i.version(b, "jira"), v1alpha1.RequestApproved, ""), http.StatusOK, `"state":"approved"`)
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

// TestAnAdministratorApprovesWhatTheyRead has a user who replaces the request while an
// administrator reads it.
func TestAnAdministratorApprovesWhatTheyRead(t *testing.T) {
	t.Parallel()
	i, _ := startTwo(t)
	b := i.offering("jira")
	key := i.keyFor(b)
	path, one := "/u/"+string(b.User())+"/requests", "requests/"+string(b.User())+"/jira"
	i.await("the offer", func() bool {
		_, answer := i.send("GET", path, key, "")
		return strings.Contains(answer, `"offered":["jira"]`)
	})
	expect := func(what, method, path, key, body string, want int, says string) {
		t.Helper()
		if status, answer := i.send(method, path, key, body); status != want || !strings.Contains(answer, says) {
			t.Errorf("%s: %d %s, want %d", what, status, answer, want)
		}
	}
	expect("the request", "PUT", path+"/jira", key, `{"reason":"I triage tickets"}`, http.StatusOK, "")
	read := i.version(b, "jira")
	expect("the withdrawal", "DELETE", path+"/jira", key, "", http.StatusNoContent, "")
	expect("another request", "PUT", path+"/jira", key, `{"reason":"I pay salaries"}`, http.StatusOK, "")
	expect("the answer", "PUT", "/admin/"+one, testAdminKey, answerOf(read, v1alpha1.RequestApproved, ""), http.StatusConflict, "request_changed")
	expect("the request", "GET", path, key, "", http.StatusOK, `"state":"open"`)
}

func TestAnApprovalIsForOneOffer(t *testing.T) {
	t.Parallel()
	i, _ := startTwo(t)
	b := i.offering("jira")
	key := i.keyFor(b)
	path, one := "/u/"+string(b.User())+"/requests", "/admin/requests/"+string(b.User())+"/jira"
	says := func(text string) func() bool {
		return func() bool { _, answer := i.send("GET", path, key, ""); return strings.Contains(answer, text) }
	}
	i.await("the offer", says(`"offered":["jira"]`))
	i.send("PUT", path+"/jira", key, "{}")
	first := i.version(b, "jira")
	testenv.ExpectStatusChanged(t, i.client, b, func() { b.Status.Effective.Servers[0].Offer = "recipe payroll" })
	i.await("the state of the request", says(`"state":"outdated"`))
	i.await("the refusal", func() bool {
		status, answer := i.send("PUT", one, testAdminKey, answerOf(first, v1alpha1.RequestApproved, ""))
		return status == http.StatusConflict && strings.Contains(answer, "request_outdated")
	})
	if status, answer := i.send("PUT", path+"/jira", key, `{"reason":"I pay salaries"}`); status != http.StatusOK || !strings.Contains(answer, `"offer":"recipe payroll","state":"open"`) {
		t.Errorf("the user asks again: %d %s", status, answer)
	}
	if status, answer := i.send("PUT", one, testAdminKey, answerOf(i.version(b, "jira"), v1alpha1.RequestApproved, "")); status != http.StatusOK || !strings.Contains(answer, `"state":"approved"`) {
		t.Errorf("the approval: %d %s", status, answer)
	}
}

func TestALaterBridgeOfAUserIDAsksForItself(t *testing.T) {
	t.Parallel()
	i, _ := startTwo(t)
	former := i.offering("jira")
	key := i.keyFor(former)
	path, one := "/u/"+string(former.User())+"/requests", "/admin/requests/"+string(former.User())+"/jira"
	says := func(text string) func() bool {
		return func() bool { _, answer := i.send("GET", path, key, ""); return strings.Contains(answer, text) }
	}
	i.await("the offer", says(`"offered":["jira"]`))
	i.send("PUT", path+"/jira", key, "{}")
	version := i.version(former, "jira")
	if status, answer := i.send("PUT", one, testAdminKey, answerOf(version, v1alpha1.RequestApproved, "")); status != http.StatusOK {
		t.Fatalf("the approval: %d %s", status, answer)
	}
	version = i.version(former, "jira")
	must.Succeed(t, i.client.Delete(t.Context(), former))
	i.await("nobody with the user id", func() bool { return i.health(former, key) == http.StatusUnauthorized })
	later := i.offering("jira")
	key = i.keyFor(later)
	i.await("the offer, for which the later user has not asked", says(`"requests":[],"offered":["jira"]`))
	if status, answer := i.send("DELETE", path+"/jira", key, ""); status != http.StatusNotFound {
		t.Errorf("the later user withdraws the former's request: %d %s", status, answer)
	}
	if status, answer := i.send("GET", "/admin/requests", testAdminKey, ""); status != http.StatusOK || strings.Contains(answer, string(later.User())) {
		t.Errorf("the requests: %d %s", status, answer)
	}
	if status, answer := i.send("PUT", one, testAdminKey, answerOf(version, v1alpha1.RequestApproved, "")); status != http.StatusNotFound {
		t.Errorf("an answer to the former's request: %d %s", status, answer)
	}
	if status, answer := i.send("PUT", path+"/jira", key, `{"reason":"mine"}`); status != http.StatusOK || !strings.Contains(answer, `"state":"open","reason":"mine"`) {
		t.Errorf("the later user asks: %d %s", status, answer)
	}
	q := &v1alpha1.BridgeRequest{ObjectMeta: metav1.ObjectMeta{Namespace: i.options.Namespace, Name: v1alpha1.RequestName(later.User(), "jira")}}
	testenv.ExpectExists(t, i.client, q)
	if q.Spec.BridgeUID != later.UID || q.Spec.Decision != nil {
		t.Errorf("the request is %+v", q.Spec)
	}
}
