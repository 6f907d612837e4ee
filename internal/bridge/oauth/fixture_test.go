// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit ends a test that waits for what does not come. It is far longer than anything takes, also
// while other tests use the processors.
const limit = 2 * time.Minute

// authorizationServer rotates refresh tokens, and takes who shows a used one
// for a thief: then no token of that login is good any more.
type authorizationServer struct {
	*httptest.Server

	mu       sync.Mutex
	requests []url.Values
	// inParams has clients name themselves in the body alone.
	inParams bool
	// keep gives no new refresh token.
	keep bool
	life string
	// play, where it is not nil, answers instead.
	play http.HandlerFunc
	// refresh is the good refresh token, empty once the login is revoked.
	refresh string
	// code is what who has logged in was given, empty once it was shown.
	code  string
	used  map[string]bool
	good  map[string]bool
	count int
}

const (
	clientSecret = "canary-client-secret"
	codeVerifier = "canary-verifier-0123456789-0123456789-0123456789"
	redirectURI  = "https://bridges.example/oauth/connected/drive"
)

// codeOf is a login as who connects an account leaves it.
func codeOf(code string) string {
	return fmt.Sprintf(`{"authorization_code":%q,"code_verifier":%q,"redirect_uri":%q}`, code, codeVerifier, redirectURI)
}

func newAuthorizationServer(t *testing.T) *authorizationServer {
	a := &authorizationServer{life: "3600", refresh: "canary-refresh-0", used: map[string]bool{}, good: map[string]bool{}}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *authorizationServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, r.PostForm)
	if a.play != nil {
		play := a.play
		a.mu.Unlock()
		defer a.mu.Lock()
		play(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	if !a.knows(r) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":"invalid_client","error_description":"canary-description"}`)
		return
	}
	if r.PostForm.Get("grant_type") == "refresh_token" && !a.rotate(r.PostForm.Get("refresh_token")) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant","error_description":"canary-description"}`)
		return
	}
	if r.PostForm.Get("grant_type") == "authorization_code" && !a.exchange(r.PostForm) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant","error_description":"canary-description"}`)
		return
	}
	a.count++
	access := fmt.Sprintf("canary-access-%d", a.count)
	a.good[access] = true
	refresh := ""
	if r.PostForm.Get("grant_type") != "client_credentials" && !a.keep {
		refresh = fmt.Sprintf(`,"refresh_token":%q`, a.refresh)
	}
	fmt.Fprintf(w, `{"access_token":%q,"token_type":"bearer","expires_in":%s%s}`, access, a.life, refresh)
}

func (a *authorizationServer) knows(r *http.Request) bool {
	id, secret, header := r.BasicAuth()
	if a.inParams {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
		return !header && id == "me" && secret == clientSecret
	}
	if !header { // A public client.
		return r.PostForm.Get("client_id") == "public"
	}
	return id == "me" && secret == clientSecret
}

// rotate takes a refresh token for another one.
func (a *authorizationServer) rotate(shown string) bool {
	if a.used[shown] {
		a.refresh = ""
		clear(a.good)
	}
	if shown == "" || shown != a.refresh {
		return false
	}
	if !a.keep {
		a.used[shown] = true
		a.refresh = fmt.Sprintf("canary-refresh-%d", len(a.used))
	}
	return true
}

// exchange takes a code for a login, once. Who shows it twice ends that.
func (a *authorizationServer) exchange(form url.Values) bool {
	good := a.code != "" && form.Get("code") == a.code && form.Get("code_verifier") == codeVerifier && form.Get("redirect_uri") == redirectURI
	if a.code = ""; !good {
		a.refresh = ""
		clear(a.good)
	}
	return good
}

func (a *authorizationServer) asked() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.requests)
}

func (a *authorizationServer) change(edit func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	edit()
}

func (a *authorizationServer) accepts(r *http.Request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && a.good[token]
}

// world is a source with the servers around it.
type world struct {
	*Source
	t     *testing.T
	as    *authorizationServer
	clock *clocktest.Clock
	http  *http.Client
	// server is what the token is for, and seen the tokens that it got.
	server *httptest.Server

	mu      sync.Mutex
	secrets map[string]string
	saves   int
	saveErr error
	saving  func() // called in each save
	answer  func(w http.ResponseWriter, r *http.Request) bool
	calls   int
}

// login has a person's login with these tokens.
func login(value string) func(*world, *bridgeconfig.OAuth) {
	return func(w *world, c *bridgeconfig.OAuth) {
		c.Grant, c.ClientID, c.ClientSecret, c.Token = bridgeconfig.AuthorizationCode, "public", "", "LOGIN"
		if value != "" {
			w.secrets["LOGIN"] = value
		}
	}
}

func credentials(*world, *bridgeconfig.OAuth) {}

func newWorld(t *testing.T, edit func(*world, *bridgeconfig.OAuth)) *world {
	t.Helper()
	w := &world{t: t, as: newAuthorizationServer(t), clock: clocktest.New(16), secrets: map[string]string{"SECRET": clientSecret}}
	w.server = httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.server.Close)
	c := bridgeconfig.OAuth{Grant: bridgeconfig.ClientCredentials, TokenURL: w.as.URL, ClientID: "me", ClientSecret: "SECRET", Scopes: []string{"a", "b"}, Resource: "https://mcp.example/mcp"}
	edit(w, &c)
	w.begin(c)
	return w
}

// begin replaces the source, as a restart does.
func (w *world) begin(c bridgeconfig.OAuth) {
	transport := &http.Transport{}
	w.t.Cleanup(transport.CloseIdleConnections)
	w.Source = NewSource(c, w.lookup, w.save, &http.Client{Transport: transport, Timeout: limit}, w.clock)
	w.http = &http.Client{Transport: w.Transport(transport)}
	w.t.Cleanup(w.Wipe)
}

// lookup is what the user's secrets are.
func (w *world) lookup(name string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	value, ok := w.secrets[name]
	return value, ok
}

func (w *world) save(ctx context.Context, name string, value []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.saves++
	if w.saving != nil {
		w.saving()
	}
	if w.saveErr != nil {
		return w.saveErr
	}
	w.secrets[name] = string(value)
	return ctx.Err()
}

func (w *world) set(edit func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	edit()
}

func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.calls++
	answer := w.answer
	w.mu.Unlock()
	if answer != nil && answer(rw, r) {
		return
	}
	if !w.as.accepts(r) {
		rw.WriteHeader(http.StatusUnauthorized)
		return
	}
	fmt.Fprint(rw, "ok")
}

// call makes one call and returns its status, or the error.
func (w *world) call() (int, error) {
	w.t.Helper()
	r := must.Value(http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.server.URL, strings.NewReader("{}")))(w.t)
	res, err := w.http.Do(r)
	if err != nil {
		if strings.Contains(err.Error(), "canary") {
			w.t.Errorf("the error says a secret: %v", err)
		}
		return 0, err
	}
	defer res.Body.Close()
	return res.StatusCode, nil
}

// works makes a call that must succeed, and checks how often the authorization
// server was asked until then.
func (w *world) works(asked int) {
	w.t.Helper()
	if status, err := w.call(); status != http.StatusOK || err != nil {
		w.t.Errorf("status %d, error %v", status, err)
	}
	if got := w.as.asked(); got != asked {
		w.t.Errorf("the authorization server was asked %d times, want %d", got, asked)
	}
}

// fails makes a call that must fail with this error.
func (w *world) fails(text string, login bool) {
	w.t.Helper()
	_, err := w.call()
	var e *Error
	if !errors.As(err, &e) {
		w.t.Fatalf("error %v, want %q", err, text)
	}
	if e.Error() != text || e.Login != login {
		w.t.Errorf("error %q, login %v, want %q, %v", e, e.Login, text, login)
	}
}
