// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	logins "github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/test/e2e/canary"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// as returns the tenant as who has this access token.
func (n tenant) as(token string) tenant {
	n.key.secret = token
	return n
}

// sharedServer makes a SharedServer at the guarded server, and a profile that gives it to the
// users.
func sharedServer(t *testing.T, name string, g *guard, members, owners string, users ...v1alpha1.UserID) {
	t.Helper()
	from := g.server()
	meta := metav1.ObjectMeta{Namespace: systemNamespace, Name: name}
	for _, o := range []client.Object{
		&v1alpha1.SharedServer{ObjectMeta: meta, Spec: v1alpha1.SharedServerSpec{
			Server: v1alpha1.SharedEndpoint{Transport: from.Transport}, Secrets: from.Secrets, Namespaces: []string{installed.namespace},
			Members: []v1alpha1.IssuerGroup{{Issuer: identityIssuer, Value: members}},
			Owners:  []v1alpha1.IssuerGroup{{Issuer: identityIssuer, Value: owners}},
		}},
		&v1alpha1.BridgeProfile{ObjectMeta: meta, Spec: v1alpha1.BridgeProfileSpec{
			Who: v1alpha1.ProfileSubjects{Namespaces: []string{installed.namespace}, Users: users},
			Servers: []v1alpha1.ProfileServer{{
				Use: v1alpha1.ServerRequired, Server: v1alpha1.Server{Name: g.name}, Shared: &v1alpha1.SharedReference{Name: name},
			}},
		}},
	} {
		must.Succeed(t, installed.client.Create(t.Context(), o))
		t.Cleanup(func() {
			if err := installed.client.Delete(context.WithoutCancel(t.Context()), o); err != nil {
				t.Error(err)
			}
		})
	}
}

// ownersShare has an owner set a secret that a member's bridge uses, and nobody else's.
func ownersShare(t *testing.T) {
	name, members, leads := installed.name("pay"), installed.name("payers"), installed.name("leads")
	member, other := newLoginTenant(t, "payer", "payal"), newLoginTenant(t, "nopayer", "nolan")
	sharedServer(t, name, left, members, leads, v1alpha1.UserID(member.name), v1alpha1.UserID(other.name))
	spare := installed.name("spare")
	sharedServer(t, spare, right, members, leads, "nobody")
	sayOf(t, "payal", map[string]any{"groups": []string{members, "private"}})
	sayOf(t, "nolan", map[string]any{"groups": []string{"private"}})
	sayOf(t, "olwen", map[string]any{"groups": []string{leads}})
	a := askAs(desk, member.url())
	got := mustLogIn(t, a, "payal")
	payal, nolan := member.as(got.Access), other.as(mustLogIn(t, askAs(desk, other.url()), "nolan").Access)

	// The owner alone sets the value.
	path, value := "/shared/"+name+"/secrets/"+left.secret, left.token(t)
	shown := newVisitor(t).logsIn(t, installed.url+"/oauth/admin", "olwen")
	checkPage(t, shown)
	token := tokenOnPage.FindString(shown.Text)
	if shown.Status != http.StatusOK || token == "" || !strings.Contains(shown.Text, name) {
		t.Fatalf("the owner's page: status %d: %.300s", shown.Status, shown.Text)
	}
	if page := newVisitor(t).logsIn(t, installed.url+"/oauth/admin", "payal"); page.Status != http.StatusForbidden {
		t.Errorf("a member's page: status %d", page.Status)
	}
	for who, key := range map[string]string{"a member's access token": got.Access, "a member's key": member.key.secret, "the admin key": admin(t).key} {
		newCurl(key).must(t, http.StatusUnauthorized, http.MethodPut, path, "x")
		t.Logf("%s is refused", who)
	}
	owner, began := newCurl(token), time.Now()
	owner.must(t, http.StatusConflict, http.MethodPut, "/shared/"+name+"/secrets/OTHER", "x")
	owner.must(t, http.StatusCreated, http.MethodPut, path, value)
	owner.must(t, http.StatusCreated, http.MethodPut, "/shared/"+spare+"/secrets/"+right.secret, right.token(t))
	c := newHTTPClient(false)
	wait.NoError(t, wait.Limit, "the shared server is given the owner's value", func(ctx context.Context) error {
		return presents(ctx, c, payal, left, value)
	})
	t.Logf("a member's call has the value %s after it was set", time.Since(began).Round(10*time.Millisecond))
	if text, err := inspectorCall(t, "modern", member.url(), got.Access, left.name+"_whoami"); err != nil || !strings.Contains(text, apikey.HashOf(value).String()) {
		t.Errorf("an unmodified client: %.300s, %v", text, err)
	}
	if names, err := listTools(t.Context(), c, nolan); err != nil || slices.ContainsFunc(names, func(tool string) bool { return strings.Contains(tool, "whoami") }) {
		t.Errorf("who is no member has the tools %v, %v", names, err)
	}
	if list := owner.must(t, http.StatusOK, http.MethodGet, "/shared/"+name+"/secrets", ""); strings.Contains(string(list.body), value[3:20]) {
		t.Error("the list has the value")
	}
	sharingIsAudited(t, name, began)
	noSharedSecretLiesAbout(t, value)

	// A new value is one write for all, and the person who leaves has none.
	second := left.token(t)
	owner.must(t, http.StatusOK, http.MethodPut, path, second)
	wait.NoError(t, wait.Limit, "the shared server is given the new value", func(ctx context.Context) error {
		return presents(ctx, c, payal, left, second)
	})
	sayOf(t, "payal", map[string]any{"groups": []string{"private"}})
	next := askTokens(t, a.refresh(got.Refresh))
	if next.status != http.StatusOK {
		t.Fatalf("refresh: status %d, error %q", next.status, next.Error)
	}
	left0, gone := member.as(next.Access), time.Now()
	wait.NoError(t, wait.Limit, "the person who left has the server no more", func(ctx context.Context) error {
		if _, err := whoami(ctx, c, left0, left); !errors.Is(err, errOutOfService) {
			return fmt.Errorf("a call ends with %w", errors.Join(err, errors.New("an answer")))
		}
		return nil
	})
	took := time.Since(gone)
	t.Logf("the person who left has the server no more after %s", took.Round(10*time.Millisecond))
	if took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	noSharedSecretLiesAbout(t, second)
}

// sharingIsAudited looks for the entries of the owner's act and of the member's call.
func sharingIsAudited(t *testing.T, name string, since time.Time) {
	t.Helper()
	wait.NoError(t, wait.Limit, "the audit trail names the people", func(context.Context) error {
		var page struct{ Entries []audit.Entry }
		admin(t).must(t, http.StatusOK, http.MethodGet, "/admin/audit?limit=500&from="+since.UTC().Format("2006-01-02T15:04:05Z"), "").into(t, &page)
		var set, called bool
		for _, e := range page.Entries {
			set = set || e.Method == "shared/secret.set" && e.Action == name+"/"+left.secret && e.Principal.ID == logins.KeyOf(identityIssuer, "olwen").String()
			called = called || e.Credential == "shared/"+name && e.Tool == "whoami" && e.Status == audit.Success && e.Principal.ID == logins.KeyOf(identityIssuer, "payal").String()
		}
		if !set || !called {
			return fmt.Errorf("the owner's act is there: %v, the member's call: %v", set, called)
		}
		return nil
	})
}

func noSharedSecretLiesAbout(t *testing.T, value string) {
	t.Helper()
	s := canary.NewScanner(mustCanary(t, "a shared secret", value))
	search(t, s)
	for _, f := range s.Findings() {
		t.Errorf("a shared secret lies about: %s", f)
	}
	for kind, size := range s.Scanned() {
		if size == 0 {
			t.Errorf("nothing was searched of the kind %s", kind)
		}
	}
}
