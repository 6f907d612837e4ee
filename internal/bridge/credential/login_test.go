// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// authority is an authorization server that gives new tokens each time.
type authority struct {
	mu    sync.Mutex
	given int
	asked string // the last request
}

// RoundTrip implements http.RoundTripper.
func (a *authority) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.given++
	body, _ := io.ReadAll(r.Body)
	a.asked = string(body)
	tokens := fmt.Sprintf(`{"access_token":"c4n4ry-access-%d","refresh_token":"c4n4ry-refresh-%[1]d","token_type":"Bearer","expires_in":3600}`, a.given)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(tokens)), Request: r}, nil
}

// TestALoginIsUsedWithItsNewestTokens by all servers that have it, and no text shows a token.
func TestALoginIsUsedWithItsNewestTokens(t *testing.T) {
	t.Parallel()
	c := bridgeconfig.OAuth{Grant: bridgeconfig.AuthorizationCode, TokenURL: "https://auth.example/token", ClientID: "me", Token: "LOGIN"}
	other := c
	other.ClientID = "you"
	network, saved := &authority{}, make(chan string, 9)
	logins := NewLogins(func(_ context.Context, name string, value []byte) error {
		saved <- name + " " + string(value)
		return nil
	}, func(context.Context, string) ([]byte, func(), error) { return nil, func() {}, nil }, network)
	defer logins.Wipe()
	login := logins.For(&c)
	if again := c; logins.For(&again) != login || logins.For(&other) == login || logins.For(nil) != nil {
		t.Error("another login is shared, or the same one is not")
	}
	call := func() string {
		var server sent
		r := must.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, "https://a.example", http.NoBody))(t)
		res := must.Value(login.Transport(&server).RoundTrip(r))(t)
		_ = res.Body.Close()
		return server[0]
	}
	use := func(value string) {
		logins.Use(secret.NewSet("1", map[string][]byte{"LOGIN": []byte(value), "OTHER": []byte("x")}, nil))
	}
	use("c4n4ry-refresh-0")
	if got := call(); got != "Bearer c4n4ry-access-1" || !strings.Contains(network.asked, "refresh_token=c4n4ry-refresh-0") {
		t.Errorf("sent %q", got)
	}
	name, value, _ := strings.Cut(<-saved, " ")
	if name != "LOGIN" || !login.Stored(value) || login.Stored("c4n4ry-refresh-0") {
		t.Errorf("%s was stored", name)
	}
	const text = "c4n4ry-access-1 c4n4ry-refresh-1"
	if got := login.Redactor(secret.Redactor{}).Redact(text); got != "[redacted] [redacted]" {
		t.Errorf("a text with its tokens is shown as %q", got)
	}
	for step, change := range map[string]func(){
		"what it stored":                func() { use(value) },
		"what it began with":            func() { use("c4n4ry-refresh-0") },
		"a secret that is not readable": func() { logins.Use(secret.NewSet("2", nil, []string{"LOGIN"})) },
	} {
		if change(); call() != "Bearer c4n4ry-access-1" {
			t.Errorf("after %s it has another token", step)
		}
	}
	logins.Use(secret.NewSet("3", nil, nil))
	use("c4n4ry-refresh-0")
	if got := call(); got != "Bearer c4n4ry-access-2" {
		t.Errorf("a login that its user has ended goes on with %q", got)
	}
	if _, ok := login.secret("OTHER"); ok {
		t.Error("it sees a secret that is not its own")
	}
	for n := range maxSent {
		use(fmt.Sprint("c4n4ry-refresh-of-login-", n))
		if call(); n == maxSent/2-3 && strings.Contains(login.Redactor(secret.Redactor{}).Redact(text), "c4n4ry") {
			t.Error("its first tokens are forgotten while there is room")
		}
	}
	if len(login.sent) != maxSent {
		t.Errorf("it keeps %d tokens", len(login.sent))
	}
	if logins.Wipe(); len(login.sent) != 0 {
		t.Error("it keeps tokens after its end")
	}
}

// TestTokensWithinSecretsAreTakenOutOfErrors, since a server gets them without the JSON around them.
func TestTokensWithinSecretsAreTakenOutOfErrors(t *testing.T) {
	t.Parallel()
	s := bridgeconfig.Server{OAuth: &bridgeconfig.OAuth{ClientSecret: "CLIENT"}, Secrets: []string{"CLIENT", "LOGIN", "BARE"}}
	g := New(t.Context(), s, secret.NewSet("1", map[string][]byte{
		"CLIENT": []byte("c4n4ry-client"), "BARE": []byte("c4n4ry-bare"), "OTHER": []byte("not-granted"),
		"LOGIN": []byte(`{"access_token":"c4n4ry-a","refresh_token":"c4n4ry-r","authorization_code":"c4n4ry-c","code_verifier":"c4n4ry-v","scope":"a-scope"}`),
	}, nil), nil)
	defer g.end()
	got := g.Redactor.Redact("c4n4ry-client c4n4ry-bare c4n4ry-a c4n4ry-r c4n4ry-c c4n4ry-v a-scope not-granted")
	if want := strings.Repeat("[redacted] ", 6) + "a-scope not-granted"; got != want {
		t.Errorf("shown as %q, want %q", got, want)
	}
}
