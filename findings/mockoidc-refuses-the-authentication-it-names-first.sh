#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# github.com/oauth2-proxy/mockoidc of 2026-11-03 names client_secret_basic first among the
# token_endpoint_auth_methods_supported of its discovery document, and answers a client that
# authenticates so with 400 invalid_request. It reads client_id and client_secret of the form
# alone. RFC 6749, section 2.3.1, has every server that gives out passwords accept Basic.
set -euo pipefail
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init finding 2>/dev/null
go get github.com/oauth2-proxy/mockoidc@v0.0.0-20261103160011-e06ed0b7cb7f 2>/dev/null
cat >main.go <<'END'
package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/oauth2-proxy/mockoidc"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// redeem redeems a fresh code, with the secret in the header or in the form.
func redeem(m *mockoidc.MockOIDC, basic bool) {
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ask := url.Values{
		"client_id": {m.ClientID}, "scope": {"openid"}, "response_type": {"code"}, "redirect_uri": {"http://client.example/"}, "state": {"s"},
	}
	sent := must(must(browser.Get(m.AuthorizationEndpoint() + "?" + ask.Encode())).Location())
	form := url.Values{"grant_type": {"authorization_code"}, "code": {sent.Query().Get("code")}, "redirect_uri": {"http://client.example/"}}
	if !basic {
		form.Set("client_id", m.ClientID)
		form.Set("client_secret", m.ClientSecret)
	}
	r := must(http.NewRequest(http.MethodPost, m.TokenEndpoint(), strings.NewReader(form.Encode())))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if basic {
		r.SetBasicAuth(url.QueryEscape(m.ClientID), url.QueryEscape(m.ClientSecret))
	}
	fmt.Println("basic:", basic, "status:", must(http.DefaultClient.Do(r)).StatusCode)
}

func main() {
	m := must(mockoidc.Run())
	defer m.Shutdown()
	document := string(must(io.ReadAll(must(http.Get(m.DiscoveryEndpoint())).Body)))
	_, methods, _ := strings.Cut(document, `"token_endpoint_auth_methods_supported"`)
	methods, _, _ = strings.Cut(methods, "]")
	fmt.Println("methods", strings.Join(strings.Fields(methods), " "))
	redeem(m, true)
	redeem(m, false)
}
END
go mod tidy 2>/dev/null
go run . | tee said
grep -q '^methods.*client_secret_basic' said
grep -qx 'basic: true status: 400' said
grep -qx 'basic: false status: 200' said
