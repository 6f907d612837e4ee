// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/authserver/client"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func (w *world) sendJSON(path, body string) answer {
	return w.send(http.MethodPost, path, body, http.Header{"Content-Type": {"application/json"}})
}

// register returns the id of a client that registers itself.
func (w *world) register(t testing.TB, body string) string {
	t.Helper()
	a := w.sendJSON(pathRegister, body)
	if a.status != http.StatusCreated || a.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	return a.json("client_id")
}

func TestAClientRegistersAndHearsWhatItGot(t *testing.T) {
	for _, test := range []struct{ name, sent, want string }{
		{"with what it must say",
			`{"redirect_uris":["http://127.0.0.1/cb"]}`,
			`{"redirect_uris":["http://127.0.0.1/cb"],"token_endpoint_auth_method":"none","grant_types":["authorization_code"],"response_types":["code"],"scope":"mcp:read mcp:call"}`},
		{"that asks for a secret and other grants",
			`{"client_name":"Cursor","redirect_uris":["cursor://anysphere.cursor-mcp/oauth/callback"],"token_endpoint_auth_method":"client_secret_post","grant_types":["refresh_token","authorization_code","password"],"response_types":["code","token"],"scope":"mcp:read admin","logo_uri":"https://x.example/"}`,
			`{"client_name":"Cursor","redirect_uris":["cursor://anysphere.cursor-mcp/oauth/callback"],"token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"],"response_types":["code"],"scope":"mcp:read"}`},
		{"whose name is long and hides something",
			`{"client_name":"` + strings.Repeat("n", 200) + `\u202e","redirect_uris":["https://c.example/"],"client_id":"mine"}`,
			`{"client_name":"` + strings.Repeat("n", 100) + `","redirect_uris":["https://c.example/"],"token_endpoint_auth_method":"none","grant_types":["authorization_code"],"response_types":["code"],"scope":"mcp:read mcp:call"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			a := w.sendJSON(pathRegister, test.sent)
			var got, want map[string]any
			if err := json.Unmarshal([]byte(a.body), &got); err != nil || a.status != http.StatusCreated {
				t.Fatalf("status %d, %v: %s", a.status, err, a.body)
			}
			must.Succeed(t, json.Unmarshal([]byte(test.want), &want))
			id, _ := got["client_id"].(string)
			if !registeredForm.MatchString(id) || got["client_id_issued_at"] != float64(w.now().Unix()) {
				t.Errorf("got %v", got)
			}
			delete(got, "client_id")
			delete(got, "client_id_issued_at")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("client (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClientsThatCannotRegister(t *testing.T) {
	for _, test := range []struct{ name, body, code string }{
		{"nothing", ``, "invalid_client_metadata"},
		{"a list", `[]`, "invalid_client_metadata"},
		{"a member twice", `{"redirect_uris":["https://a.example/"],"redirect_uris":["https://b.example/"]}`, "invalid_client_metadata"},
		{"another type", `{"redirect_uris":"https://a.example/"}`, "invalid_client_metadata"},
		{"no redirect URI", `{"client_name":"x"}`, "invalid_redirect_uri"},
		{"too many", `{"redirect_uris":[` + strings.Repeat(`"https://a.example/",`, 20) + `"https://a.example/"]}`, "invalid_redirect_uri"},
		{"one that others read", `{"redirect_uris":["https://a.example/","http://a.example/"]}`, "invalid_redirect_uri"},
		{"one of a scheme that is not allowed", `{"redirect_uris":["evil://x"]}`, "invalid_redirect_uri"},
		{"one that runs", `{"redirect_uris":["javascript:alert(1)"]}`, "invalid_redirect_uri"},
		{"no code", `{"redirect_uris":["https://a.example/"],"grant_types":["client_credentials"]}`, "invalid_client_metadata"},
		{"another response", `{"redirect_uris":["https://a.example/"],"response_types":["token"]}`, "invalid_client_metadata"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			refused(t, w.sendJSON(pathRegister, test.body), http.StatusBadRequest, test.code)
			if len(w.store.entries) > 0 {
				t.Error("it is stored")
			}
		})
	}
	w := newWorld(t)
	refused(t, w.program(pathRegister, nil), http.StatusUnsupportedMediaType, codeInvalidRequest)
	refused(t, w.sendJSON(pathRegister, strings.Repeat(" ", maxRegistration+1)), http.StatusRequestEntityTooLarge, codeInvalidRequest)
}

const someClient = `{"redirect_uris":["http://127.0.0.1/callback"]}`

func TestWhatAClientRegistersStaysShort(t *testing.T) {
	w := newWorld(t)
	uri := "https://a/?" + strings.Repeat("&", client.MaxAllRedirects/2)
	w.register(t, `{"redirect_uris": ["`+uri[:client.MaxAllRedirects/4]+`"]}`)
	if n := len(w.store.dump()); n > client.MaxAllRedirects {
		t.Errorf("%d bytes are stored", n)
	}
	long := `"https://a/` + strings.Repeat("a", 2000) + `"`
	refused(t, w.sendJSON(pathRegister, `{"redirect_uris": [`+strings.Repeat(long+",", 4)+long+`]}`), http.StatusBadRequest, "invalid_redirect_uri")
}

func TestStrangersClientsMakeRoomForOthers(t *testing.T) {
	w := newWorld(t)
	allowed := deskFor(alices)
	allowed.id = w.register(t, someClient)
	_, refresh := w.logIn(allowed, "alice")
	old := deskFor(alices)
	old.id = w.register(t, someClient)
	for range 10 {
		w.wait(time.Second)
		c := deskFor(alices)
		c.id = w.register(t, someClient)
		w.browser().get(c.authorize()).location(t)
	}
	page(t, w.browser().get(old.authorize()), http.StatusBadRequest, "not known here")
	if a := w.program(pathToken, allowed.refreshes(refresh)); a.status != http.StatusOK {
		t.Errorf("the client that a person allowed: status %d", a.status)
	}
	w.browser().get(allowed.authorize()).location(t)
}

func TestAClientIsKnownForAsLongAsAPersonUsesIt(t *testing.T) {
	w := newWorld(t)
	c, unused := deskFor(alices), deskFor(alices)
	c.id, unused.id = w.register(t, someClient), w.register(t, someClient)
	_, refresh := w.logIn(c, "alice")
	w.wait(unusedLife - time.Second)
	// This anybody can do, and it makes no client last.
	w.browser().get(unused.authorize()).location(t)
	refused(t, w.program(pathToken, unused.refreshes("x")), http.StatusBadRequest, codeInvalidGrant)
	refused(t, w.program(pathToken, unused.refreshes(kindRefreshOf("A"))), http.StatusBadRequest, codeInvalidGrant)
	w.wait(time.Second)
	page(t, w.browser().get(unused.authorize()), http.StatusBadRequest, "not known here")
	refused(t, w.program(pathToken, unused.refreshes(kindRefreshOf("A"))), http.StatusUnauthorized, codeInvalidClient)
	for range 5 {
		w.wait(10 * 24 * time.Hour)
		if a := w.program(pathToken, c.refreshes(refresh)); a.status == http.StatusOK {
			refresh = a.json("refresh_token")
			continue
		}
		_, refresh = w.logIn(c, "alice") // The grant has ended, and the client has not.
	}
	w.wait(defaultLifetime)
	page(t, w.browser().get(c.authorize()), http.StatusBadRequest, "not known here")
}

// kindRefreshOf returns a refresh token of one letter.
func kindRefreshOf(letter string) string { return string(kindRefresh) + strings.Repeat(letter, 86) }

func TestAClientThatEndsMeanwhileGetsNoCode(t *testing.T) {
	w := newWorld(t)
	c := deskFor(alices)
	c.id = w.register(t, someClient)
	w.wait(unusedLife - time.Minute)
	b := w.browser()
	asked := b.comesTo(c, "alice")
	w.wait(time.Minute)
	page(t, b.answers(asked, "allow"), http.StatusBadRequest, "not known here")
}

func TestRegistrationsThatCannotBeStored(t *testing.T) {
	for _, op := range []string{"trim", "put"} {
		t.Run(fmt.Sprintf("while %s fails", op), func(t *testing.T) {
			w := newWorld(t)
			w.store.fail(op)
			refused(t, w.sendJSON(pathRegister, someClient), http.StatusServiceUnavailable, codeUnavailable)
			if w.steps(stepRegister, stepFailed) != 1 {
				t.Error("it is not counted as failed")
			}
		})
	}
}
