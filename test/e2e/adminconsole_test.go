// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// consolePages are the pages of the administrators' console that are of nobody in particular.
var consolePages = []string{"/console", "/console/people", "/console/usage?range=week", "/console/profiles", "/console/catalog", "/console/health"}

// answersKey waits until a request with the tenant's key is answered with a status.
func answersKey(t *testing.T, n tenant, status int) {
	t.Helper()
	wait.NoError(t, wait.Limit, fmt.Sprintf("the key is answered %d", status), func(ctx context.Context) error {
		a, err := send(ctx, newHTTPClient(false), installed.url+"/u/"+n.name+"/health", n.key.secret, request{method: http.MethodGet})
		if err == nil && a.status != status {
			err = fmt.Errorf("status %d: %.200s", a.status, a.body)
		}
		return err
	})
}

// adminConsoleEndsAccess has an administrator find somebody whose server does not work,
// suspend them, give the access back and offboard them, with the admin key, a keyboard, no
// scripts and a window of 360 pixels.
func adminConsoleEndsAccess(t *testing.T) {
	n := newGuardedTenant(t, "console-admin", left)
	forgetPerson(t, access.UserName(v1alpha1.UserID(n.name)))
	p := newPerson(t, browser{Ours: installed.url, Plain: true})
	p.says(t, p.does(t, "open", installed.url+"/console/people"), "Log in as an administrator")
	p.does(t, "fill", "Admin key", n.key.secret)
	p.says(t, p.does(t, "type", "Log in with the admin key"), "This is not the admin key")
	p.does(t, "fill", "Admin key", adminKey(t))
	p.says(t, p.does(t, "type", "Log in with the admin key"), "People", "have a bridge")

	p.says(t, p.sees(t, "/console", "cannot use something"), "Causes", "Secret missing")
	p.does(t, "open", installed.url+"/console/people")
	p.does(t, "fill", "Name or namespace", n.name)
	p.says(t, p.does(t, "type", "Search"), "1 of ", n.name)
	p.says(t, p.does(t, "type", n.name), "Secret missing", left.secret, "kubectl get hostedbridge --namespace "+installed.namespace)

	p.says(t, p.does(t, "type", "Suspend "+n.name), "keys, logins and secrets are kept")
	p.says(t, p.does(t, "type", "Suspend "+n.name), "The access is suspended")
	answersKey(t, n, http.StatusUnauthorized)
	p.says(t, p.does(t, "type", "Allow "+n.name+" again"), "What follows")
	p.says(t, p.does(t, "type", "Allow "+n.name+" again"), "The access is allowed again")
	answersKey(t, n, http.StatusOK)

	p.says(t, p.does(t, "type", "Offboard "+n.name), "the salt and the secrets are destroyed")
	p.does(t, "fill", "Type "+n.name+" to confirm", "somebody-else")
	p.says(t, p.does(t, "type", "Offboard "+n.name), "Type "+n.name+" to confirm.")
	p.does(t, "fill", "Type "+n.name+" to confirm", n.name)
	p.says(t, p.does(t, "type", "Offboard "+n.name), "The offboarding has begun")
	answersKey(t, n, http.StatusUnauthorized)
	p.says(t, p.sees(t, "/console/audit?userId="+n.name, "admin/access.set Offboarded"), "the admin key")

	for _, page := range consolePages {
		p.says(t, p.does(t, "open", installed.url+page))
	}
	p.says(t, p.does(t, "open", installed.url+"/console/try-profile"), "Try a new profile")
	p.does(t, "fill", "Manifest", "apiVersion: hostedbridge.dev/v1alpha1\nkind: BridgeProfile\nmetadata: {name: tried}\nspec:\n  who: {namespaces: [nowhere], everyone: true}\n  tier: pro\n")
	p.says(t, p.does(t, "type", "See what would change"), "No bridge would change", "kubectl apply --namespace "+systemNamespace)
	p.says(t, p.does(t, "open", installed.url+"/console/people/"+n.name+"/keys/"+n.key.id+"/revoke"), "Revoke")
	p.says(t, p.does(t, "open", installed.url+"/console/nothing"), "There is no such page")
	p.says(t, p.sees(t, "/console/health", " ready"), "operator", "keybroker", "Backups")
	for _, c := range p.does(t, "cookies").Cookies {
		if !c.HTTPOnly || c.SameSite != "Lax" {
			t.Errorf("cookie %+v, want one that no script and no other site has", c)
		}
	}
	p.does(t, "unfold", "Menu")
	p.says(t, p.does(t, "type", "Log out"), "You are logged out")
	p.says(t, p.does(t, "open", installed.url+"/console"), "Log in as an administrator")
}

// auditorsSeeTheConsole has somebody in a group of auditors log in at the identity provider,
// look at everything, and find nothing that changes something.
func auditorsSeeTheConsole(t *testing.T) {
	n, name := newTenant(t, "console-audited", "plain"), installed.name("audrey")
	sayOf(t, name, map[string]any{"groups": []string{auditorsGroup}})
	p := newVisitor(t)
	v := p.logsIn(t, installed.url+"/oauth/admin/console?next=/console/people/"+n.name, name)
	p.says(t, v, n.name, "Access", "Allowed")
	if slices.ContainsFunc(append(v.Links, v.Buttons...), func(l string) bool {
		return strings.HasPrefix(l, "Suspend") || strings.HasPrefix(l, "Offboard") || l == "Revoke"
	}) {
		t.Errorf("an auditor is offered %v and %v", v.Links, v.Buttons)
	}
	for _, page := range append([]string{"/console/audit"}, consolePages...) {
		p.says(t, p.does(t, "open", installed.url+page), "auditor")
	}
	nothing, foreign := p.does(t, "open", installed.url+"/console/nothing"), p.does(t, "open", installed.url+"/console/people/"+n.name+"/suspend")
	if nothing.Status != http.StatusNotFound || foreign.Status != nothing.Status || foreign.Text != nothing.Text {
		t.Errorf("a page of administrators is told from none: %d %s, and %d %s", nothing.Status, nothing.Text, foreign.Status, foreign.Text)
	}
	if got := newCurl("").must(t, http.StatusUnauthorized, http.MethodGet, "/admin/users", ""); strings.Contains(string(got.body), n.name) {
		t.Error("the API answers without a credential")
	}
}
