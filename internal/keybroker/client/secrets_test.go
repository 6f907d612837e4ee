// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestABridgeFetchesItsSecrets(t *testing.T) {
	type seen struct{ Method, Path, Token, Known string }
	var requests []seen
	var answer string
	c, _ := keybroker(t, newAuthority(t, 1), func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, seen{r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("If-None-Match")})
		if r.Header.Get("If-None-Match") == `"r1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, answer)
	}, io.Discard)
	fetch := func(revision string) *Secrets {
		t.Helper()
		return must.Value(c.Secrets(t.Context(), revision))(t)
	}
	key := bytes.Repeat([]byte{7}, pki.SessionKeySize)
	answer = `{"revision":"r1","secrets":{"TOKEN":"Y2FuYXJ5","empty.json":""},"unreadable":[],"sessionKeys":["` + base64.StdEncoding.EncodeToString(key) + `"]}`
	want := &Secrets{
		Revision: "r1", Values: map[string][]byte{"TOKEN": []byte("canary"), "empty.json": {}}, Unreadable: []string{},
		SessionKeys: [][]byte{key},
	}
	if diff := cmp.Diff(want, fetch("")); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	if got := fetch("r1"); got != nil {
		t.Errorf("the same revision: %d secrets", len(got.Values))
	}
	// What did not open may open now, although nothing else is stored.
	answer = `{"revision":"r1","secrets":{},"unreadable":["TOKEN"]}`
	if got := fetch("r0"); len(got.Unreadable) != 1 {
		t.Errorf("unreadable %v", got.Unreadable)
	}
	answer = `{"revision":"r1","secrets":{"TOKEN":"Y2FuYXJ5"},"unreadable":[]}`
	if got := fetch("r1"); got == nil || len(got.Values) != 1 {
		t.Errorf("after one that did not open: %+v", got)
	}
	if got := fetch("r1"); got != nil {
		t.Errorf("the same revision: %d secrets", len(got.Values))
	}
	seenAll := []seen{
		{"GET", "/v1/secrets", "Bearer token-1", ""}, {"GET", "/v1/secrets", "Bearer token-1", `"r1"`},
		{"GET", "/v1/secrets", "Bearer token-1", `"r0"`}, {"GET", "/v1/secrets", "Bearer token-1", ""}, {"GET", "/v1/secrets", "Bearer token-1", `"r1"`},
	}
	if diff := cmp.Diff(seenAll, requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestAnswersThatAreNoSecrets(t *testing.T) {
	const value = "Y2FuYXJ5LXZhbHVl"
	for _, test := range []struct {
		name    string
		handler http.HandlerFunc
		refusal *Refusal
	}{
		{"a refusal", answers(http.StatusConflict, `{"code":"salt_missing","detail":"Remove each, then set them anew."}`), &Refusal{409, "salt_missing", "Remove each, then set them anew."}},
		{"a detail of two lines", answers(http.StatusConflict, `{"code":"salt_missing","detail":"one\ntwo"}`), &Refusal{409, "salt_missing", ""}},
		{"a detail with what a terminal obeys", answers(http.StatusConflict, `{"code":"salt_missing","detail":"\u001b[2J"}`), &Refusal{409, "salt_missing", ""}},
		{"a detail that is too long", answers(http.StatusConflict, `{"code":"salt_missing","detail":"`+strings.Repeat("x", 513)+`"}`), &Refusal{409, "salt_missing", ""}},
		{"a detail without a code", answers(http.StatusConflict, `{"detail":"x"}`), &Refusal{409, "", ""}},
		{"not modified, which nobody asked for", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }, nil},
		{"created", answers(http.StatusCreated, `{"secrets":{}}`), nil},
		{"nothing", func(http.ResponseWriter, *http.Request) {}, nil},
		{"no secrets", answers(http.StatusOK, `{"revision":"r"}`), nil},
		{"a value that is no base64", answers(http.StatusOK, `{"secrets":{"TOKEN":"`+value+`!"}}`), nil},
		{"a session key that is too short", answers(http.StatusOK, `{"secrets":{},"sessionKeys":["`+value+`"]}`), nil},
		{"an answer that is cut off", answers(http.StatusOK, `{"secrets":{"TOKEN":"`+value), nil},
		{"an answer without end", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"secrets":{"TOKEN":"`+value+`"}}`)
			_, _ = w.Write(bytes.Repeat([]byte(" "), maxSecrets))
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, _ := keybroker(t, newAuthority(t, 1), test.handler, io.Discard)
			got, err := c.Secrets(t.Context(), "")
			if err == nil || got != nil {
				t.Fatalf("error %v", err)
			}
			var refusal *Refusal
			if errors.As(err, &refusal) != (test.refusal != nil) || !cmp.Equal(refusal, test.refusal) {
				t.Errorf("error %v, want refusal %+v", err, test.refusal)
			}
			if strings.Contains(err.Error(), value[:8]) || strings.Contains(err.Error(), "token-1") || strings.Contains(err.Error(), "Remove") {
				t.Errorf("the error says too much: %v", err)
			}
		})
	}
}

// users returns the users' secrets, for the ingress, at a keybroker that answers
// by handler.
func users(t *testing.T, handler http.HandlerFunc) *UserSecrets {
	t.Helper()
	a := newAuthority(t, 1)
	c, _ := keybroker(t, a, handler, io.Discard)
	return NewUserSecrets(c, peer(t, a, pki.IngressSubject(), time.Now(), clock.System{}))
}

func TestTheIngressShowsItsCertificateAndNoToken(t *testing.T) {
	type seen struct {
		Method, Path, Body string
		Authorized         bool
	}
	var requests []seen
	status, answer := http.StatusOK, ""
	u := users(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if len(r.TLS.PeerCertificates) != 1 || r.TLS.PeerCertificates[0].URIs[0].String() != pki.IngressURI().String() {
			t.Error("not the ingress's certificate")
		}
		requests = append(requests, seen{r.Method, r.URL.EscapedPath(), string(body), r.Header["Authorization"] != nil})
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	})
	ref := Ref{Namespace: "tenants", Name: "alice", UID: "uid-1"}

	answer = `{"secrets":[{"name":"A","size":3,"created":"2026-11-21T12:00:00Z","updated":"2026-11-21T13:00:00Z","keyVersion":2,"source":"github"},{"name":"B","size":0,"keyVersion":1}],"limit":5,"revision":"r1"}`
	five := 5
	want := SecretList{Limit: &five, Revision: "r1", Secrets: []SecretInfo{
		{Name: "A", Size: 3, Created: clocktest.Start, Updated: clocktest.Start.Add(time.Hour), KeyVersion: 2, Source: "github"}, {Name: "B", KeyVersion: 1},
	}}
	got, err := u.List(t.Context(), ref)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, list (-want +got):\n%s", err, diff)
	}
	answer = `{"secrets":[],"limit":null,"revision":""}`
	if got, err := u.List(t.Context(), ref); err != nil || got.Limit != nil || len(got.Secrets) != 0 {
		t.Errorf("%+v, error %v", got, err)
	}
	answer = `{"name":"a.json","size":2}`
	for code, created := range map[int]bool{http.StatusCreated: true, http.StatusOK: false} {
		status = code
		if info, got, err := u.Put(t.Context(), ref, "a.json", []byte("{}")); err != nil || got != created || info.Size != 2 {
			t.Errorf("%+v, created %v, error %v", info, got, err)
		}
	}
	status, answer = http.StatusNoContent, ""
	for _, name := range []string{"A", "../b", ".."} {
		if err := u.Delete(t.Context(), ref, name); err != nil {
			t.Error(err)
		}
	}
	const path = "/v1/bridges/tenants/alice/uid-1/secrets"
	wantRequests := []seen{
		{"GET", path, "", false}, {"GET", path, "", false}, {"PUT", path + "/a.json", "{}", false}, {"PUT", path + "/a.json", "{}", false},
		{"DELETE", path + "/A", "", false}, {"DELETE", path + "/..%2Fb", "", false}, {"DELETE", path + "/..", "", false},
	}
	if diff := cmp.Diff(wantRequests, requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestAnswersToTheIngressThatAreNone(t *testing.T) {
	var status int
	var answer string
	u := users(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	})
	calls := map[string]func() error{
		"list":   func() error { _, err := u.List(t.Context(), Ref{}); return err },
		"put":    func() error { _, _, err := u.Put(t.Context(), Ref{}, "A", []byte("x")); return err },
		"delete": func() error { return u.Delete(t.Context(), Ref{}, "A") },
	}
	for _, test := range []struct {
		name, call, answer string
		status             int
		refusal            *Refusal
	}{
		{"a refusal to list", "list", `{"code":"bridge_not_found","detail":"There is none."}`, 404, &Refusal{404, "bridge_not_found", "There is none."}},
		{"a refusal to set", "put", `{"code":"secret_limit_reached","detail":"5"}`, 409, &Refusal{409, "secret_limit_reached", "5"}},
		{"a refusal to remove", "delete", `{"code":"secret_not_found"}`, 404, &Refusal{404, "secret_not_found", ""}},
		{"a redirect", "put", "", 307, &Refusal{307, "", ""}},
		{"a list that is none", "list", `{}`, 200, nil},
		{"a list without an answer", "list", ``, 204, nil},
		{"another secret", "put", `{"name":"B"}`, 201, nil},
		{"a secret without an answer", "put", ``, 204, nil},
		{"a removal with an answer", "delete", `{}`, 200, nil},
		{"a removal not modified", "delete", ``, 304, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, answer = test.status, test.answer
			err := calls[test.call]()
			var refusal *Refusal
			if err == nil || errors.As(err, &refusal) != (test.refusal != nil) || !cmp.Equal(refusal, test.refusal) {
				t.Errorf("error %v, want refusal %+v", err, test.refusal)
			}
		})
	}
}

// The value goes to nobody who is not the keybroker, and not before there is a
// certificate to show.
func TestAValueIsSentToTheKeybrokerAlone(t *testing.T) {
	for name, test := range map[string]struct {
		server byte
		source func(t *testing.T) *Source
	}{
		"a keybroker of another authority": {2, func(t *testing.T) *Source {
			return peer(t, newAuthority(t, 1), pki.IngressSubject(), time.Now(), clock.System{})
		}},
		"no certificate yet": {1, func(t *testing.T) *Source {
			return newSource(newAuthority(t, 1), clock.System{}, slog.New(slog.DiscardHandler), nil)
		}},
		"a certificate that has expired": {1, func(t *testing.T) *Source {
			return peer(t, newAuthority(t, 1), pki.IngressSubject(), time.Now().Add(-7*time.Hour), clock.System{})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := keybroker(t, newAuthority(t, test.server), func(http.ResponseWriter, *http.Request) {
				t.Error("the request arrives")
			}, io.Discard)
			_, _, err := NewUserSecrets(c, test.source(t)).Put(t.Context(), Ref{}, "A", []byte("canary"))
			if err == nil || strings.Contains(err.Error(), "canary") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// FuzzRefusal holds that nothing gets from an answer into a log or a terminal
// that is not a code and a line of printable text.
func FuzzRefusal(f *testing.F) {
	f.Add([]byte(`{"code":"salt_missing","detail":"x"}`))
	f.Add([]byte(`{"code":"a\nb","detail":"\u0007"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r := refusal(400, body)
		shown, err := json.Marshal(r.Code + r.Detail)
		if err != nil || len(r.Code) > 64 || len(r.Detail) > 512 || strings.ContainsFunc(r.Code+r.Detail, func(c rune) bool { return c < ' ' || c > '~' }) {
			t.Errorf("%s, %v", shown, err)
		}
	})
}

func TestABridgeSavesWhatItRefreshed(t *testing.T) {
	type seen struct{ Method, Path, Token, Match, Body string }
	var requests []seen
	status, answer := http.StatusOK, `{"revision":"r2"}`
	c, _ := keybroker(t, newAuthority(t, 1), func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"revision":"r1","secrets":{}}`)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || r.ContentLength != int64(len(body)) {
			t.Errorf("%d bytes of %d, error %v", len(body), r.ContentLength, err)
		}
		requests = append(requests, seen{r.Method, r.URL.EscapedPath(), r.Header.Get("Authorization"), r.Header.Get("If-Match"), string(body)})
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}, io.Discard)
	value := []byte("canary")
	save := func() error { return c.SaveSecret(t.Context(), "LOGIN", value) }
	if err := save(); err != nil {
		t.Error(err)
	}
	must.Value(c.Secrets(t.Context(), ""))(t)
	if err := save(); err != nil || string(value) != "canary" {
		t.Errorf("error %v, the caller's value %q", err, value)
	}
	answer = `{"revision":"r3"}`
	if err := save(); err != nil {
		t.Error(err)
	}
	status, answer = http.StatusPreconditionFailed, `{"code":"revision_changed","detail":"canary"}`
	var refusal *Refusal
	if err := save(); !errors.As(err, &refusal) || refusal.Code != CodeRevisionChanged || strings.Contains(err.Error(), "canary") {
		t.Errorf("error %v", err)
	}
	status = http.StatusOK
	for _, answer = range []string{"", "{}", "canary"} {
		if err := save(); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q is an answer: error %v", answer, err)
		}
	}
	one := func(match string) seen { return seen{"PUT", "/v1/secrets/LOGIN", "Bearer token-1", match, "canary"} }
	want := []seen{one(""), one(`"r1"`), one(`"r2"`), one(`"r3"`), one(`"r3"`), one(`"r3"`), one(`"r3"`)}
	if diff := cmp.Diff(want, requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
