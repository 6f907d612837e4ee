// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/e2e/canary"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// metadataIsFound goes the way of a client that knows a URL alone. Of a user who
// is there and of one who is not it hears the same.
func metadataIsFound(t *testing.T) {
	n := newLoginTenant(t, "found")
	other := installed.name("other") // As long as the tenant's.
	nobody := installed.url + "/u/" + other
	seen := map[string]string{}
	for _, resource := range []string{n.url(), nobody + "/mcp", n.base() + "/sse", nobody + "/sse", installed.url + "/mcp"} {
		if err := mustSend(t, resource, "", modernFirst).challenged(http.StatusUnauthorized, "", resource); err != nil {
			t.Errorf("%s: %v", resource, err)
		}
		path := strings.TrimPrefix(resource, installed.url)
		a := mustSend(t, installed.url+"/.well-known/oauth-protected-resource"+path, "", request{method: http.MethodGet})
		var metadata struct {
			Resource string
			Servers  []string `json:"authorization_servers"`
		}
		if err := json.Unmarshal(a.body, &metadata); err != nil || metadata.Resource != resource || len(metadata.Servers) != 1 || metadata.Servers[0] != installed.url {
			t.Errorf("the metadata of %s is %.500s (%v)", resource, a.body, err)
		}
		if a.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("the metadata of %s is for no program in a browser", resource)
		}
		for _, user := range []string{n.name, other} {
			if strings.Contains(path, user) {
				path = strings.ReplaceAll(path, user, "USER")
				same := strings.ReplaceAll(a.bytes(), user, "USER")
				if before, ok := seen[path]; ok && before != same {
					t.Errorf("the metadata of %s tells whether the user is there", path)
				}
				seen[path] = same
			}
		}
	}
}

// tokensAreForOneURL takes a token to other URLs than that for which it was given.
func tokensAreForOneURL(t *testing.T) {
	mine, other := newLoginTenant(t, "audience", "anna"), newLoginTenant(t, "audience-too", "anna")
	token := mustLogIn(t, askAs(desk, mine.url()), "anna").Access
	if err := mustSend(t, mine.url(), token, modernCall).toolAnswered(); err != nil {
		t.Errorf("where it is for: %v", err)
	}
	for _, resource := range []string{other.url(), mine.base() + "/sse", installed.url + "/mcp"} {
		if err := mustSend(t, resource, token, modernCall).challenged(http.StatusUnauthorized, "invalid_token", resource); err != nil {
			t.Errorf("%s: %v", resource, err)
		}
	}
	half := strings.Split(token, ".")
	for name, forged := range map[string]string{
		"its signature cut": half[0] + "." + half[1] + ".", "no token": "nonsense.of.mine", "a longer one": token + "A",
	} {
		if err := mustSend(t, mine.url(), forged, modernCall).challenged(http.StatusUnauthorized, "invalid_token", mine.url()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// tokensForReadingCallNothing asks for one scope of two.
func tokensForReadingCallNothing(t *testing.T) {
	n := newLoginTenant(t, "reading", "rosa")
	a := askAs(desk, n.url())
	a.scope = "mcp:read"
	got := mustLogIn(t, a, "rosa")
	if got.Scope != a.scope {
		t.Errorf("scope %q, want %q", got.Scope, a.scope)
	}
	if list := mustSend(t, n.url(), got.Access, modern("tools/list", "", `{}`)); list.status != http.StatusOK {
		t.Errorf("a list: status %d: %.300s", list.status, list.body)
	}
	call := mustSend(t, n.url(), got.Access, modernCall)
	if err := call.challenged(http.StatusForbidden, "insufficient_scope", n.url()); err != nil {
		t.Error(err)
	}
	if challenge := call.header.Get("WWW-Authenticate"); !strings.Contains(challenge, "mcp:call") {
		t.Errorf("challenge %q does not say what is missing", challenge)
	}
}

// nothingIsUsedTwice redeems what has been redeemed, as somebody would who has
// stolen it. Then nobody has anything of it.
func nothingIsUsedTwice(t *testing.T) {
	n := newLoginTenant(t, "replay", "ruth")
	t.Run("a code", func(t *testing.T) {
		a := askAs(desk, n.url())
		code := newVisitor(t).consents(t, a, "ruth").Get("code")
		wrong := a
		wrong.verifier = askAs(desk, "").verifier
		if got := askTokens(t, wrong.redeem(code)); got.status != http.StatusBadRequest || got.Error != "invalid_grant" {
			t.Errorf("with another verifier: status %d, error %q", got.status, got.Error)
		}
		code = newVisitor(t).consents(t, a, "ruth").Get("code")
		first := askTokens(t, a.redeem(code))
		if again := askTokens(t, a.redeem(code)); again.status != http.StatusBadRequest || again.Error != "invalid_grant" {
			t.Errorf("twice: status %d, error %q", again.status, again.Error)
		}
		if got := askTokens(t, a.refresh(first.Refresh)); first.Refresh == "" || got.Error != "invalid_grant" {
			t.Errorf("the refresh token of the first use: status %d, error %q", got.status, got.Error)
		}
	})
	t.Run("a refresh token", func(t *testing.T) {
		a := askAs(desk, n.url())
		first := mustLogIn(t, a, "ruth")
		second := askTokens(t, a.refresh(first.Refresh))
		if second.status != http.StatusOK || second.Refresh == first.Refresh {
			t.Fatalf("status %d, error %q, another refresh token: %t", second.status, second.Error, second.Refresh != first.Refresh)
		}
		if err := mustSend(t, n.url(), second.Access, modernCall).toolAnswered(); err != nil {
			t.Errorf("the new access token: %v", err)
		}
		// Somebody whose answer was lost asks again.
		if again := askTokens(t, a.refresh(first.Refresh)); again.status != http.StatusOK || again.Refresh != second.Refresh {
			t.Errorf("at once again: status %d, error %q, the same refresh token: %t", again.status, again.Error, again.Refresh == second.Refresh)
		}
		third := askTokens(t, a.refresh(second.Refresh))
		if third.status != http.StatusOK {
			t.Errorf("status %d, error %q", third.status, third.Error)
		}
		for _, token := range []string{first.Refresh, second.Refresh, third.Refresh} {
			if got := askTokens(t, a.refresh(token)); got.status != http.StatusBadRequest || got.Error != "invalid_grant" {
				t.Errorf("a token of before, or what came of it: status %d, error %q", got.status, got.Error)
			}
		}
	})
	t.Run("what was given back", func(t *testing.T) {
		a := askAs(desk, n.url())
		got := mustLogIn(t, a, "ruth")
		if back := postForm(t, "/oauth/revoke", map[string]string{"token": got.Refresh, "client_id": a.client}); back.status != http.StatusOK {
			t.Errorf("status %d: %.300s", back.status, back.body)
		}
		if again := askTokens(t, a.refresh(got.Refresh)); again.Error != "invalid_grant" {
			t.Errorf("afterwards: status %d, error %q", again.status, again.Error)
		}
	})
}

// removedPeopleAreOut takes somebody out of a bridge whose token is good still.
func removedPeopleAreOut(t *testing.T) {
	n := newLoginTenant(t, "removed", "ronja", "robin")
	a := askAs(desk, n.url())
	out, stays := mustLogIn(t, a, "ronja"), mustLogIn(t, a, "robin")
	for _, token := range []string{out.Access, stays.Access} {
		must.Succeed(t, mustSend(t, n.url(), token, modernCall).toolAnswered())
	}
	changeSubjects(t, n, []v1alpha1.OAuthSubject{{Issuer: identityIssuer, Subject: "robin"}})
	awaitShut(t, n.url(), out.Access)
	if got := askTokens(t, a.refresh(out.Refresh)); got.Error != "invalid_grant" {
		t.Errorf("the refresh token: status %d, error %q", got.status, got.Error)
	}
	if err := mustSend(t, n.url(), stays.Access, modernCall).toolAnswered(); err != nil {
		t.Errorf("who stayed: %v", err)
	}
}

// awaitShut waits until the token opens the URL at no replica.
func awaitShut(t *testing.T, address, token string) {
	t.Helper()
	wait.NoError(t, wait.Limit, "the token opens nothing at any replica", func(ctx context.Context) error {
		return atAllReplicas(func(c *http.Client) error {
			got, err := send(ctx, c, address, token, modernCall)
			if err == nil && got.status == http.StatusOK {
				err = fmt.Errorf("status %d", got.status)
			}
			return err
		})
	})
}

// ruleNamesBridges logs somebody in who is in no bridge's list, but whose address
// at the provider is one of the installation's users.
func ruleNamesBridges(t *testing.T) {
	n := newLoginTenant(t, "ruled")
	for name, resource := range map[string]string{"their own URL": n.url(), "the URL for everyone": installed.url + "/mcp"} {
		t.Run(name, func(t *testing.T) {
			token := mustLogIn(t, askAs(desk, resource), n.name).Access
			if err := mustSend(t, resource, token, modernCall).toolAnswered(); err != nil {
				t.Error(err)
			}
		})
	}
}

// loginsLieNowhere logs in and connects an account, and searches the cluster for
// what opens something.
// That a search finds what there is, secretsAreNowhereElse shows.
func loginsLieNowhere(t *testing.T) {
	n, password := newAccountTenant(t, "searched", "saskia"), rand.Text()
	p, a, boss := newVisitorOf(t, accountHosts(t)), askAs(desk, n.url()), admin(t)
	p.connects(t, n, "saskia", password)
	invitation := searchable(t, "an invitation", func() string {
		var made struct{ URL string }
		boss.must(t, http.StatusCreated, http.MethodPost, "/admin/users/"+n.name+"/invitations", "").into(t, &made)
		_, secret, _ := strings.Cut(made.URL, "code=")
		return secret
	})
	var got tokens
	code := searchable(t, "a code", func() string {
		code := p.consents(t, a, "saskia").Get("code")
		got = askTokens(t, a.redeem(code))
		return code
	})
	refresh := searchable(t, "a refresh token", func() string {
		got = askTokens(t, a.refresh(got.Refresh))
		return got.Refresh
	})
	n.awaitRefreshed(t, password)
	if _, err := n.whoami(t.Context(), got.Access); err != nil {
		t.Error(err)
	}
	wrong := mustSend(t, n.base()+"/sse", got.Access, modernCall)
	if wrong.status != http.StatusUnauthorized {
		t.Errorf("at another URL: status %d", wrong.status)
	}
	s := canary.NewScanner(append(accountCanaries(t, password),
		invitation, code, refresh, mustCanary(t, "an access token", got.Access), mustCanary(t, "a verifier", a.verifier))...)
	search(t, s)
	for _, f := range s.Findings() {
		t.Errorf("something of a login lies about: %s", f)
	}
}

// searchable makes values until one is that a search can tell from others.
func searchable(t *testing.T, name string, next func() string) canary.Canary {
	t.Helper()
	var err error
	for range 20 {
		var c canary.Canary
		if c, err = canary.New(name, next()); err == nil {
			return c
		}
	}
	t.Fatal(err)
	return canary.Canary{}
}
