// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"net/http"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bridge/oauth"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// sendGET sends a request without a body, and closes the answer.
func sendGET(t *testing.T, network http.RoundTripper, url string) error {
	t.Helper()
	resp, err := network.RoundTrip(must.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody))(t))
	if err == nil {
		_ = resp.Body.Close()
	}
	return err
}

// TestHeadersAndTokensStayWithTheServer and so do the messages of HTTP+SSE, for which the server names a URL.
func TestHeadersAndTokensStayWithTheServer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		server, request string
		want            bool
	}{
		"the server itself":             {"https://a.example/mcp", "https://a.example/mcp", true},
		"another path":                  {"https://a.example/mcp", "https://a.example/other/", true},
		"another host":                  {"https://a.example/mcp", "https://b.example/mcp", false},
		"a host below":                  {"https://a.example/mcp", "https://x.a.example/mcp", false},
		"another port":                  {"https://a.example/mcp", "https://a.example:8443/mcp", false},
		"from http to https":            {"http://a.example/mcp", "https://a.example/mcp", true},
		"from https to http":            {"https://a.example/mcp", "http://a.example/mcp", false},
		"a server whose URL is unknown": {"://", "https://a.example/", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent []string
			record := func(what string) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					sent = append(sent, what+r.Header.Get("X-Key"))
					return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
				})
			}
			o := OriginOf(tt.server)
			must.Succeed(t, sendGET(t, &HeaderTransport{Next: record(""), Origin: o, Headers: http.Header{"X-Key": {"c4n4ry"}}}, tt.request))
			must.Succeed(t, sendGET(t, &OriginTransport{Server: record("with a token"), Others: record("without"), Origin: o}, tt.request))
			if got := sent[0] == "c4n4ry"; got != tt.want || sent[1] == "with a token" != tt.want {
				t.Errorf("sent %q", sent)
			}
			if err := sendGET(t, &ConfinedTransport{Next: record(""), Origin: o}, tt.request); errors.Is(err, ErrElsewhere) == tt.want || len(sent) == 3 != tt.want {
				t.Errorf("a message: %v", err)
			}
		})
	}
}

// TestSecretsGoUnencryptedToNoPublicAddress: they are refused before there is a connection. New rules hold at once.
func TestSecretsGoUnencryptedToNoPublicAddress(t *testing.T) {
	t.Parallel()
	n := NewNetwork(bridgeconfig.Egress{Unrestricted: true})
	defer n.Close()
	secret := n.Towards(bridgeconfig.Server{Secrets: []string{"KEY"}})
	if err := sendGET(t, secret, "http://8.8.8.8:9/mcp"); !errors.Is(err, ErrPlain) {
		t.Errorf("to a server: %v", err)
	}
	if err := sendGET(t, AuthorizationNetwork{secret}, "http://8.8.8.8:9/token"); !errors.Is(err, oauth.ErrPlain) {
		t.Errorf("to an authorization server: %v", err)
	}
	n.UseRules(bridgeconfig.Egress{})
	for name, network := range map[string]http.RoundTripper{"with a secret": secret, "without": n.Towards(bridgeconfig.Server{})} {
		if err := sendGET(t, network, "http://127.0.0.1:9/mcp"); !errors.Is(err, ErrNotPublic) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
