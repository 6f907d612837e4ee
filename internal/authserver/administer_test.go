// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// rolesWorld returns a world in which groups of the provider idp have roles.
func rolesWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, func(o *Options) {
		o.Roles = []flow.Role{
			{Role: oauth.RoleAuditor, Issuer: "https://idp.example", Group: "security"}, {Role: oauth.RoleAdmin, Issuer: "https://idp.example", Group: "platform"},
			{Role: oauth.RoleAdmin, Issuer: "https://idp.example", Group: "root"}, {Role: oauth.RoleCurator, Issuer: "https://other.example", Group: "catalog"},
		}
	})
	w.provider.change(func() { w.provider.groups = map[string][]string{} })
	return w
}

// administers logs somebody with these groups in as an administrator.
func (w *world) administers(groups []string) answer {
	w.t.Helper()
	w.provider.change(func() { w.provider.groups["ann"] = groups })
	b := w.browser()
	return b.get(back(w.t, b.get(pathAdminister), "ann"))
}

var tokenInPage = regexp.MustCompile(`eyJ[A-Za-z0-9_.-]+`)

func TestAnAdministratorGetsAToken(t *testing.T) {
	w := rolesWorld(t)
	shown := w.administers([]string{"root", "platform", "security", "other"})
	for _, words := range []string{"Name of ann", "<strong>admin</strong>, <strong>auditor</strong>", "For 15 minutes", issuer + "/admin/publishers"} {
		page(t, shown, http.StatusOK, words)
	}
	if shown.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v", shown.header)
	}
	token := tokenInPage.FindString(shown.body)
	got := must.Value(w.verify(token, issuer+"/admin"))(t)
	if diff := cmp.Diff([]oauth.Role{oauth.RoleAdmin, oauth.RoleAuditor}, got.Roles); diff != "" || got.Read || got.Call || got.Expires.Sub(w.now()) != 15*time.Minute {
		t.Errorf("%+v: roles (-want +got)\n%s", got, diff)
	}
	for _, elsewhere := range []string{alices, everyone, issuer} {
		if _, err := w.verify(token, elsewhere); err == nil {
			t.Errorf("the token is good at %s", elsewhere)
		}
	}
	want := []httpapi.Act{{Name: "administer", Target: "admin,auditor", Login: oauth.KeyOf("https://idp.example", "ann").String()}}
	if diff := cmp.Diff(want, w.audited()); diff != "" {
		t.Errorf("audit trail (-want +got):\n%s", diff)
	}
}

func TestWhoHasNoRoleGetsNoToken(t *testing.T) {
	for name, groups := range map[string][]string{
		"no group": {}, "another group": {"platforms"}, "a group of another provider": {"catalog"}, "groups that the provider does not say": nil,
	} {
		t.Run(name, func(t *testing.T) {
			w := rolesWorld(t)
			got := w.administers(groups)
			page(t, got, http.StatusForbidden, "You are no administrator here")
			page(t, got, http.StatusForbidden, "<code>https://idp.example</code>")
			if tokenInPage.MatchString(got.body) || len(w.audited()) > 0 {
				t.Errorf("there is a token: %s", got.body)
			}
		})
	}
}

func TestWithoutRolesThereIsNoPageOfAdministrators(t *testing.T) {
	for _, s := range newWorld(t).replicas {
		if _, ok := s.Target(pathAdminister); ok {
			t.Error("there is one")
		}
	}
}

func TestATokenOfAnAdministratorNeedsItsAuditEntry(t *testing.T) {
	w := rolesWorld(t)
	w.auditErr = errFake
	if got := w.administers([]string{"platform"}); got.status < 500 || tokenInPage.MatchString(got.body) {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}

// A client that could ask for a token of an administrator could be anybody's program.
func TestNoClientAsksForTheTokenOfAnAdministrator(t *testing.T) {
	w := rolesWorld(t)
	got := w.browser().get(deskFor(issuer + "/admin").authorize())
	if to := got.location(t); to.Query().Get("error") != codeInvalidTarget || to.Query().Get("code") != "" {
		t.Errorf("status %d, to %s", got.status, to)
	}
}

// sharedServers are those whose owners are the group leads of the provider idp.
type sharedServers []flow.SharedServer

// OwnedBy implements SharedServers.
func (s sharedServers) OwnedBy(_ context.Context, issuer string, groups []string) ([]flow.SharedServer, error) {
	switch {
	case slices.Contains(groups, "broken"):
		return nil, errFake
	case issuer == "https://idp.example" && slices.Contains(groups, "leads"):
		return s, nil
	}
	return nil, nil
}

func ownersWorld(t *testing.T, shared SharedServers, roles ...flow.Role) *world {
	t.Helper()
	w := newWorld(t, func(o *Options) { o.Shared, o.Roles = shared, roles })
	w.provider.change(func() { w.provider.groups = map[string][]string{} })
	return w
}

func TestAnOwnerGetsATokenForSharedServersAlone(t *testing.T) {
	w := ownersWorld(t, sharedServers{{Name: "payments", UID: "uid-1"}, {Name: "vault", UID: "uid-2"}})
	shown := w.administers([]string{"leads", "other"})
	for _, words := range []string{"as an owner of <strong>payments</strong>, <strong>vault</strong>", "For 15 minutes", issuer + "/shared/payments/secrets"} {
		page(t, shown, http.StatusOK, words)
	}
	if strings.Contains(shown.body, "/admin/publishers") || strings.Contains(shown.body, "with the role") {
		t.Errorf("it speaks of roles: %s", shown.body)
	}
	token := tokenInPage.FindString(shown.body)
	got := must.Value(w.verify(token, issuer+"/shared"))(t)
	if diff := cmp.Diff([]string{"shared:uid-1", "shared:uid-2"}, got.Scopes); diff != "" || got.Roles != nil || got.Read || got.Call || got.Expires.Sub(w.now()) != 15*time.Minute {
		t.Errorf("%+v: scopes (-want +got)\n%s", got, diff)
	}
	for _, elsewhere := range []string{alices, everyone, issuer, issuer + "/admin"} {
		if _, err := w.verify(token, elsewhere); err == nil {
			t.Errorf("the token is good at %s", elsewhere)
		}
	}
	want := []httpapi.Act{{Name: "administer", Login: oauth.KeyOf("https://idp.example", "ann").String()}}
	if diff := cmp.Diff(want, w.audited(), cmpopts.IgnoreFields(httpapi.Act{}, "Target")); diff != "" {
		t.Errorf("audit trail (-want +got):\n%s", diff)
	}
}

func TestAnAdministratorWhoOwnsSharedServersGetsTwoTokens(t *testing.T) {
	w := ownersWorld(t, sharedServers{{Name: "payments", UID: "uid-1"}}, flow.Role{Role: oauth.RoleAuditor, Issuer: "https://idp.example", Group: "security"})
	shown := w.administers([]string{"leads", "security"})
	page(t, shown, http.StatusOK, "with the role <strong>auditor</strong>")
	page(t, shown, http.StatusOK, "as an owner of <strong>payments</strong>")
	tokens := tokenInPage.FindAllString(shown.body, -1)
	if len(tokens) != 2 || len(w.audited()) != 2 {
		t.Fatalf("%d tokens, audited %+v", len(tokens), w.audited())
	}
	for i, resource := range []string{issuer + "/admin", issuer + "/shared"} {
		if _, err := w.verify(tokens[i], resource); err != nil {
			t.Errorf("at %s: %v", resource, err)
		}
		if _, err := w.verify(tokens[1-i], resource); err == nil {
			t.Errorf("the other token is good at %s", resource)
		}
	}
	// The role alone owns nothing.
	alone := w.administers([]string{"security"})
	if _, err := w.verify(tokenInPage.FindString(alone.body), issuer+"/shared"); err == nil {
		t.Error("an auditor's token is good for SharedServers")
	}
}

func TestWhoOwnsNothingGetsNoToken(t *testing.T) {
	w := ownersWorld(t, sharedServers{{Name: "payments", UID: "uid-1"}})
	for name, groups := range map[string][]string{"no group": {}, "another group": {"members"}, "groups that the provider does not say": nil} {
		if got := w.administers(groups); got.status != http.StatusForbidden || tokenInPage.MatchString(got.body) {
			t.Errorf("%s: %d", name, got.status)
		}
	}
	if got := w.administers([]string{"broken"}); got.status < 500 || tokenInPage.MatchString(got.body) {
		t.Errorf("while the API server is away: %d", got.status)
	}
}

func TestATokenNamesNotMoreSharedServersThanFit(t *testing.T) {
	var many sharedServers
	for i := range 256 {
		many = append(many, flow.SharedServer{Name: fmt.Sprintf("s%d", i), UID: fmt.Sprintf("6f1c2f0e-6a57-4d5f-9f0a-0d9f3b8a%04d", i)})
	}
	w := ownersWorld(t, many)
	token := tokenInPage.FindString(w.administers([]string{"leads"}).body)
	got, err := w.verify(token, issuer+"/shared")
	if err != nil || len(got.Scopes) != oauth.MaxShared {
		t.Errorf("%d bytes, %d SharedServers, %v", len(token), len(got.Scopes), err)
	}
}

// administratorsWorld returns a world with roles and the administrators' console, and who
// came to it.
func administratorsWorld(t *testing.T) (w *world, came *[]httpapi.Administrator, next *[]string) {
	t.Helper()
	came, next = &[]httpapi.Administrator{}, &[]string{}
	w = newWorld(t, func(o *Options) {
		o.Roles = []flow.Role{{Role: oauth.RoleAuditor, Issuer: "https://idp.example", Group: "security"}, {Role: oauth.RoleAdmin, Issuer: "https://idp.example", Group: "platform"}}
		o.Administrators = func(c httpapi.Call, who httpapi.Administrator, to string) error {
			*came, *next = append(*came, who), append(*next, to)
			c.Writer().WriteHeader(http.StatusNoContent)
			return nil
		}
	})
	w.provider.change(func() { w.provider.groups = map[string][]string{} })
	return w, came, next
}

func TestAnAdministratorComesToTheConsole(t *testing.T) {
	w, came, next := administratorsWorld(t)
	w.provider.change(func() { w.provider.groups["ann"] = []string{"security", "platform", "other"} })
	b := w.browser()
	got := b.get(back(t, b.get(AdministratorsPath+"?next=/console/people"), "ann"))
	key := oauth.KeyOf("https://idp.example", "ann")
	want := []httpapi.Administrator{{Subject: &key, Roles: []oauth.Role{oauth.RoleAdmin, oauth.RoleAuditor}, Since: w.now()}}
	if diff := cmp.Diff(want, *came); diff != "" || got.status != http.StatusNoContent || (*next)[0] != "/console/people" {
		t.Errorf("%d %s to %v\n%s", got.status, got.body, *next, diff)
	}
	if diff := cmp.Diff([]httpapi.Act{{Name: "administer", Target: "admin,auditor", Login: key.String()}}, w.audited()); diff != "" {
		t.Errorf("audit trail (-want +got):\n%s", diff)
	}
	if tokenInPage.MatchString(got.body) {
		t.Error("there is a token too")
	}
}

func TestWhoHasNoRoleDoesNotComeToTheConsole(t *testing.T) {
	w, came, _ := administratorsWorld(t)
	b := w.browser()
	page(t, b.get(back(t, b.get(AdministratorsPath), "ann")), http.StatusForbidden, "You are no administrator here")
	w.auditErr = errFake
	w.provider.change(func() { w.provider.groups["ann"] = []string{"platform"} })
	b = w.browser()
	if got := b.get(back(t, b.get(AdministratorsPath), "ann")); got.status < 500 || len(*came) > 0 {
		t.Errorf("without its audit entry: %d, and %v came", got.status, *came)
	}
	for _, s := range rolesWorld(t).replicas {
		if _, ok := s.Target(AdministratorsPath); ok {
			t.Error("there is a login to a console that there is not")
		}
	}
}
