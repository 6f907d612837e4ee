// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

const (
	sharedSecrets = "/shared/payments/secrets"
	payToken      = sharedSecrets + "/PAY_TOKEN"
)

// paymentsRef is the SharedServer payments of every world with logins.
var paymentsRef = client.Ref{Name: "payments", UID: "uid-payments", Shared: true}

// sharedFeature serves the owners of the SharedServers payments and vault.
func sharedFeature(d *Deps, tokens *fakeTokens, secrets management.UserSecrets) httpapi.Feature {
	return management.Shared(management.SharedOptions{
		PublicURL: publicURL, Tokens: tokens, Routes: d.Routes, Secrets: secrets,
		UID: func(_ context.Context, name string) (string, error) {
			switch name {
			case "payments", "vault":
				return "uid-" + name, nil
			case "away":
				return "", errors.New("no API server")
			}
			return "", nil
		},
	})
}

// owner makes a token one of an owner's.
func owner(uids ...string) func(*oauth.Token) {
	return func(t *oauth.Token) {
		t.Own, t.Issuer, t.Read, t.Call, t.Scopes = true, publicURL, false, false, nil
		for _, uid := range uids {
			t.Scopes = append(t.Scopes, oauth.SharedScope(uid))
		}
	}
}

func TestAnOwnerSetsASharedSecret(t *testing.T) {
	w, tokens, _ := loginWorld(t)
	token := tokens.add("lead", "olga", oauth.SharedPath, owner("uid-payments", "uid-other"))
	const value = "hb-canary-of-an-owner"
	if got := w.do(w.request("PUT", payToken, token, value)); got.status != http.StatusCreated || strings.Contains(got.body, value) {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := w.do(w.request("PUT", payToken, token, value)); got.status != http.StatusOK {
		t.Errorf("set again: %d %s", got.status, got.body)
	}
	if got := w.do(w.request("GET", sharedSecrets, token, "")); got.status != http.StatusOK || !strings.Contains(got.body, `"name":"PAY_TOKEN"`) || strings.Contains(got.body, value) {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := w.do(w.request("DELETE", payToken, token, "")); got.status != http.StatusNoContent {
		t.Errorf("remove: %d %s", got.status, got.body)
	}
	w.secrets.mu.Lock()
	for _, a := range w.secrets.asked {
		if a.of != paymentsRef {
			t.Errorf("%s of %+v", a.method, a.of)
		}
	}
	for _, b := range w.secrets.buffers {
		if strings.Contains(string(b), value) {
			t.Error("the value stays in memory")
		}
	}
	w.secrets.mu.Unlock()
	var acts []string
	for _, e := range w.audit.all() {
		if want := (audit.Principal{Kind: audit.KindOAuth, ID: oauth.KeyOf(issuerURL, "olga").String(), Issuer: publicURL}); strings.HasPrefix(e.Method, "shared/") {
			acts = append(acts, e.Method+" "+e.Action+" "+string(e.Status))
			if diff := cmp.Diff(want, e.Principal); diff != "" {
				t.Errorf("principal (-want +got):\n%s", diff)
			}
		}
	}
	want := []string{"shared/secret.set payments/PAY_TOKEN success", "shared/secret.set payments/PAY_TOKEN success", "shared/secret.remove payments/PAY_TOKEN success"}
	if diff := cmp.Diff(want, acts); diff != "" {
		t.Errorf("audit trail (-want +got):\n%s", diff)
	}
	if strings.Contains(w.logs.String(), value) {
		t.Error("the value is in the log")
	}
}

func TestWhoIsNoOwnerSetsNoSharedSecret(t *testing.T) {
	w, tokens, key := loginWorld(t)
	const unauthorized, notFound = http.StatusUnauthorized, http.StatusNotFound
	mine := tokens.add("mine", "olga", oauth.SharedPath, owner("uid-payments"))
	for name, tt := range map[string]struct {
		token, path string
		status      int
	}{
		"nobody":                           {"", payToken, unauthorized},
		"a user's key":                     {key, payToken, unauthorized},
		"the admin key":                    {adminKey, payToken, unauthorized},
		"a token for MCP":                  {tokens.add("mcp", "olga", "/mcp", owner("uid-payments")), payToken, unauthorized},
		"a token for a bridge":             {tokens.add("bridge", "alice", "/u/alice/mcp", nil), payToken, unauthorized},
		"an administrator's":               {tokens.add("admin", "ann", oauth.AdminPath, withRoles(oauth.RoleAdmin)), payToken, unauthorized},
		"an administrator who owns others": {tokens.add("both", "ann", oauth.SharedPath, func(t *oauth.Token) { owner("uid-vault")(t); t.Roles = []oauth.Role{oauth.RoleAdmin} }), payToken, notFound},
		"a foreign server's": {tokens.add("foreign", "olga", oauth.SharedPath, func(t *oauth.Token) {
			owner("uid-payments")(t)
			t.Own = false
		}), payToken, unauthorized},
		"one that has ended": {tokens.add("ended", "olga", oauth.SharedPath, func(t *oauth.Token) {
			owner("uid-payments")(t)
			t.Expires = time.Now().Add(-time.Hour)
		}), payToken, unauthorized},
		"an owner of a former one":      {tokens.add("former", "olga", oauth.SharedPath, owner("uid-former")), payToken, notFound},
		"one without SharedServers":     {tokens.add("none", "olga", oauth.SharedPath, owner()), payToken, notFound},
		"an owner of another":           {mine, "/shared/vault/secrets/PAY_TOKEN", notFound},
		"an owner, where there is none": {mine, "/shared/nothing/secrets/PAY_TOKEN", notFound},
		"an API server that is away":    {mine, "/shared/away/secrets/PAY_TOKEN", http.StatusServiceUnavailable},
		"a name that no secret has":     {mine, sharedSecrets + "/lower", http.StatusBadRequest},
		"a path in the name":            {mine, "/shared/a..b/secrets/PAY_TOKEN", notFound},
	} {
		got := w.do(w.request("PUT", tt.path, tt.token, "value"))
		if got.status != tt.status {
			t.Errorf("%s: %d %s, want %d", name, got.status, got.body, tt.status)
		}
	}
	if calls := w.secrets.calls(); len(calls) > 0 {
		t.Errorf("the keybroker was asked: %+v", calls)
	}
	// Not theirs and not there are the same bytes.
	theirs, none := w.do(w.request("GET", "/shared/vault/secrets", mine, "")), w.do(w.request("GET", "/shared/nothing/secrets", mine, ""))
	if theirs.body != none.body {
		t.Errorf("%s\n%s", theirs.body, none.body)
	}
	if got := w.do(w.request("GET", "/u/alice/mcp", mine, "")); got.status != unauthorized {
		t.Errorf("an owner's token opens a bridge: %d", got.status)
	}
	if got := w.do(w.request("GET", keysOfAlice, mine, "")); got.status != unauthorized {
		t.Errorf("an owner's token administers: %d", got.status)
	}
}

func TestAttemptsWithTokensOfOwnersAreLimited(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, _, _ := loginWorld(t)
		last := 0
		for range authn.SourceBurst + 20 {
			last = w.do(w.request("PUT", payToken, "a.b.c", "x")).status
		}
		if last != http.StatusTooManyRequests {
			t.Errorf("the last of many attempts is answered %d", last)
		}
	})
}

func TestWhatTheKeybrokerRefusesAnOwner(t *testing.T) {
	w, tokens, _ := loginWorld(t)
	token := tokens.add("lead", "olga", oauth.SharedPath, owner("uid-payments"))
	for code, tt := range map[string]struct {
		fail   error
		status int
		says   string
		unsure bool
	}{
		"secret_not_shared":   {&client.Refusal{Status: 409, Code: "secret_not_shared", Detail: "spec.secrets of the SharedServer has A."}, 409, "has A.", false},
		"not_found":           {&client.Refusal{Status: 404, Code: "shared_not_found"}, 404, "", false},
		"secrets_unavailable": {errors.New("broke off"), 503, "", true},
	} {
		w.secrets.failWith(tt.fail)
		before := len(w.audit.all())
		got := w.do(w.request("PUT", payToken, token, "value"))
		if got.status != tt.status || !strings.Contains(got.body, `"`+code+`"`) || !strings.Contains(got.body, tt.says) {
			t.Errorf("%s: %d %s", code, got.status, got.body)
		}
		entries := w.audit.all()[before:]
		if (len(entries) == 1) != tt.unsure || tt.unsure && entries[0].ErrorType != "outcome_unknown" {
			t.Errorf("%s: entries %+v", code, entries)
		}
	}
}
