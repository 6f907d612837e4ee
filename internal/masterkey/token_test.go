// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package masterkey

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestATokenFileIsReadForEachCall(t *testing.T) {
	e, s := serve(t)
	s.create(t, "key")
	source := s.source(t, "key")
	e.mu.Lock()
	e.tokens = map[string]bool{"hvs.second": true}
	e.mu.Unlock()
	if err := source.Reload(t.Context()); !errors.Is(err, errDenied) {
		t.Errorf("error %v, want %v", err, errDenied)
	}
	must.Succeed(t, os.WriteFile(source.options.Transit.TokenFile, []byte("hvs.second\n"), 0o600))
	if err := source.Reload(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestATokenFileThatIsNone(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "blank": " \n", "two lines": "hvs.canary-1\nhvs.canary-2", "a control character": "hvs.canary\x01", "far too long": strings.Repeat("canary", 10_000),
	} {
		file := filepath.Join(t.TempDir(), "token")
		must.Succeed(t, os.WriteFile(file, []byte(content), 0o600))
		if token, err := readToken(file); err == nil || token != "" || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := readToken(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("a file that is not there has a token")
	}
}

// byRole is a source that logs in by the Kubernetes method.
func byRole(t *testing.T, s server, key string) *Source {
	t.Helper()
	jwt := filepath.Join(t.TempDir(), "jwt")
	must.Succeed(t, os.WriteFile(jwt, []byte("the.service.account"), 0o600))
	o := s.options(t, key)
	o.TokenFile, o.Role, o.JWTFile = "", "keybroker", jwt
	return open(t, Options{Dir: write(t, map[string]string{"authority": encoded(9)}), Provider: ProviderTransit, Transit: o})
}

func TestALoginIsUsedUntilItEnds(t *testing.T) {
	e, s := serve(t)
	s.create(t, "key")
	source := byRole(t, s, "key")
	now := time.Now()
	source.transit.token.(*login).now = func() time.Time { return now }
	k := source.Keys()
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if err := source.Reload(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	mustOpen(t, k, seal(t, k))
	if e.logins != 1 {
		t.Errorf("%d logins, want 1", e.logins)
	}
	now = now.Add(39 * time.Second) // Of 60, two thirds are 40.
	mustOpen(t, k, seal(t, k))
	if e.logins != 1 {
		t.Errorf("%d logins, want 1", e.logins)
	}
	now = now.Add(2 * time.Second)
	mustOpen(t, k, seal(t, k))
	if e.logins != 2 {
		t.Errorf("%d logins, want 2", e.logins)
	}
}

func TestALoginThatWasRevokedIsRepeated(t *testing.T) {
	e, s := serve(t)
	s.create(t, "key")
	source := byRole(t, s, "key")
	now := time.Now()
	source.transit.token.(*login).now = func() time.Time { return now }
	now = now.Add(20 * time.Second)
	e.mu.Lock()
	delete(e.tokens, "hvs.login-1")
	e.mu.Unlock()
	mustOpen(t, source.Keys(), seal(t, source.Keys()))
	if e.logins != 2 {
		t.Errorf("%d logins, want 2", e.logins)
	}
}

// A policy denies too. That is no reason to log in for every call.
func TestADenialIsNotAnsweredByLoggingInAgainAndAgain(t *testing.T) {
	e, s := serve(t)
	s.create(t, "key")
	source := byRole(t, s, "key")
	e.mu.Lock()
	e.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/keys/") {
			refuse(w, 403, "1 error occurred:\n\t* permission denied")
			return true
		}
		return false
	}
	e.mu.Unlock()
	for range 10 {
		if err := source.Reload(t.Context()); !errors.Is(err, errDenied) {
			t.Errorf("error %v, want %v", err, errDenied)
		}
	}
	if e.logins != 1 {
		t.Errorf("%d logins, want 1", e.logins)
	}
}

func TestALoginThatIsRefused(t *testing.T) {
	e, s := serve(t)
	s.create(t, "key")
	source := byRole(t, s, "key")
	sealed := seal(t, source.Keys())
	source.transit.token.(*login).token = ""
	for name, answer := range map[string]func(w http.ResponseWriter){
		"denied":                    func(w http.ResponseWriter) { refuse(w, 403, "permission denied") },
		"a role that is none":       func(w http.ResponseWriter) { refuse(w, 400, `invalid role name "keybroker"`) },
		"a word about a ciphertext": func(w http.ResponseWriter) { refuse(w, 400, "cipher: message authentication failed") },
		"no token":                  func(w http.ResponseWriter) { reply(w, map[string]any{"auth": map[string]any{}}) },
		"a token of two lines": func(w http.ResponseWriter) {
			reply(w, map[string]any{"auth": map[string]any{"client_token": "hvs.login\nX-Evil: 1"}})
		},
	} {
		e.answer(func(w http.ResponseWriter, _ *http.Request) { answer(w) })
		_, err := envelope.Open(t.Context(), alice(t, source.Keys()), "TOKEN", sealed)
		if !errors.Is(err, envelope.ErrUnavailable) || errors.Is(err, envelope.ErrRefused) || !strings.Contains(err.Error(), "log in") {
			t.Errorf("%s: %v, want %v", name, err, envelope.ErrUnavailable)
		}
		quiet(t, fmt.Sprint(err))
	}
	e.answer(nil)
	mustOpen(t, source.Keys(), sealed)
}
