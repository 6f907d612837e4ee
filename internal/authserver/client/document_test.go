// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestWhatIsAnIDOfAClient(t *testing.T) {
	for name, test := range map[string]struct {
		id   string
		want bool
	}{
		"a URL of a document":               {"https://client.example.com/oauth/client.json", true},
		"with a port":                       {"https://client.example.com:8443/client.json", true},
		"with a query":                      {"https://client.example.com/client?id=1", true},
		"with a path that is a slash":       {"https://client.example.com/", true},
		"with a name that begins with dots": {"https://client.example.com/..client/.well-known/a", true},
		"as long as it may be":              {"https://client.example.com/" + strings.Repeat("a", maxID-27), true},
		"an address":                        {"https://192.0.2.1/client.json", true}, // It is judged when it is dialled.
		"nothing":                           {"", false},
		"a name":                            {"desk", false},
		"without encryption":                {"http://client.example.com/client.json", false},
		"of another scheme":                 {"file:///etc/passwd", false},
		"in capital letters":                {"HTTPS://client.example.com/client.json", false},
		"without a path":                    {"https://client.example.com", false},
		"without a path, with a query":      {"https://client.example.com?a", false},
		"without a host":                    {"https:///client.json", false},
		"without slashes":                   {"https:client.example.com/client.json", false},
		"with a user":                       {"https://me@client.example.com/client.json", false},
		"with a user without a name":        {"https://@client.example.com/client.json", false},
		"with a password":                   {"https://me:word@client.example.com/client.json", false},
		"with a fragment":                   {"https://client.example.com/client.json#a", false},
		"with an empty fragment":            {"https://client.example.com/client.json#", false},
		"with a dot":                        {"https://client.example.com/./client.json", false},
		"with two dots":                     {"https://client.example.com/a/../client.json", false},
		"with dots at the end":              {"https://client.example.com/a/..", false},
		"with dots in percent":              {"https://client.example.com/a/%2e%2E/client.json", false},
		"with dots in percent in part":      {"https://client.example.com/a/.%2e/client.json", false},
		"with a backslash":                  {`https://client.example.com\@other.example.com/client.json`, false},
		"with a space":                      {"https://client.example.com/client .json", false},
		"with a tab":                        {"https://client.example.com/client\t.json", false},
		"with an end of line":               {"https://client.example.com/client.json\r\nHost: a", false},
		"with other letters":                {"https://client.example.com/clíent.json", false},
		"with other letters in the host":    {"https://clíent.example.com/client.json", false},
		"with percent in the host":          {"https://cl%C3%ADent.example.com/client.json", false},
		"with a dot of full width":          {"https://client%EF%BC%8Eexample.com/client.json", false},
		"with a host as in DNS":             {"https://xn--clent-2sa.example.com/client.json", true},
		"with a port that is none":          {"https://client.example.com:a/client.json", false},
		"with percent that is none":         {"https://client.example.com/%zz", false},
		"too long":                          {"https://client.example.com/" + strings.Repeat("a", maxID-26), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := checkID(test.id) == nil; got != test.want {
				t.Errorf("%q: %v", test.id, checkID(test.id))
			}
			if err := checkID(test.id); err != nil && !errors.Is(err, flow.ErrClient) {
				t.Error(err)
			}
		})
	}
}

// TestChatGPTIsAClient has a document with the members that those of its connectors
// have. It prefers to prove who it is by a key.
func TestChatGPTIsAClient(t *testing.T) {
	const id = "https://chatgpt.com/oauth/AbCdEf123456/client.json"
	var d document
	must.Succeed(t, json.Unmarshal([]byte(`{
		"client_id": "https://chatgpt.com/oauth/AbCdEf123456/client.json",
		"client_name": "ChatGPT",
		"client_uri": "https://chatgpt.com/",
		"redirect_uris": ["https://chatgpt.com/connector/oauth/AbCdEf123456"],
		"grant_types": ["authorization_code", "refresh_token"],
		"response_types": ["code"],
		"token_endpoint_auth_method": "private_key_jwt",
		"token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
		"token_endpoint_auth_signing_alg": "RS256",
		"jwks_uri": "https://chatgpt.com/oauth/jwks.json"
	}`), &d))
	got, err := d.client(id)
	want := flow.Client{ID: id, Name: "ChatGPT", URI: "https://chatgpt.com/", RedirectURIs: []string{"https://chatgpt.com/connector/oauth/AbCdEf123456"}, Document: true}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func FuzzAnIDIsOfAClientOrNot(f *testing.F) {
	for _, id := range []string{"https://client.example.com/a", "https://[::1]/", "https://a/%2e", "https://a/b?c#d"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if checkID(id) == nil && (len(id) > maxID || !strings.HasPrefix(id, "https://") || strings.ContainsAny(id, "#\\ \n") || strings.Contains(id, "/../")) {
			t.Errorf("%q is taken for a client's id", id)
		}
	})
}

func TestAPageOfTheClientsOwnIsShown(t *testing.T) {
	const id = "https://client.example.com/client.json"
	for name, test := range map[string]struct{ page, want string }{
		"one on its host":         {"https://client.example.com/about", "https://client.example.com/about"},
		"none":                    {"", ""},
		"one on another host":     {"https://example.com/", ""},
		"one on another port":     {"https://client.example.com:1/", ""},
		"one without encryption":  {"http://client.example.com/", ""},
		"one that runs something": {"javascript:alert(1)", ""},
		"one with a user":         {"https://me@client.example.com/", ""},
		"one that is no URL":      {"https://client.example.com:a", ""},
		"one that is too long":    {"https://client.example.com/" + strings.Repeat("a", maxID), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := homepage(test.page, id); got != test.want {
				t.Errorf("%q", got)
			}
		})
	}
}
