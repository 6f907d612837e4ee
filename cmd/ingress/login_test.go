// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/oauth/settings"
	"github.com/hostedbridge/hostedbridge/internal/onboarding"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTheConfigurationSaysWhoseTokensAreAccepted(t *testing.T) {
	o := loginOptions{File: write(t, `
publicURL: https://bridges.example.com
issuers:
- issuer: https://login.example.com
  jwksURL: https://login.example.com/keys
  algorithms: [RS256]
  types: [JWT]
  audiences: ["api://bridges"]
  scopes: {read: [bridges.read], call: [bridges.call]}
  user: {claim: preferred_username, suffix: "@example.com"}
server:
  name: Bridges
  store: sqlite:/nowhere/login.db
  providers: [{id: google, type: oidc, issuer: "https://accounts.google.com", clientID: x, clientSecretFile: /nowhere/google}]
`)}
	found, err := o.read()
	if err != nil {
		t.Fatal(err)
	}
	want := []oauth.Issuer{
		{URL: "https://bridges.example.com", Algorithms: []jose.SignatureAlgorithm{jose.ES256}, Own: true},
		{
			URL: "https://login.example.com", Algorithms: []jose.SignatureAlgorithm{jose.RS256}, Types: []string{"JWT"}, Audiences: []string{"api://bridges"},
			ReadScopes: []string{"bridges.read"}, CallScopes: []string{"bridges.call"}, User: oauth.UserRule{Claim: "preferred_username", Suffix: "@example.com"},
		},
	}
	if diff := cmp.Diff(want, issuersOf(found)); diff != "" {
		t.Errorf("issuers (-want +got):\n%s", diff)
	}
	sources := keySources(found, &signingKeys{})
	if len(sources) != 2 || sources[0].Issuer != found.PublicURL || sources[0].Fetch == nil || sources[1].URL != "https://login.example.com/keys" || sources[1].Fetch != nil {
		t.Errorf("sources of keys: %+v", sources)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := sources[0].Fetch(ended); !errors.Is(err, errNoKeybroker) {
		t.Errorf("before the keybroker is known: %v", err)
	}
}

func TestAConfigurationThatIsWrongSaysWhereItIs(t *testing.T) {
	for name, o := range map[string]loginOptions{
		"a file that is missing": {File: "/nowhere/oauth.yaml"},
		"a field that is none":   {File: write(t, "publicURL: https://a.example\nissuer: []\n")},
	} {
		if _, err := o.read(); err == nil || !strings.HasPrefix(err.Error(), "--oauth-config") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if found, err := (&loginOptions{}).read(); found != nil || err != nil {
		t.Errorf("without a file: %v, %v", found, err)
	}
}

func TestLoginsInAFileAreForOneIngress(t *testing.T) {
	of := func(store string) string {
		return write(t, `{publicURL: "https://a.example", server: {store: "`+store+`", providers: [{id: a, name: A, type: oidc, issuer: "https://b.example", clientID: c, clientSecretFile: /f}]}}`)
	}
	for name, test := range map[string]struct {
		store, replicas, want string
	}{
		"a file of one":      {"sqlite:/var/lib/logins.db", "1", ""},
		"a file of two":      {"sqlite:/var/lib/logins.db", "2", "sqlite, a file that one ingress has, and --replicas is 2"},
		"a database of two":  {"postgres:/etc/url", "2", ""},
		"Redis, also of two": {"redis:/etc/url", "2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := parseOptions([]string{"--oauth-config=" + of(test.store), "--replicas=" + test.replicas}, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			_, err = o.Login.read()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRootsAreThoseOfTheFileToo(t *testing.T) {
	if roots, err := rootsOf(""); roots != nil || err != nil || clientOf(roots) != nil {
		t.Errorf("without a file: %v, %v", roots, err)
	}
	if _, err := rootsOf(write(t, "no certificate")); err == nil || !strings.Contains(err.Error(), "no certificate in PEM") {
		t.Errorf("a file without certificates: %v", err)
	}
	if _, err := rootsOf("/nowhere/ca.crt"); err == nil {
		t.Error("a file that is missing is taken")
	}
}

// tables is what knows one table of routes.
type tables struct{ table *route.Table }

func (t tables) Current() *route.Table    { return t.table }
func (t tables) Changed() <-chan struct{} { return nil }

// comingTables get their route when they are told.
type comingTables struct {
	tables

	change chan struct{}
}

func (t *comingTables) Changed() <-chan struct{} { return t.change }

func TestBridgesOfAPerson(t *testing.T) {
	bridge := func(name, subject string) *v1alpha1.HostedBridge {
		b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: name, UID: "uid-1"}}
		b.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: "https://login.example.com", Subject: subject}}}
		return b
	}
	table := route.Build([]*v1alpha1.HostedBridge{bridge("team", "42"), bridge("alice", "42"), bridge("bob", "43")}, []*corev1.Pod{})
	l := &loginUsers{routes: tables{table}}
	for _, test := range []struct {
		name string
		who  flow.Identity
		want []v1alpha1.UserID
	}{
		{"the bridges of the subject", flow.Identity{Issuer: "https://login.example.com", Subject: "42"}, []v1alpha1.UserID{"alice", "team"}},
		{"and the one of the rule", flow.Identity{Issuer: "https://login.example.com", Subject: "42", User: "bob"}, []v1alpha1.UserID{"alice", "bob", "team"}},
		{"which may be the same", flow.Identity{Issuer: "https://login.example.com", Subject: "43", User: "bob"}, []v1alpha1.UserID{"bob"}},
		{"and has to be there", flow.Identity{Issuer: "https://login.example.com", Subject: "44", User: "carol"}, nil},
		{"none of another issuer's", flow.Identity{Issuer: "https://other.example.com", Subject: "42"}, nil},
	} {
		if got, err := l.Bridges(context.Background(), test.who); err != nil || !cmp.Equal(test.want, got) {
			t.Errorf("%s: %v, %v, want %v", test.name, got, err, test.want)
		}
	}
	if _, err := (&loginUsers{routes: tables{}}).Bridges(context.Background(), flow.Identity{}); !errors.Is(err, errNoRoutes) {
		t.Errorf("before the routes are known: %v", err)
	}
}

func TestANewBridgeIsKnownBeforeItsClientIsTold(t *testing.T) {
	who := flow.Identity{Issuer: "https://login.example.com", Subject: "42"}
	made := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: "new", UID: "uid-1"}}
	made.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: who.Issuer, Subject: who.Subject}}}
	synctest.Test(t, func(t *testing.T) {
		routes := &comingTables{change: make(chan struct{})}
		l, began := &loginUsers{routes: routes}, time.Now()
		done := make(chan struct{})
		go func() { defer close(done); l.awaitRoute(t.Context(), who) }()
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("the route is not waited for")
		default:
		}
		change := routes.change
		routes.table, routes.change = route.Build([]*v1alpha1.HostedBridge{made}, nil), make(chan struct{})
		close(change)
		<-done
		if waited := time.Since(began); waited != 0 {
			t.Errorf("%s after it was known", waited)
		}
		routes.table = route.Build(nil, nil)
		l.awaitRoute(t.Context(), who)
		if waited := time.Since(began); waited != knownWithin {
			t.Errorf("one that does not come is waited for %s", waited)
		}
	})
}

func TestWhoIsLetInDependsOnTheMode(t *testing.T) {
	who := flow.Identity{Issuer: "https://login.example.com", Subject: "42"}
	l := &loginUsers{routes: tables{route.Build(nil, nil)}}
	for _, test := range []struct {
		name, mode string
		invited    v1alpha1.UserID
	}{
		{"nobody", settings.Off, ""},
		{"not even by an invitation of before", settings.Off, "alice"},
		{"who is not invited", settings.Invite, ""},
		{"who is invited to what is gone", settings.Invite, "alice"},
		{"so with auto", settings.Auto, "alice"},
	} {
		l.mode = test.mode
		if _, err := l.Onboard(context.Background(), who, test.invited); !errors.Is(err, flow.ErrNotInvited) {
			t.Errorf("%s: %v", test.name, err)
		}
		if l.mode == settings.Auto {
			continue
		}
		if user, err := l.Offer(context.Background(), who); !errors.Is(err, flow.ErrNotInvited) || user != "" {
			t.Errorf("%s is offered %q, %v", test.name, user, err)
		}
	}
	if err := letIn(onboarding.ErrTooMany); !errors.Is(err, flow.ErrNotInvited) || !errors.Is(err, onboarding.ErrTooMany) {
		t.Errorf("a bridge that is full: %v", err)
	}
	if err := letIn(context.DeadlineExceeded); errors.Is(err, flow.ErrNotInvited) || err == nil {
		t.Errorf("an API server that is away: %v", err)
	}
	if letIn(nil) != nil {
		t.Error("who was let in is not")
	}
}
