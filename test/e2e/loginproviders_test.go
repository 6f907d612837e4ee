// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// gitHubLogsIn lets the accounts of GitHub in that a bridge is for. Whoever has the
// name or the number of one of them at the other provider is somebody else.
func gitHubLogsIn(t *testing.T) {
	const who = "gabi"
	number := gitHubNumber(who)
	hub, identity := newLoginTenant(t, "hub"), newLoginTenant(t, "not-hub", who, number)
	changeSubjects(t, hub, []v1alpha1.OAuthSubject{{Issuer: gitHubIssuer, Subject: number}})

	p, a := newVisitor(t), askAs(desk, hub.url())
	v := p.logsInAt(t, atGitHub, a.url(), who)
	checkPage(t, v)
	for _, word := range []string{who + " of GitHub", string(atGitHub), hub.name} {
		if !strings.Contains(v.Text, word) {
			t.Errorf("the page does not say %q: %s", word, v.Text)
		}
	}
	got := askTokens(t, a.redeem(p.does(t, "press", "Allow").answer(t).Get("code")))
	if got.status != http.StatusOK {
		t.Fatalf("status %d, error %q", got.status, got.Error)
	}
	if err := mustSend(t, hub.url(), got.Access, modernCall).toolAnswered(); err != nil {
		t.Error(err)
	}
	if again := askTokens(t, a.refresh(got.Refresh)); again.status != http.StatusOK {
		t.Errorf("refreshing: status %d, error %q", again.status, again.Error)
	}

	for _, c := range []struct {
		name string
		at   place
		to   tenant
		who  string
	}{
		{"another account of GitHub", atGitHub, hub, "greta"},
		{"GitHub where the other provider's people are", atGitHub, identity, who},
		{"the account's name at the other provider", atIdentity, hub, who},
		{"the account's number at the other provider", atIdentity, hub, number},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.at == atIdentity { // It knows who logged in there in this browser.
				p = newVisitor(t)
			}
			refused(t, p.logsInAt(t, c.at, askAs(desk, c.to.url()).url(), c.who))
		})
	}
}

// answersAreOfOneProvider brings what one provider sent to where another one sends
// people, and a code that is none.
func answersAreOfOneProvider(t *testing.T) {
	const who = "mia"
	n := newLoginTenant(t, "mixed", who)
	changeSubjects(t, n, []v1alpha1.OAuthSubject{{Issuer: identityIssuer, Subject: who}, {Issuer: gitHubIssuer, Subject: gitHubNumber(who)}})
	back := installed.url + "/oauth/callback/"
	for _, c := range []struct {
		name   string
		at     place
		from   string
		change func(u *url.URL)
	}{
		{"the identity provider's at GitHub's", atIdentity, identityName, func(u *url.URL) { u.Path = "/oauth/callback/" + gitHubName }},
		{"GitHub's at the identity provider's", atGitHub, gitHubName, func(u *url.URL) { u.Path = "/oauth/callback/" + identityName }},
		{"a code that GitHub has not given out", atGitHub, gitHubName, func(u *url.URL) {
			u.RawQuery = url.Values{"state": u.Query()["state"]}.Encode() + "&code=0123456789abcdef0123"
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Both begin with the code, unlike what is opened afterwards.
			p := newPerson(t, browser{Hosts: identityHosts, Ours: installed.url, Stops: []string{back + c.from + "?code=*"}})
			v := p.logsInAt(t, c.at, askAs(desk, n.url()).url(), who)
			u, err := url.Parse(v.Stopped)
			if err != nil || u.Query().Get("code") == "" {
				t.Fatalf("the person is at %s: %.300s", v.path(), v.Text)
			}
			c.change(u)
			refused(t, p.does(t, "open", u.String()))
		})
	}
}
