// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
)

// connected has a person's login with a code that is good.
func connected(t *testing.T, edit ...func(*bridgeconfig.OAuth)) *world {
	w := newWorld(t, func(w *world, c *bridgeconfig.OAuth) {
		login(codeOf("canary-code-1"))(w, c)
		for _, e := range edit {
			e(c)
		}
	})
	w.as.change(func() { w.as.code = "canary-code-1" })
	return w
}

func confidential(c *bridgeconfig.OAuth) { c.ClientID, c.ClientSecret = "me", "SECRET" }

func TestACodeIsExchangedOnceAndItsTokensAreStoredInItsPlace(t *testing.T) {
	w := connected(t)
	w.saving = func() {
		if w.calls != 0 {
			t.Error("the server has the token before it is stored")
		}
	}
	w.works(1)
	w.set(func() { w.saving = nil })
	want := url.Values{
		"grant_type": {"authorization_code"}, "code": {"canary-code-1"}, "code_verifier": {codeVerifier}, "redirect_uri": {redirectURI},
		"client_id": {"public"}, "resource": {"https://mcp.example/mcp"},
	}
	if diff := cmp.Diff(want, w.as.requests[0]); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	const stored = `{"access_token":"canary-access-1","refresh_token":"canary-refresh-0","token_type":"Bearer","expiry":"2026-11-21T13:00:00Z"}`
	if got, _ := w.lookup("LOGIN"); got != stored {
		t.Errorf("stored %s, want %s", got, stored)
	}
	w.Refill(w.lookup) // What it stored comes back, and so may what was there before.
	w.Refill(func(string) (string, bool) { return codeOf("canary-code-1"), true })
	w.works(1)
	w.clock.Advance(time.Hour)
	w.works(2)
	w.Wipe()
	w.begin(w.endpoint.config)
	w.works(2)
	if w.as.refresh == "" {
		t.Error("the code, or a refresh token, was shown twice")
	}
}

func TestACodeOfAClientWithASecretIsExchangedAsThatClient(t *testing.T) {
	for _, inParams := range []bool{false, true} {
		t.Run(fmt.Sprintf("in the body alone: %v", inParams), func(t *testing.T) {
			w := connected(t, confidential)
			w.as.inParams = inParams
			asked := 1
			if inParams {
				asked = 2 // It was not recognised, and nothing was looked at.
			}
			w.works(asked)
			w.works(asked)
		})
	}
}

func TestCallsAtOnceShareOneExchange(t *testing.T) {
	w := connected(t)
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if status, err := w.call(); status != http.StatusOK || err != nil {
				t.Errorf("status %d, error %v", status, err)
			}
		})
	}
	calls.Wait()
	w.works(1)
}

// TestALoginWithoutARefreshTokenIsStoredToo has an authorization server whose
// tokens have no end, and one whose tokens end for good.
func TestALoginWithoutARefreshTokenIsStoredToo(t *testing.T) {
	w := connected(t)
	w.as.keep = true
	w.works(1)
	if got, _ := w.lookup("LOGIN"); !strings.Contains(got, "canary-access-1") || strings.Contains(got, "code") {
		t.Errorf("stored %s", got)
	}
	w.clock.Advance(time.Hour)
	w.fails("log in again: the login has expired and cannot be refreshed", true)
}

// TestACodeThatFailedIsNotShownAgain holds for whatever answer there was, and
// for none: nobody knows whether it was looked at.
func TestACodeThatFailedIsNotShownAgain(t *testing.T) {
	answer := func(status int, body string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(status)
			fmt.Fprint(rw, body)
		}
	}
	for name, tt := range map[string]struct {
		play http.HandlerFunc
		want string
	}{
		"it is not good any more":         {answer(400, `{"error":"invalid_grant","error_description":"canary-code-1"}`), errCode.Error()},
		"the request is not understood":   {answer(400, `{"error":"invalid_request"}`), "log in again: the authorization server refuses (invalid_request): check oauth.tokenURL and oauth.resource"},
		"a word of the server's own":      {answer(200, `{"error":"bad_verification_code"}`), "log in again: the authorization server refuses (status 200): check oauth.tokenURL"},
		"a failure":                       {answer(503, `canary-code-1`), "log in again: the authorization server cannot answer now (status 503)"},
		"no token":                        {answer(200, `{"token_type":"Bearer"}`), "log in again: the authorization server's answer holds no bearer token"},
		"another type of token":           {answer(200, `{"access_token":"canary","token_type":"DPoP"}`), "log in again: the authorization server's answer holds no bearer token"},
		"an answer that breaks off":       {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "log in again: the authorization server cannot be reached"},
		"a redirect that is not followed": {answer(307, ""), "log in again: the authorization server refuses (status 307): check oauth.tokenURL"},
	} {
		t.Run(name, func(t *testing.T) {
			w := connected(t)
			w.as.change(func() { w.as.play = tt.play })
			w.fails(tt.want, true)
			w.as.change(func() { w.as.play = nil })
			for range 3 {
				w.clock.Advance(24 * time.Hour)
				w.fails(tt.want, true)
			}
			w.Refill(w.lookup)
			w.fails(tt.want, true)
			if n := w.as.asked(); n != 1 {
				t.Errorf("asked %d times", n)
			}
			if value, _ := w.lookup("LOGIN"); value != codeOf("canary-code-1") {
				t.Errorf("stored %s", value)
			}
			w.as.change(func() { w.as.code, w.as.refresh = "canary-code-2", "canary-refresh-0" })
			w.set(func() { w.secrets["LOGIN"] = codeOf("canary-code-2") })
			w.Refill(w.lookup)
			w.works(2)
		})
	}
}

// TestACodeThatReachedNobodyStaysGood has the authorization server be away at
// first: who has just logged in need not do so again for that.
func TestACodeThatReachedNobodyStaysGood(t *testing.T) {
	w := connected(t)
	away := &refusing{next: w.endpoint.client.Transport, err: errors.New("no route to canary")}
	w.endpoint.client.Transport = away
	w.fails("the authorization server cannot be reached", false)
	away.err = ErrPlain
	w.clock.Advance(time.Minute)
	w.fails(ErrPlain.Error(), false)
	away.err = nil
	w.clock.Advance(time.Hour)
	w.works(1)
}

// refusing lets no request through while it has an error.
type refusing struct {
	next http.RoundTripper
	err  error
}

func (r *refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.err != nil {
		return nil, r.err
	}
	return r.next.RoundTrip(req)
}

func TestACodeWaitsForTheClientsSecret(t *testing.T) {
	for name, wrong := range map[string]string{"one that is not there": "", "another one": "canary-wrong"} {
		t.Run(name, func(t *testing.T) {
			w := connected(t, confidential)
			w.set(func() { delete(w.secrets, "SECRET") })
			want, asked := "secret SECRET is not set", 0
			if wrong != "" {
				w.set(func() { w.secrets["SECRET"] = wrong })
				want, asked = "the authorization server does not accept the client: check oauth.clientID and secret SECRET", 2
			}
			w.fails(want, false)
			w.set(func() { w.secrets["SECRET"] = clientSecret })
			w.Refill(w.lookup)
			w.works(asked + 1)
		})
	}
}

func TestACodeThatIsNone(t *testing.T) {
	for name, value := range map[string]string{
		"without a verifier":          `{"authorization_code":"canary","redirect_uri":"https://h"}`,
		"without where it came back":  `{"authorization_code":"canary","code_verifier":"canary"}`,
		"with a line's end":           `{"authorization_code":"canary\n","code_verifier":"canary","redirect_uri":"https://h"}`,
		"beside a refresh token":      `{"authorization_code":"canary","code_verifier":"canary","redirect_uri":"https://h","refresh_token":"canary"}`,
		"beside an access token":      `{"authorization_code":"canary","code_verifier":"canary","redirect_uri":"https://h","access_token":"canary"}`,
		"a verifier without its code": `{"code_verifier":"canary","redirect_uri":"https://h"}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, login(value))
			w.fails("log in again: secret LOGIN holds no tokens of a login", true)
			if n := w.as.asked(); n != 0 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestALoginThatIsRemovedTakesItsCodeAlong(t *testing.T) {
	w := connected(t)
	away := &refusing{next: w.endpoint.client.Transport, err: errors.New("no route to canary")}
	w.endpoint.client.Transport = away
	w.fails("the authorization server cannot be reached", false)
	held := w.current.code
	w.set(func() { delete(w.secrets, "LOGIN") })
	w.Refill(w.lookup)
	if held.value.Reveal() != "" || held.verifier.Reveal() != "" {
		t.Error("the code is still there")
	}
	away.err = nil
	w.clock.Advance(time.Hour)
	w.fails("log in again: secret LOGIN was removed", true)
	if n := w.as.asked(); n != 0 {
		t.Errorf("asked %d times", n)
	}
}
