// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scimapi

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/scim"
	"github.com/hostedbridge/hostedbridge/test/must"
)

var errAway = errors.New("dial tcp 10.96.0.1:443: connection refused")

// brokenStore is one whose API server does not answer, or refuses.
type brokenStore struct{ err error }

func (brokenStore) IsUserID(string) bool { return true }

func (s brokenStore) User(context.Context, *scim.Directory, string) (scim.User, error) {
	return scim.User{}, s.err
}

func (s brokenStore) Users(context.Context, *scim.Directory, scim.Filter) ([]scim.User, error) {
	return nil, s.err
}

func (s brokenStore) CreateUser(context.Context, *scim.Directory, scim.User) (scim.User, error) {
	return scim.User{}, s.err
}

func (s brokenStore) ChangeUser(context.Context, *scim.Directory, string, func(scim.User) (scim.User, error)) (before, after scim.User, err error) {
	return scim.User{Active: true, Version: "1"}, scim.User{Version: "2"}, s.err
}

func (s brokenStore) DeleteUser(context.Context, *scim.Directory, string, func(scim.User) error) error {
	return s.err
}

func (s brokenStore) Group(context.Context, *scim.Directory, string) (scim.Group, error) {
	return scim.Group{}, s.err
}

func (s brokenStore) Groups(context.Context, *scim.Directory, scim.Filter) ([]scim.Group, error) {
	return nil, s.err
}

func (s brokenStore) CreateGroup(context.Context, *scim.Directory, scim.Group) (scim.Group, error) {
	return scim.Group{}, s.err
}

func (s brokenStore) ChangeGroup(context.Context, *scim.Directory, string, func(scim.Group) (scim.Group, error)) (before, after scim.Group, err error) {
	return scim.Group{}, scim.Group{}, s.err
}

func (s brokenStore) DeleteGroup(context.Context, *scim.Directory, string, func(scim.Group) error) error {
	return s.err
}

// call is a request as the ingress hands it on.
type call struct {
	httpapi.Call // What the routes do not use.

	request  *http.Request
	writer   *httptest.ResponseRecorder
	token    string
	body     string
	acts     []httpapi.Act
	auditErr error
}

func (c *call) Request() *http.Request      { return c.request }
func (c *call) Writer() http.ResponseWriter { return c.writer }
func (c *call) Param(string) string         { return "d-x-1" }
func (c *call) Now() time.Time              { return time.Time{} }
func (c *call) Key() string                 { return c.token }
func (c *call) Refuse(string) error         { return httpapi.New(http.StatusUnauthorized, "unauthorized", "") }
func (c *call) LimitRate(string) error      { return nil }
func (c *call) Body() ([]byte, error)       { return []byte(c.body), nil }
func (c *call) Audit(a httpapi.Act) error   { c.acts = append(c.acts, a); return c.auditErr }

// do sends a request to the route of a path.
func do(t *testing.T, store Store, method, path, body string, auditErr error) (*call, error) {
	t.Helper()
	token, id := must.Values(apikey.Mint(rand.Reader, apikey.KindDirectory))(t)
	list, err := scim.ParseDirectories(fmt.Appendf(nil, "directories: [{name: okta, issuer: 'https://a.example', tokenHashes: ['%s']}]", apikey.HashOf(token)))
	if err != nil {
		t.Fatal(err)
	}
	c := &call{
		request: httptest.NewRequestWithContext(t.Context(), method, scim.Base+strings.ReplaceAll(path, ":id", "d-x-1"), nil),
		writer:  httptest.NewRecorder(), token: token, body: body, auditErr: auditErr,
	}
	metrics := must.Value(NewMetrics(prometheus.NewRegistry()))(t)
	f := Feature(Options{Store: store, Directories: scim.NewDirectories(list), Metrics: metrics, Log: slog.New(slog.DiscardHandler)})
	for _, r := range f.Routes {
		if r.Method == method && r.Path == scim.Base+path {
			err := r.Handle(c)
			for i := range c.acts {
				if c.acts[i].KeyID != id {
					t.Errorf("the act is of the token %q", c.acts[i].KeyID)
				}
				c.acts[i].KeyID = ""
			}
			return c, err
		}
	}
	t.Fatalf("there is no route %s %s", method, path)
	return nil, nil
}

const (
	userBody  = `{"userName":"a","externalId":"a"}`
	groupBody = `{"displayName":"a"}`
	patchBody = `{"Operations":[{"op":"remove","path":"displayName"}]}`
)

func TestAChangeThatMayHaveBeenMadeIsNoted(t *testing.T) {
	for _, test := range []struct{ method, path, body, act, target string }{
		{http.MethodPost, "/Users", userBody, "users.create", ""},
		{http.MethodPut, "/Users/:id", userBody, "users.update", "d-x-1"},
		{http.MethodPatch, "/Users/:id", patchBody, "users.update", "d-x-1"},
		{http.MethodDelete, "/Users/:id", "", "users.delete", "d-x-1"},
		{http.MethodPost, "/Groups", groupBody, "groups.create", ""},
		{http.MethodPut, "/Groups/:id", groupBody, "groups.update", "d-x-1"},
		{http.MethodPatch, "/Groups/:id", patchBody, "groups.update", "d-x-1"},
		{http.MethodDelete, "/Groups/:id", "", "groups.delete", "d-x-1"},
	} {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			c, err := do(t, brokenStore{errAway}, test.method, test.path, test.body, nil)
			if !errors.Is(err, scim.ErrBusy) {
				t.Errorf("the error is %v", err)
			}
			want := []httpapi.Act{{Name: test.act, Target: test.target, Directory: "okta", Issuer: "https://a.example", Unsure: true}}
			if diff := cmp.Diff(want, c.acts); diff != "" {
				t.Error(diff)
			}
			c, err = do(t, brokenStore{scim.ErrNotFound}, test.method, test.path, test.body, nil)
			if !errors.Is(err, scim.ErrNotFound) || len(c.acts) > 0 {
				t.Errorf("a change that was refused: %v, %v", err, c.acts)
			}
		})
	}
}

func TestAReadThatFailsIsNoAct(t *testing.T) {
	for _, path := range []string{"/Users", "/Users/:id", "/Groups", "/Groups/:id"} {
		c, err := do(t, brokenStore{errAway}, http.MethodGet, path, "", nil)
		if !errors.Is(err, scim.ErrBusy) || len(c.acts) > 0 {
			t.Errorf("%s: %v, %v", path, err, c.acts)
		}
	}
}

func TestAnActThatCannotBeNotedIsNotAnswered(t *testing.T) {
	full := httpapi.New(http.StatusServiceUnavailable, "audit_unavailable", "")
	for method, path := range map[string]string{http.MethodPost: "/Users", http.MethodPut: "/Users/:id", http.MethodDelete: "/Groups/:id"} {
		c, err := do(t, brokenStore{}, method, path, userBody, full)
		if !errors.Is(err, full) || c.writer.Body.Len() > 0 {
			t.Errorf("%s %s: %v, answered %q", method, path, err, c.writer.Body)
		}
	}
}

func TestPathsAndQueriesThatPass(t *testing.T) {
	for path, want := range map[string]bool{
		"/scim/v2/Users": true, "/scim/v2/Users/d-abc-1": true, "/scim/v2/Schemas/urn:ietf:params:scim:schemas:core:2.0:User": true, "/scim/v2/Bulk": true,
		"/scim/v2": false, "/scim/v2/": false, "/scim/v2/Users/": true, "/scim/v2/Groups/.search": true, "/scim/v2/Me/": false, "/scim/v2/.search": false, "/scim/v2/Users/x/": false, "/scim/v2/Users/.x": false, "/scim/v2/Users/..": false, "/scim/v2/../admin": false, "/scim/v2/Users//x": false, "/scim/v2/Users/%2e": false,
		"/scim/v2/Users/a;b": false, "/scim/v1/Users": false, "/scim/v2x/Users": false,
	} {
		if _, ok := target(path); ok != want {
			t.Errorf("%s passes: %v", path, ok)
		}
	}
	for query, want := range map[string]bool{
		"filter=userName%20eq%20%22a%40b%22&startIndex=1&count=100": true, "filter=userName+eq+%22a%22": true, "attributes=userName,name.givenName": true,
		"filter=a;count=1": false, "filter": false, "=": false, "a=b&": false, "a=%zz": false, "a=\"": false, "a=b=c": false,
	} {
		if queryForm.MatchString(query) != want {
			t.Errorf("%s passes: %v", query, !want)
		}
	}
}
