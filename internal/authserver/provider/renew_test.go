// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// refreshToken and nextToken are what the tests' provider gives one after the other.
const refreshToken, nextToken = "geheim-refresh", "geheim-next"

func TestAProviderIsAskedForARefreshToken(t *testing.T) {
	for name, tt := range map[string]struct {
		refresh   bool
		supported []string
		want      string
	}{
		"not without need":               {false, nil, "openid profile"},
		"by its scope":                   {true, []string{"openid", "offline_access"}, "openid profile offline_access"},
		"if it does not say what it has": {true, nil, "openid profile offline_access"},
		"not if it has no such scope":    {true, []string{"openid", "profile"}, "openid profile"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			if tt.supported != nil {
				u.discovery["scopes_supported"] = tt.supported
			}
			c := u.config()
			if tt.refresh {
				c.Limits.Grace = time.Hour
			}
			if _, query := begun(t, connect(t, c)); query.Get("scope") != tt.want {
				t.Errorf("%q, want %q", query.Get("scope"), tt.want)
			}
		})
	}
}

// OpenID Connect Core 1.0, section 11, has a provider ignore offline_access without it.
func TestConsentIsAskedForWhereItGivesARefreshToken(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(u *upstream, c *Config, r *flow.LoginRequest)
		prompt string
	}{
		"with offline_access":               {func(*upstream, *Config, *flow.LoginRequest) {}, "consent"},
		"with offline_access of the scopes": {func(_ *upstream, c *Config, _ *flow.LoginRequest) { c.Scopes = []string{"openid", "offline_access"} }, "consent"},
		"not where nothing is read again":   {func(_ *upstream, c *Config, _ *flow.LoginRequest) { c.Limits.Grace = 0 }, ""},
		"not for a login that is no grant":  {func(_ *upstream, _ *Config, r *flow.LoginRequest) { r.Offline = false }, ""},
		"not where there is no such scope": {func(u *upstream, _ *Config, _ *flow.LoginRequest) {
			u.discovery["scopes_supported"] = []string{"openid"}
		}, ""},
		"not where an administrator says so": {func(_ *upstream, c *Config, _ *flow.LoginRequest) { c.Parameters = map[string]string{"prompt": ""} }, ""},
		"but as an administrator says": {func(_ *upstream, c *Config, _ *flow.LoginRequest) {
			c.Parameters = map[string]string{"prompt": "select_account consent", "access_type": "offline"}
		}, "select_account consent"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			c, r := u.config(), request
			c.Limits.Grace = time.Hour
			tt.change(u, &c, &r)
			query := must.Value(url.Parse(must.Value(connect(t, c).Begin(t.Context(), r))(t)))(t).Query()
			if query.Get("prompt") != tt.prompt || query.Has("prompt") != (tt.prompt != "") || query.Get("access_type") != c.Parameters["access_type"] {
				t.Errorf("%v", query)
			}
		})
	}
}

func TestARefreshTokenIsKeptWhereItIsOfUse(t *testing.T) {
	for _, refresh := range []bool{false, true} {
		u := newUpstream(t)
		u.refresh = refreshToken
		c := u.config()
		if refresh {
			c.Limits.Grace = time.Hour
		}
		who, err := connect(t, c).Finish(t.Context(), answer)
		if err != nil || (who.RefreshToken == refreshToken) != refresh {
			t.Errorf("refresh %v: %v, there is one: %v", refresh, err, who.RefreshToken != "")
		}
	}
}

func TestGroupsAreThoseOfAPerson(t *testing.T) {
	many := slices.Repeat([]string{"00000000-0000-0000-0000-000000000000"}, 10_000)
	for name, tt := range map[string]struct {
		change func(u *upstream)
		want   []string
		err    bool
	}{
		"in the ID token":     {func(u *upstream) { u.claims["groups"] = []string{"eng"} }, []string{"eng"}, false},
		"at UserInfo":         {func(u *upstream) { u.userInfo = map[string]any{"sub": "person-1", "groups": []string{"ops"}} }, []string{"ops"}, false},
		"none":                {func(*upstream) {}, []string{}, false},
		"none at UserInfo":    {func(u *upstream) { u.userInfo = map[string]any{"sub": "person-1"} }, []string{}, false},
		"UserInfo is refused": {func(u *upstream) { u.discovery["userinfo_endpoint"] = u.URL + "/userinfo" }, nil, true},
		"UserInfo of another": {func(u *upstream) { u.userInfo = map[string]any{"sub": "person-2", "groups": []string{"ops"}} }, nil, true},
		"too many for a token": {func(u *upstream) {
			u.claims["_claim_names"] = map[string]string{"groups": "src1"}
			u.claims["_claim_sources"] = map[string]any{"src1": map[string]string{"endpoint": u.URL + "/elsewhere"}}
		}, nil, true},
		"thousands in the ID token": {func(u *upstream) { u.claims["groups"] = many }, many, false},
		"thousands at UserInfo":     {func(u *upstream) { u.userInfo = map[string]any{"sub": "person-1", "groups": many} }, many, false},
		"a claim of wrong type":     {func(u *upstream) { u.claims["groups"] = 7 }, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			tt.change(u)
			if u.userInfo != nil {
				u.discovery["userinfo_endpoint"] = u.URL + "/userinfo"
			}
			c := u.config()
			c.Groups = "groups"
			who, err := connect(t, c).Finish(t.Context(), answer)
			if diff := cmp.Diff(tt.want, who.Groups); diff != "" || err != nil || (who.GroupsError != nil) != tt.err {
				t.Errorf("%v, groups: %v (-want +got)\n%s", err, who.GroupsError, diff)
			}
			expectDiscreet(t, who.GroupsError)
		})
	}
}

func TestWhoAPersonIsNow(t *testing.T) {
	noToken := func(map[string]any) string { return "" }
	before := flow.Identity{Subject: "person-1", User: "ann", Groups: []string{"former"}, RefreshToken: refreshToken}
	for name, tt := range map[string]struct {
		change func(u *upstream)
		want   flow.Identity
		err    bool // of the groups
	}{
		"by the ID token": {func(u *upstream) { u.claims["groups"], u.claims["login"] = "eng", "anna" },
			flow.Identity{Name: "Ann", User: "anna", Groups: []string{"eng"}, RefreshToken: refreshToken}, false},
		"with another refresh token": {func(u *upstream) { u.next = nextToken },
			flow.Identity{Name: "Ann", User: "ann", Groups: []string{}, RefreshToken: nextToken}, false},
		"without a nonce": {func(u *upstream) { delete(u.claims, "nonce") },
			flow.Identity{Name: "Ann", User: "ann", Groups: []string{}, RefreshToken: refreshToken}, false},
		"by UserInfo": {func(u *upstream) {
			u.sign, u.userInfo = noToken, map[string]any{"sub": "person-1", "login": "anna", "groups": []string{"ops"}}
		}, flow.Identity{User: "anna", Groups: []string{"ops"}, RefreshToken: refreshToken}, false},
		"by UserInfo, which has no groups": {func(u *upstream) { u.sign, u.userInfo = noToken, map[string]any{"sub": "person-1"} },
			flow.Identity{User: "ann", RefreshToken: refreshToken}, true},
		"without a word": {func(u *upstream) { u.sign = noToken }, flow.Identity{User: "ann", RefreshToken: refreshToken}, true},
		"while UserInfo does not work": {func(u *upstream) {
			u.sign, u.next = noToken, nextToken
			u.discovery["userinfo_endpoint"] = u.URL + "/userinfo"
		}, flow.Identity{User: "ann", RefreshToken: nextToken}, true},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			u.refresh, u.next = refreshToken, refreshToken
			tt.change(u)
			if u.userInfo != nil {
				u.discovery["userinfo_endpoint"] = u.URL + "/userinfo"
			}
			c := u.config()
			c.Groups, c.User = "groups", oauth.UserRule{Claim: "login"}
			who := before
			who.Issuer, tt.want.Issuer, tt.want.Subject = u.URL, u.URL, "person-1"
			if tt.want.User == "ann" && u.sign == nil {
				u.claims["login"] = "ann"
			}
			got, err := connect(t, c).Renew(t.Context(), who)
			failed := got.GroupsError
			got.GroupsError = nil
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil || (failed != nil) != tt.err {
				t.Errorf("%v, groups: %v (-want +got)\n%s", err, failed, diff)
			}
			expectDiscreet(t, failed)
		})
	}
}

// refusing returns a change by which the token endpoint answers with an error.
func refusing(status int, code string) func(u *upstream) {
	return func(u *upstream) {
		u.tokens = func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error":"`+code+`","error_description":"`+refreshToken+`"}`)
		}
	}
}

func TestWhoIsLetInNoMore(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(u *upstream)
		away   bool
	}{
		"a refresh token that has ended":      {func(u *upstream) { u.refresh = "" }, false},
		"an ID token of another person":       {func(u *upstream) { u.claims["sub"] = "person-2" }, false},
		"an ID token for another client":      {func(u *upstream) { u.claims["aud"] = "other" }, false},
		"an ID token of another issuer":       {func(u *upstream) { u.claims["iss"] = "https://login.example.com" }, false},
		"an ID token that a stranger made":    {func(u *upstream) { u.sign = unsigned }, false},
		"a person who is locked out":          {refusing(http.StatusForbidden, "access_denied"), false},
		"a person who must log in again":      {refusing(http.StatusBadRequest, "login_required"), false},
		"a person who must do something":      {refusing(http.StatusBadRequest, "interaction_required"), false},
		"a person who agrees no more":         {refusing(http.StatusBadRequest, "consent_required"), false},
		"a person with several accounts":      {refusing(http.StatusBadRequest, "account_selection_required"), false},
		"a provider that says we ask wrongly": {refusing(http.StatusInternalServerError, "invalid_request"), true},
		"a provider that lets us ask no more": {refusing(http.StatusBadRequest, "unauthorized_client"), true},
		"a provider that does not work": {func(u *upstream) {
			u.tokens = func(w http.ResponseWriter) { http.Error(w, refreshToken, http.StatusBadGateway) }
		}, true},
		"a provider that refuses us": {func(u *upstream) {
			u.tokens = func(w http.ResponseWriter) {
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = io.WriteString(w, `{"error":"invalid_client","error_description":"`+refreshToken+`"}`)
			}
		}, true},
		"a provider that is down": {func(u *upstream) { u.down = true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			u.refresh, u.next = refreshToken, refreshToken
			tt.change(u)
			who, err := connect(t, u.config()).Renew(t.Context(), flow.Identity{Issuer: u.URL, Subject: "person-1", RefreshToken: refreshToken})
			if !cmp.Equal(who, flow.Identity{}) || err == nil || errors.Is(err, flow.ErrLogin) == tt.away {
				t.Errorf("%+v, %v", who, err)
			}
			expectDiscreet(t, err)
		})
	}
}
