// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"bytes"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func goodOptions(t testing.TB) Options {
	keys := newKeys(t)
	return Options{
		Issuer: "http://127.0.0.1:18080", Store: newMemory(time.Now), Signer: keys, Keys: keys, Users: &fakeUsers{},
		Providers: []flow.Provider{newProvider("idp")}, Random: rand.Reader, Now: time.Now,
		Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"no store":                            func(o *Options) { o.Store = nil },
		"no signer":                           func(o *Options) { o.Signer = nil },
		"no clock":                            func(o *Options) { o.Now = nil },
		"no provider":                         func(o *Options) { o.Providers = nil },
		"a provider twice":                    func(o *Options) { o.Providers = append(o.Providers, o.Providers[0]) },
		"a provider that cannot be in a path": func(o *Options) { o.Providers = []flow.Provider{newProvider("a/b")} },
		"an issuer with a path":               func(o *Options) { o.Issuer = "https://bridges.example.com/x" },
		"an issuer with a slash":              func(o *Options) { o.Issuer = "https://bridges.example.com/" },
		"an issuer with a user":               func(o *Options) { o.Issuer = "https://u@bridges.example.com" },
		"an issuer that others read":          func(o *Options) { o.Issuer = "http://bridges.example.com" },
		"no issuer":                           func(o *Options) { o.Issuer = "" },
		"a client without an id":              func(o *Options) { o.Clients = []flow.Client{{RedirectURIs: []string{deskURI}}} },
		"a client of a document":              func(o *Options) { o.Clients = []flow.Client{{ID: siteID, RedirectURIs: []string{deskURI}}} },
		"a client that cannot be answered":    func(o *Options) { o.Clients = []flow.Client{{ID: desk}} },
		"a client that others answer":         func(o *Options) { o.Clients = []flow.Client{{ID: desk, RedirectURIs: []string{"http://x.example"}}} },
		"a client twice": func(o *Options) {
			c := flow.Client{ID: desk, RedirectURIs: []string{deskURI}}
			o.Clients = []flow.Client{c, c}
		},
		"a scheme that runs": func(o *Options) { o.RedirectSchemes = []string{"javascript"} },
		"metrics that are there": func(o *Options) {
			must.Value(newMetrics(o.Metrics, nil))(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := goodOptions(t)
			change(&o)
			if _, err := New(o); err == nil || !strings.HasPrefix(err.Error(), "authorization server: ") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestWithoutRandomnessNothingIsMade(t *testing.T) {
	for secrets := range 5 { // There is enough for so many, or for a byte less than one more.
		for _, size := range []int{secrets * secretSize, (secrets+1)*secretSize - 1} {
			w := newWorld(t, func(o *Options) { o.Random = bytes.NewReader(make([]byte, size)) })
			if a := w.browser().get(deskFor(alices).authorize()); a.status != http.StatusServiceUnavailable && secrets < 4 {
				t.Fatalf("with %d bytes: status %d", size, a.status)
			}
		}
	}
}

func TestTargets(t *testing.T) {
	s := newWorld(t).replicas[0]
	for _, test := range []struct {
		path, query string
		want        bool
	}{
		{"/oauth/authorize", "client_id=a&scope=mcp:read+mcp:call&resource=https%3A%2F%2Fa.example%2Fmcp&state=", true},
		{"/oauth/authorize", "state=YQ==&x", true},
		{"/oauth/callback/google", "state=a&code=4/0Ab_c-d&scope=email%20profile%20https://www.googleapis.com/auth/x&authuser=0", true},
		{"/oauth/callback/a.b", "", false},
		{"/oauth/callback/", "", false},
		{"/oauth/callback/a/b", "", false},
		{"/oauth/login/google", "login=abc", true},
		{"/oauth/invitation", "code=abc", true},
		{"/oauth/authorize", "a=1;b=2", false},
		{"/oauth/authorize", "a=%zz", false},
		{"/oauth/authorize", "a=1&&b=2", false},
		{"/oauth/authorize", "=1", false},
		{"/oauth/authorize", "a=\x00", false},
		{"/oauth/authorize", "a=<b>", false},
		{"/oauth/authorize", "a=#b", false},
		{"/oauth/token", "", true},
		{"/oauth/token", "a=1", false},
		{"/oauth/consent", "a=1", false},
		{"/oauth/jwks", "", true},
		{"/oauth/jwks/", "", false},
		{"/.well-known/oauth-authorization-server", "", true},
		{"/.well-known/oauth-authorization-server/x", "", false},
		{"/.well-known/openid-configuration", "", true},
		{"/admin/users/alice/invitations", "", true},
		{"/admin/users/alice/logins", "", true},
		{"/admin/users/Alice/invitations", "", false},
		{"/admin/users/a%2Fb/invitations", "", false},
		{"/admin/users//invitations", "", false},
		{"/u/alice/mcp", "", false},
		{"/oauth", "", false},
	} {
		t.Run(test.path+"?"+test.query, func(t *testing.T) {
			form, ok := s.Target(test.path)
			if got := ok && (test.query == "" || form != nil && form.MatchString(test.query)); got != test.want {
				t.Errorf("%t, want %t", got, test.want)
			}
		})
	}
}
