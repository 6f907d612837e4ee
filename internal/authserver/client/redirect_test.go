// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"net/url"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

const issuer = "https://bridges.example.com"

func TestWhereClientsMayBeAnswered(t *testing.T) {
	r := must.Value(NewRedirects(issuer, []string{"cursor", "com.example.app"}))(t)
	for _, test := range []struct {
		name, uri string
		want      error
	}{
		{"a site", "https://client.example/callback?keep=1", nil},
		{"a site on a port", "https://client.example:8443/", nil},
		{"a program", "http://127.0.0.1:1234/callback", nil},
		{"a program without a path", "http://localhost:1234", nil},
		{"a program by IPv6", "http://[::1]:1234/", nil},
		{"an app", "cursor://anysphere.cursor-mcp/oauth/callback", nil},
		{"an app without a host", "com.example.app:/callback", nil},
		{"a site that others read", "http://client.example/callback", errRedirectScheme},
		{"another address of this machine", "http://127.0.0.2/callback", errRedirectScheme},
		{"a host that begins so", "http://127.0.0.1.evil.example/", errRedirectScheme},
		{"a host that begins as localhost", "http://localhost.evil.example/", errRedirectScheme},
		{"a port of letters", "http://localhost:x/", errRedirectForm},
		{"an app that is not allowed", "evil://x", errRedirectScheme},
		{"a script", "javascript:alert(1)", errRedirectScheme},
		{"data", "data:text/html,x", errRedirectScheme},
		{"a scheme in capitals", "HTTPS://client.example/", errRedirectForm},
		{"no scheme", "//client.example/", errRedirectForm},
		{"no host", "https:///x", errRedirectScheme},
		{"nothing after the scheme", "cursor:", errRedirectForm},
		{"a fragment", "https://client.example/#x", errRedirectForm},
		{"an empty fragment", "https://client.example/#", errRedirectForm},
		{"a user", "https://user@client.example/", errRedirectForm},
		{"a user of a program", "http://127.0.0.1@evil.example/", errRedirectForm},
		{"a backslash", `https://client.example\@evil.example/`, errRedirectForm},
		{"a space", "https://client.example/ x", errRedirectForm},
		{"a line's end", "https://client.example/\nx", errRedirectForm},
		{"letters of other alphabets", "https://clіent.example/", errRedirectForm},
		{"a half encoding", "https://client.example/%2", errRedirectForm},
		{"a parameter that answers have", "https://client.example/?code=x", errRedirectQuery},
		{"the same in another encoding", "https://client.example/?a=1&%63ode=x", errRedirectQuery},
		{"somebody's issuer", "https://client.example/?iss=https://evil.example", errRedirectQuery},
		{"a page of the installation", issuer + "/oauth/callback/idp", errRedirectOwn},
		{"the same by its port", "https://Bridges.example.com:443/x", errRedirectOwn},
		{"the same without a port", issuer + ":/x", errRedirectOwn},
		{"another port of its host", issuer + ":8443/x", nil},
		{"nothing", "", errRedirectForm},
		{"too much", "https://client.example/" + strings.Repeat("x", maxRedirect), errRedirectForm},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := r.Check(test.uri); got != test.want { //nolint:errorlint // It is the very error.
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestSchemesThatAnInstallationCannotAllow(t *testing.T) {
	for _, scheme := range []string{"", "https", "http", "javascript", "data", "Cursor", "cursor:", "a b", "1x"} {
		if _, err := NewRedirects(issuer, []string{"cursor", scheme}); err == nil {
			t.Errorf("%q is allowed", scheme)
		}
	}
}

func TestOnlyThePortOfAProgramMayDiffer(t *testing.T) {
	uris := []string{"https://client.example/cb", "http://127.0.0.1/cb", "http://localhost:8080/cb?a=1", "http://[::1]", "cursor://x/cb"}
	for _, test := range []struct {
		uri  string
		want bool
	}{
		{"https://client.example/cb", true},
		{"https://client.example:8443/cb", false},
		{"https://client.example/cb/", false},
		{"https://client.example/cb?x=1", false},
		{"https://client.example", false},
		{"http://127.0.0.1/cb", true},
		{"http://127.0.0.1:50000/cb", true},
		{"http://127.0.0.1:/cb", false},
		{"http://127.0.0.1:500000/cb", false},
		{"http://127.0.0.1:50000/cb?x=1", false},
		{"http://127.0.0.1:50000/c", false},
		{"http://127.0.0.1:50000/", false},
		{"http://localhost:50000/cb", false},
		{"http://localhost/cb?a=1", true},
		{"http://localhost:1/cb?a=1", true},
		{"http://localhost:1/cb?a=2", false},
		{"http://[::1]:1", true},
		{"http://[::1]:1/", false},
		{"http://127.0.0.1:1@evil.example/cb", false},
		{"cursor://x:1/cb", false},
		{"cursor://x/cb", true},
	} {
		t.Run(test.uri, func(t *testing.T) {
			if got := IsRegistered(uris, test.uri); got != test.want {
				t.Errorf("%t, want %t", got, test.want)
			}
		})
	}
}

func TestAnAnswerIsAddedToWhatAURIHas(t *testing.T) {
	for uri, want := range map[string]string{
		"https://c.example/":     "https://c.example/?code=a+b",
		"https://c.example/?":    "https://c.example/?code=a+b",
		"https://c.example/?x=1": "https://c.example/?x=1&code=a+b",
		"https://c.example?x=1&": "https://c.example?x=1&code=a+b",
		"cursor:/cb":             "cursor:/cb?code=a+b",
	} {
		if got := AddQuery(uri, url.Values{"code": {"a b"}}); got != want {
			t.Errorf("%s: %s, want %s", uri, got, want)
		}
	}
}

// FuzzRedirect looks for a URI that is taken for one of a program on this machine,
// or for a registered one, and is read by net/url as another.
func FuzzRedirect(f *testing.F) {
	f.Add("http://127.0.0.1:1/cb")
	f.Add("http://localhost:1@evil.example/cb")
	f.Add("http://[::1]:1/cb?x")
	r := must.Value(NewRedirects(issuer, nil))(f)
	uris := []string{"http://127.0.0.1/cb", "http://localhost/cb", "http://[::1]/cb", "https://client.example/cb"}
	f.Fuzz(func(t *testing.T, uri string) {
		if r.Check(uri) != nil {
			return
		}
		u := must.Value(url.Parse(uri))(t)
		local := u.Hostname() == "127.0.0.1" || u.Hostname() == "localhost" || u.Hostname() == "::1"
		if u.User != nil || u.Fragment != "" || u.Scheme != "https" && (u.Scheme != "http" || !local) {
			t.Errorf("%q is taken", uri)
		}
		if IsRegistered(uris, uri) && (u.Path != "/cb" || !local && uri != "https://client.example/cb") {
			t.Errorf("%q counts as registered", uri)
		}
	})
}
