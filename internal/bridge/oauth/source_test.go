// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestAClientAsksWithItsOwnCredentials(t *testing.T) {
	for _, inParams := range []bool{false, true} {
		t.Run(fmt.Sprintf("in the body alone: %v", inParams), func(t *testing.T) {
			w := newWorld(t, credentials)
			w.as.inParams = inParams
			asked := 1
			if inParams {
				asked = 2
			}
			w.works(asked)
			w.works(asked)
			want := url.Values{"grant_type": {"client_credentials"}, "scope": {"a b"}, "resource": {"https://mcp.example/mcp"}}
			if inParams {
				want["client_id"], want["client_secret"] = []string{"me"}, []string{clientSecret}
			}
			if diff := cmp.Diff(want, w.as.requests[asked-1]); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			w.clock.Advance(time.Hour)
			w.works(asked + 1) // It knows by now how the client names itself.
			if w.saves != 0 {
				t.Error("a token that anybody can get again was stored")
			}
		})
	}
}

func TestALoginIsReadAsJSONOrAsABareRefreshToken(t *testing.T) {
	for _, test := range []struct {
		name, value string
		asked       int
		saved       bool
	}{
		{"a bare refresh token", "canary-refresh-0", 1, true},
		{"one with a line's end", "canary-refresh-0\n", 1, true},
		{"an access token that is good for long", `{"access_token":"canary-good","refresh_token":"canary-refresh-0","token_type":"Bearer","expiry":"2026-11-21T13:00:00Z"}`, 0, false},
		{"an access token without an end", `{"access_token":"canary-good","refresh_token":"canary-refresh-0"}`, 0, false},
		{"an access token alone", `{"access_token":"canary-good","expiry":"2026-11-21T12:00:01Z"}`, 0, false},
		{"an access token that has ended", `{"access_token":"canary-good","refresh_token":"canary-refresh-0","expiry":"2026-11-21T11:00:00Z"}`, 1, true},
		{"an access token of another type", `{"access_token":"canary-good","refresh_token":"canary-refresh-0","token_type":"mac"}`, 1, true},
		{"a refresh token as JSON", `{"refresh_token":"canary-refresh-0","scope":"x"}`, 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, login(test.value))
			w.as.good["canary-good"] = true
			w.works(test.asked)
			w.works(test.asked)
			if (w.saves == 1) != test.saved {
				t.Errorf("stored %d times", w.saves)
			}
			if test.asked == 0 {
				return
			}
			want := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"canary-refresh-0"}, "client_id": {"public"}, "resource": {"https://mcp.example/mcp"}}
			if diff := cmp.Diff(want, w.as.requests[0]); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			wantSaved := `{"access_token":"canary-access-1","refresh_token":"canary-refresh-1","token_type":"Bearer","expiry":"2026-11-21T13:00:00Z"}`
			if got := w.secrets["LOGIN"]; got != wantSaved {
				t.Errorf("stored %s, want %s", got, wantSaved)
			}
		})
	}
}

func TestALoginGoesOnAfterARestart(t *testing.T) {
	w := newWorld(t, login("canary-refresh-0"))
	for i := range 5 {
		w.works(i + 1)
		w.Wipe()
		w.begin(w.endpoint.config)
		w.works(i + 1) // With the access token that was stored.
		w.clock.Advance(time.Hour)
	}
	if w.as.refresh == "" {
		t.Error("a refresh token was shown twice")
	}
}

func TestAServerWithoutRotationHasNothingStored(t *testing.T) {
	w := newWorld(t, login("canary-refresh-0"))
	w.as.keep = true
	w.works(1)
	w.clock.Advance(time.Hour)
	w.works(2)
	if w.saves != 0 {
		t.Errorf("stored %d times", w.saves)
	}
}

func TestATokenIsReplacedAMinuteBeforeItsEnd(t *testing.T) {
	for _, test := range []struct {
		name, life  string
		keeps, ends time.Duration
	}{
		{"of an hour", "3600", time.Hour - early - spread - time.Second, time.Hour - early + time.Second},
		{"of a minute", "60", 29 * time.Second, 31 * time.Second},
		{"of an hour as a text", `"3600"`, time.Hour - early - spread - time.Second, time.Hour - early + time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, credentials)
			w.as.life = test.life
			w.works(1)
			w.clock.Advance(test.keeps)
			w.works(1)
			w.clock.Advance(test.ends - test.keeps)
			w.works(2)
		})
	}
}

func TestATokenWithoutAnEndIsKept(t *testing.T) {
	for _, life := range []string{"0", "null", "-5"} {
		w := newWorld(t, credentials)
		w.as.life = life
		w.works(1)
		w.clock.Advance(1000 * time.Hour)
		w.works(1)
	}
}

func TestAnAuthorizationServerThatIsAwayDoesNotEndAGoodToken(t *testing.T) {
	w := newWorld(t, credentials)
	w.works(1)
	w.as.change(func() {
		w.as.play = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	})
	w.clock.Advance(time.Hour - early + time.Second)
	w.works(2)
	w.works(2) // It is not asked with each call.
	w.clock.Advance(2 * time.Second)
	w.works(3)
	w.clock.Advance(early)
	w.fails("the authorization server cannot answer now (status 503)", false)
	w.as.change(func() { w.as.play = nil })
	w.clock.Advance(lastPause)
	w.works(5)
}

// The clock of who stored the token was wrong, or the authorization server
// ended it before its time.
func TestATokenThatTheServerRefusesIsReplacedOnce(t *testing.T) {
	w := newWorld(t, login(`{"access_token":"canary-old","refresh_token":"canary-refresh-0","expiry":"2027-01-01T00:00:00Z"}`))
	w.works(1)
	if w.calls != 2 {
		t.Errorf("%d requests, want 2", w.calls)
	}
	// A server that refuses every token is not helped by more of them.
	w.answer = func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.WriteHeader(http.StatusUnauthorized)
		return true
	}
	for range 3 {
		if status, err := w.call(); status != http.StatusUnauthorized || err != nil {
			t.Errorf("status %d, error %v", status, err)
		}
	}
	if w.calls != 5 || w.as.asked() != 1 {
		t.Errorf("%d requests, the authorization server asked %d times", w.calls, w.as.asked())
	}
	w.clock.Advance(settled)
	if status, err := w.call(); status != http.StatusUnauthorized || err != nil || w.calls != 7 || w.as.asked() != 2 {
		t.Errorf("status %d, error %v, %d requests, asked %d times", status, err, w.calls, w.as.asked())
	}
}

func TestOtherRefusalsAreAnswers(t *testing.T) {
	w := newWorld(t, credentials)
	w.answer = func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
		rw.WriteHeader(http.StatusForbidden)
		return true
	}
	w.clock.Advance(time.Hour)
	if status, err := w.call(); status != http.StatusForbidden || err != nil || w.calls != 1 || w.as.asked() != 1 {
		t.Errorf("status %d, error %v, %d requests, asked %d times", status, err, w.calls, w.as.asked())
	}
}

func TestWhatCannotBeSentAgainIsNot(t *testing.T) {
	w := newWorld(t, login(`{"access_token":"canary-old","refresh_token":"canary-refresh-0"}`))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.server.URL, struct{ *strings.Reader }{strings.NewReader("{}")})
	if err != nil {
		t.Fatal(err)
	}
	r.GetBody = nil
	res := must.Value(w.http.Do(r))(t)
	res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized || w.calls != 1 {
		t.Errorf("status %d, %d requests", res.StatusCode, w.calls)
	}
	w.works(1)
}

func TestCallsAtOnceShareOneRefresh(t *testing.T) {
	for name, value := range map[string]string{
		"without a token":               "canary-refresh-0",
		"with one that nobody takes":    `{"access_token":"canary-old","refresh_token":"canary-refresh-0"}`,
		"with one that has just ended":  `{"access_token":"canary-old","refresh_token":"canary-refresh-0","expiry":"2026-11-21T12:00:00Z"}`,
		"with one that is about to end": `{"access_token":"canary-old","refresh_token":"canary-refresh-0","expiry":"2026-11-21T12:00:50Z"}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, login(value))
			statuses := make(chan int, 50)
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					status, _ := w.call()
					statuses <- status
				})
			}
			all.Wait()
			for range 50 {
				if status := <-statuses; status != http.StatusOK {
					t.Errorf("status %d", status)
				}
			}
			if w.as.asked() != 1 || w.saves != 1 {
				t.Errorf("asked %d times, stored %d times", w.as.asked(), w.saves)
			}
		})
	}
}

func TestWhoLeavesDoesNotEndTheRefresh(t *testing.T) {
	w := newWorld(t, login("canary-refresh-0"))
	asked, goOn := make(chan struct{}), make(chan struct{})
	w.as.change(func() {
		w.as.play = func(rw http.ResponseWriter, r *http.Request) {
			close(asked)
			<-goOn
			w.as.change(func() { w.as.play = nil })
			w.as.ServeHTTP(rw, r)
		}
	})
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := w.token(ctx, "")
		left <- err
	}()
	<-asked
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(goOn)
	w.works(2) // The test's own playing counts too.
	if w.as.refresh == "" || w.saves != 1 {
		t.Errorf("revoked, or stored %d times", w.saves)
	}
}

// Nobody may have a token that a crash in the next moment would lose.
func TestATokenIsStoredBeforeItIsUsed(t *testing.T) {
	w := newWorld(t, login("canary-refresh-0"))
	w.saving = func() {
		if w.calls != 0 {
			t.Error("the server has the token already")
		}
	}
	w.works(1)
	if w.saves != 1 {
		t.Errorf("stored %d times", w.saves)
	}
}

func TestTokensThatAreNotStoredAreTriedAgain(t *testing.T) {
	w := newWorld(t, login("canary-refresh-0"))
	w.set(func() { w.saveErr = errors.New("away") })
	w.works(1)
	for i := range 4 {
		pause := <-w.clock.Waits
		if most := firstPause << i; pause.D < most/2 || pause.D > most {
			t.Errorf("tried again after %s, want up to %s", pause.D, most)
		}
		if i == 2 {
			// What comes meanwhile is stored instead, and once.
			w.clock.Advance(time.Hour)
			w.works(2)
		}
		if i == 3 {
			w.set(func() { w.saveErr = nil })
		}
		pause.Fire <- time.Time{}
	}
	w.eventually(func() bool { value, _ := w.lookup("LOGIN"); return strings.Contains(value, "canary-refresh-2") })
	w.eventually(func() bool {
		w.store.mu.Lock()
		defer w.store.mu.Unlock()
		return w.store.unsaved == nil && !w.store.persisting
	})
	w.clock.Advance(time.Hour)
	w.works(3)
	if w.as.refresh == "" {
		t.Error("a refresh token was shown twice")
	}
}

func (w *world) eventually(ok func() bool) {
	w.t.Helper()
	deadline := time.After(limit)
	for !ok() {
		select {
		case <-time.After(time.Millisecond):
		case <-deadline:
			w.t.Fatal("it does not come")
		}
	}
}

func TestAUsedRefreshTokenSaysToLogInAgain(t *testing.T) {
	w := newWorld(t, login("canary-refresh-0"))
	w.as.used["canary-refresh-0"] = true // A crash before it was stored.
	const again = "log in again: the authorization server does not accept the login any more"
	w.fails(again, true)
	w.fails(again, true)
	if n := w.as.asked(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	w.Refill(w.lookup) // Another secret changed.
	w.fails(again, true)
	w.as.change(func() { w.as.refresh = "canary-refresh-9" })
	w.set(func() { w.secrets["LOGIN"] = "canary-refresh-9" })
	w.Refill(w.lookup)
	w.works(2)
}

func TestWhatASourceStoredItselfIsNoNewLogin(t *testing.T) {
	w := newWorld(t, login("canary-refresh-0"))
	w.Refill(w.lookup)
	old := w.lookup
	w.works(1)
	w.Refill(w.lookup)
	w.works(1)
	w.Refill(func(name string) (string, bool) {
		if name == "LOGIN" {
			return "canary-refresh-0", true // A fetch that was slower than the refresh.
		}
		return old(name)
	})
	w.works(1)
	w.clock.Advance(time.Hour)
	w.works(2)
	if w.as.refresh == "" {
		t.Error("a refresh token was shown twice")
	}
}

// TestALoginThatItsUserRemovesEnds removes it while its tokens are not stored yet.
func TestALoginThatItsUserRemovesEnds(t *testing.T) {
	w := newWorld(t, login("canary-refresh-0"))
	w.set(func() { w.saveErr = errors.New("away") })
	w.works(1)
	again := <-w.clock.Waits
	w.set(func() {
		w.saveErr = nil
		delete(w.secrets, "LOGIN")
	})
	w.Refill(w.lookup)
	w.fails("log in again: secret LOGIN was removed", true)
	again.Fire <- w.clock.Now()
	w.work.Wait()
	if _, ok := w.lookup("LOGIN"); ok {
		t.Error("the login was stored after its user had removed it")
	}
	w.clock.Advance(24 * time.Hour)
	w.fails("log in again: secret LOGIN was removed", true)
	w.as.change(func() { w.as.refresh = "canary-refresh-9" })
	w.set(func() { w.secrets["LOGIN"] = "canary-refresh-9" })
	w.Refill(w.lookup)
	w.works(2)
}

// TestALoginThatCannotBeStoredIsKeptInMemory gives back what the secret still is.
func TestALoginThatCannotBeStoredIsKeptInMemory(t *testing.T) {
	w := newWorld(t, login("canary-refresh-0"))
	w.set(func() { w.saveErr = fmt.Errorf("it is managed: %w", ErrNotStorable) })
	for n := range 3 {
		w.works(n + 1)
		w.Refill(w.lookup)
		w.works(n + 1)
		w.clock.Advance(time.Hour)
	}
	w.work.Wait() // Nobody tries again.
	if w.saves != 3 || w.as.refresh == "" {
		t.Errorf("tried to store %d times; the login is good: %v", w.saves, w.as.refresh != "")
	}
}

func TestANewLoginReplacesWhatIsUnderWay(t *testing.T) {
	w := newWorld(t, login("canary-refresh-0"))
	w.as.change(func() {
		w.as.play = func(rw http.ResponseWriter, r *http.Request) {
			w.set(func() { w.secrets["LOGIN"] = "canary-refresh-9" })
			w.Refill(w.lookup)
			w.as.change(func() { w.as.play = nil })
			w.as.ServeHTTP(rw, r)
			w.as.change(func() { w.as.refresh = "canary-refresh-9" })
		}
	})
	w.works(3)
	if w.saves != 1 || !strings.Contains(w.secrets["LOGIN"], "access-2") {
		t.Errorf("stored %d times, and not the new login", w.saves)
	}
}

func TestAnotherClientSecretIsTriedAtOnce(t *testing.T) {
	w := newWorld(t, credentials)
	w.set(func() { w.secrets["SECRET"] = "canary-wrong" })
	const refused = "the authorization server does not accept the client: check oauth.clientID and secret SECRET"
	w.fails(refused, false)
	w.fails(refused, false)
	if n := w.as.asked(); n != 2 { // Once in each way.
		t.Errorf("asked %d times", n)
	}
	w.set(func() { w.secrets["SECRET"] = clientSecret })
	w.Refill(w.lookup)
	w.works(3)
}

func TestALoginThatIsNone(t *testing.T) {
	const none = "log in again: secret LOGIN holds no tokens of a login"
	for _, test := range []struct {
		name, value, want string
		login             bool
	}{
		{"nothing", "", "secret LOGIN is not set", false},
		{"spaces", "  ", none, true},
		{"two words", "canary two", none, true},
		{"two lines", "canary\r\nX-Evil: 1", none, true},
		{"broken JSON", `{"refresh_token":"canary`, none, true},
		{"JSON without tokens", `{"token_type":"Bearer"}`, none, true},
		{"a token with a line's end", `{"access_token":"canary\n","refresh_token":"canary"}`, none, true},
		{"a token that is too long", strings.Repeat("canary", maxToken), none, true},
		{"an access token that has ended", `{"access_token":"canary","expiry":"2026-11-21T11:00:00Z"}`, "log in again: the login has expired and cannot be refreshed", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, login(test.value))
			w.fails(test.want, test.login)
			w.clock.Advance(24 * time.Hour)
			w.fails(test.want, test.login)
			if n := w.as.asked(); n != 0 {
				t.Errorf("the authorization server was asked %d times", n)
			}
		})
	}
}

func TestAnswersOfAuthorizationServers(t *testing.T) {
	const none = "the authorization server's answer holds no bearer token"
	for _, test := range []struct {
		name, contentType string
		status            int
		body, want        string
	}{
		{"a page", "text/html", 200, "<html>canary</html>", none},
		{"a page with an error", "text/html", 404, "<html>canary</html>", "the authorization server refuses (status 404): check oauth.tokenURL"},
		{"nothing", "application/json", 200, "", none},
		{"JSON as text", "text/plain", 200, `{"access_token":"canary"}`, none},
		{"no access token", "application/json", 200, `{"refresh_token":"canary"}`, none},
		{"another type of token", "application/json", 200, `{"access_token":"canary","token_type":"DPoP"}`, none},
		{"a token with a line's end", "application/json", 200, `{"access_token":"canary\r\nX-Evil: 1"}`, none},
		{"an expiry that is none", "application/json", 200, `{"access_token":"canary","expires_in":"canary"}`, none},
		{"a redirect", "text/html", 307, "", "the authorization server refuses (status 307): check oauth.tokenURL"},
		{"an error with status 200", "application/json", 200, `{"error":"invalid_scope","error_description":"canary"}`, "the authorization server refuses (invalid_scope): check oauth.scopes"},
		{"a resource that is not known", "application/json", 400, `{"error":"invalid_target"}`, "the authorization server refuses (invalid_target): check oauth.resource"},
		{"an error of its own", "application/json", 400, `{"error":"canary-error"}`, "the authorization server refuses (status 400): check oauth.tokenURL"},
		{"too many requests", "text/plain", 429, "canary", "the authorization server cannot answer now (status 429)"},
		{"a failure", "text/plain", 500, "canary", "the authorization server cannot answer now (status 500)"},
		{"an answer that breaks off", "application/json", 0, "", "the authorization server cannot be reached"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, credentials)
			w.as.play = func(rw http.ResponseWriter, _ *http.Request) {
				if test.status == 0 {
					panic(http.ErrAbortHandler)
				}
				rw.Header().Set("Content-Type", test.contentType)
				rw.Header().Set("Location", w.server.URL)
				rw.WriteHeader(test.status)
				fmt.Fprint(rw, test.body)
			}
			w.fails(test.want, false)
			if w.calls != 0 {
				t.Error("the client's credentials went somewhere else")
			}
		})
	}
	t.Run("a form, which some give", func(t *testing.T) {
		w := newWorld(t, credentials)
		w.as.good["canary-form"] = true
		w.as.play = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/x-www-form-urlencoded")
			fmt.Fprint(rw, "access_token=canary-form&token_type=bearer&expires_in=60")
		}
		w.works(1)
	})
}

func TestAnAuthorizationServerThatIsSlow(t *testing.T) {
	w := newWorld(t, credentials)
	release := make(chan struct{})
	defer close(release)
	w.as.play = func(http.ResponseWriter, *http.Request) { <-release }
	w.endpoint.client.Timeout = 20 * time.Millisecond
	w.fails("the authorization server does not answer in time", false)
}

func TestWipeEndsASource(t *testing.T) {
	w := newWorld(t, login("canary-refresh-0"))
	w.works(1)
	access := w.current.access
	if shown := fmt.Sprintf("%v %+v %#v %s %d", w.Source, w.Source, w.Source, w.Source, w.Source); strings.Contains(shown, "canary") {
		t.Errorf("shown: %s", shown)
	}
	w.Wipe()
	w.Wipe()
	if access.Reveal() != "" {
		t.Error("the token is still there")
	}
	w.fails("the server's token is not there any more", false)
	w.Refill(w.lookup)
	w.fails("the server's token is not there any more", false)
}

func TestAtTheEndTokensAreStoredThatWereNot(t *testing.T) {
	w := newWorld(t, login("canary-refresh-0"))
	w.set(func() { w.saveErr = errors.New("away") })
	w.works(1)
	<-w.clock.Waits
	w.set(func() { w.saveErr = nil })
	w.Wipe()
	if value, _ := w.lookup("LOGIN"); !strings.Contains(value, "canary-refresh-1") {
		t.Error("the last refresh token is lost")
	}
}

func TestARefreshThatIsUnderWayAtTheEndIsStored(t *testing.T) {
	w := newWorld(t, login("canary-refresh-0"))
	asked, goOn := make(chan struct{}), make(chan struct{})
	w.as.play = func(rw http.ResponseWriter, r *http.Request) {
		close(asked)
		<-goOn
		w.as.change(func() { w.as.play = nil })
		w.as.ServeHTTP(rw, r)
	}
	calling := make(chan struct{})
	go func() {
		defer close(calling)
		_, _ = w.call()
	}()
	<-asked
	wiped := make(chan struct{})
	go func() {
		defer close(wiped)
		w.Wipe()
	}()
	if d := (<-w.clock.Waits).D; d != farewell {
		t.Errorf("it waits for %s", d)
	}
	close(goOn)
	<-wiped
	<-calling
	if value, _ := w.lookup("LOGIN"); !strings.Contains(value, "canary-refresh-1") {
		t.Error("the last refresh token is lost")
	}
}

func TestALoginLivesWithThisProcessWhereNothingCanBeStored(t *testing.T) {
	w := newWorld(t, login("canary-refresh-0"))
	w.Source.store.save = nil
	w.works(1)
	w.clock.Advance(time.Hour)
	w.works(2)
}

func FuzzParseLogin(f *testing.F) {
	for _, value := range []string{"r", " r\n", `{"refresh_token":"r"}`, `{"access_token":"a","expiry":"2026-11-21T12:00:00Z"}`, `{"access_token":"a\u0000"}`, "{}", "", codeOf("c")} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		login, ok := parseLogin(value)
		tokens := slices.DeleteFunc([]string{login.AccessToken, login.RefreshToken, login.Code, login.Verifier}, func(s string) bool { return s == "" })
		if ok && (len(tokens) == 0 || slices.ContainsFunc(tokens, func(s string) bool { return !sendable(s) })) {
			t.Errorf("%q is taken for a login", value)
		}
	})
}
