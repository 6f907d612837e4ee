// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// refusal is a status with a body.
type refusal struct {
	status                      int
	mediaType, body, retryAfter string
}

// answer refuses a request.
func (f refusal) answer(a *asked) {
	if f.retryAfter != "" {
		a.w.Header().Set("Retry-After", f.retryAfter)
	}
	a.say(f.status, f.mediaType, f.body)
}

// call sends a call in a session to a server that answers it so.
func (f refusal) call(t *testing.T, o client.Observer) (*client.StatusError, *client.Session, error) {
	t.Helper()
	s := &server{version: "2025-11-25", session: "s", on: map[string]func(*asked){methods.CallTool: f.answer}}
	session := s.connectAlone(t)
	_, err := session.Call(t.Context(), client.Request{Method: methods.CallTool, Observer: o})
	status, ok := errors.AsType[*client.StatusError](err)
	if !ok {
		t.Fatalf("error = %v", err)
	}
	return status, session, err
}

// refusing is a refusal with a JSON-RPC error.
func refusing(status int, retryAfter, words string) refusal {
	return refusal{status, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":%q}}`, words), retryAfter}
}

func TestTheWordsOfARefusalAreReadAndBounded(t *testing.T) {
	t.Parallel()
	in := func(d time.Duration) string {
		// A bubble begins then.
		return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(d).Format(http.TimeFormat)
	}
	type row struct {
		answer refusal
		words  string
		after  time.Duration
	}
	inBubbles(t, map[string]row{
		"a JSON-RPC error":           {refusing(429, "", "no more"), "no more", 0},
		"a long text":                {refusing(500, "", strings.Repeat("ä", 30_000)), strings.Repeat("ä", 30_000), 0},
		"more than is read":          {refusing(500, "", strings.Repeat("a", 1<<20)), "", 0},
		"seconds":                    {refusing(429, "30", "no"), "no", 30 * time.Second},
		"a date":                     {refusing(429, in(10*time.Hour), "no"), "no", 10 * time.Hour},
		"a date of the past":         {refusing(429, in(-time.Hour), "no"), "no", 0},
		"a year":                     {refusing(429, "31536000", "no"), "no", 24 * time.Hour},
		"no time":                    {refusing(429, "soon", "no"), "no", 0},
		"a negative time":            {refusing(429, "-1", "no"), "no", 0},
		"a problem":                  {refusal{503, "application/problem+json", `{"title":"Unavailable","detail":"no room"}`, "5"}, "no room", 5 * time.Second},
		"a problem without a detail": {refusal{503, "application/problem+json", `{"title":"Unavailable"}`, ""}, "Unavailable", 0},
		"a page":                     {refusal{502, "text/html", "<html>", ""}, "", 0},
		"an event":                   {refusal{500, "text/event-stream", "event: message\ndata: " + failure + "\n\n", ""}, "no", 0},
	}, func(t *testing.T, tt row) {
		got, _, err := tt.answer.call(t, &observer{})
		want := &client.StatusError{Status: tt.answer.status, Words: tt.words, RetryAfter: tt.after}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(client.StatusError{}, "Said")); diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// TestTheWaitForWordsIsBounded has a server send headers and nothing behind them.
func TestTheWaitForWordsIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{version: "2025-11-25", on: map[string]func(*asked){methods.CallTool: func(a *asked) {
			a.w.WriteHeader(http.StatusTooManyRequests)
			a.flow("text/plain", "")
			a.silent()
		}}}
		session, began := s.connectAlone(t), time.Now()
		_, err := session.Call(t.Context(), client.Request{Method: methods.CallTool})
		if took := time.Since(began); took != 5*time.Second || !strings.Contains(fmt.Sprint(err), "429 Too Many Requests") {
			t.Errorf("error = %v after %v", err, took)
		}
	})
}

// TestWhichRefusalsEndASession: status 404 does, whatever the body; 400 does in the words of an SDK. Of 410 and
// other words about a session nobody knows whether something was done, so that the request is not sent again.
func TestWhichRefusalsEndASession(t *testing.T) {
	t.Parallel()
	const failure = `{"jsonrpc":"2.0","id":$ID,"error":{"code":CODE,"message":"WORDS"}}`
	bodies := map[string]struct{ mediaType, format string }{
		"no body":                {"", ""},
		"a text":                 {"text/plain", "WORDS"},
		"an error with its id":   {"application/json", failure},
		"an error with no id":    {"application/json", strings.Replace(failure, "$ID", "null", 1)},
		"an error of another id": {"application/json", strings.Replace(failure, "$ID", `"server-error"`, 1)},
		"an event":               {"text/event-stream", "event: message\ndata: " + failure + "\n\n"},
	}
	inBubbles(t, map[string]struct{ sdk, session bool }{
		"Session not found":                         {false, true},
		"Bad Request: No valid session ID provided": {true, true},
		"Bad Request: Server not initialized":       {true, false},
		"No: Bad Request: No valid session ID":      {false, true},
		"no":                                        {false, false},
	}, func(t *testing.T, of struct{ sdk, session bool }) {
		words := strings.ReplaceAll(strings.Split(t.Name(), "/")[1], "_", " ")
		for name, body := range bodies {
			for _, code := range []string{"-32001", "-32601"} {
				said := name != "no body"
				method := code == "-32601" && (name == "an error with its id" || name == "an event")
				for status, want := range map[int]struct{ ended, refused bool }{
					http.StatusBadRequest: {said && (of.sdk || of.session), said && of.sdk},
					http.StatusNotFound:   {!method, !method}, http.StatusGone: {true, false}, http.StatusUnauthorized: {false, false},
				} {
					o := &observer{}
					text := strings.NewReplacer("CODE", code, "WORDS", words).Replace(body.format)
					got, session, err := refusal{status, body.mediaType, text, ""}.call(t, o)
					if got.Ended != want.ended || got.Refused != want.refused || errors.Is(err, client.ErrSessionMissing) != want.refused {
						t.Errorf("%d, %s, %s: %+v", status, name, code, got)
					}
					if slices.Contains(o.all(), "refused") != want.refused || slices.Contains(o.all(), "sent") {
						t.Errorf("%d, %s, %s: the observer has %q", status, name, code, o.all())
					}
					if session.Err() != nil && (want.ended || strings.HasPrefix(name, "an ")) {
						t.Errorf("%d, %s, %s: the connection ended by %v", status, name, code, session.Err())
					}
				}
			}
		}
	})
}

// TestWhichRefusalsEndAConnection: those that concern more than the request, and pass not by themselves.
func TestWhichRefusalsEndAConnection(t *testing.T) {
	t.Parallel()
	type row struct {
		answer refusal
		ended  bool
		text   string // of the error
	}
	const words = "the server answered with the HTTP status "
	inBubbles(t, map[string]row{
		"401":                      {refusal{401, "", "", ""}, true, words + "401 Unauthorized"},
		"403 with a page":          {refusal{403, "text/html", "<html>", ""}, true, words + "403 Forbidden"},
		"405":                      {refusal{405, "", "", ""}, true, words + "405 Method Not Allowed"},
		"304":                      {refusal{304, "", "", ""}, true, words + "304 Not Modified"},
		"400 with a text":          {refusal{400, "text/plain", "no", ""}, true, words + "400 Bad Request"},
		"401 and a JSON-RPC error": {refusing(401, "", "no key"), false, "no key"},
		"400 and a JSON-RPC error": {refusing(400, "", "no such tool"), false, "no such tool"},
		"404":                      {refusal{404, "", "", ""}, false, words + "404 Not Found"},
		"410":                      {refusal{410, "", "", ""}, false, words + "410 Gone"},
		"429":                      {refusal{429, "", "", ""}, false, words + "429 Too Many Requests"},
		"500":                      {refusal{500, "", "", ""}, false, words + "500 Internal Server Error"},
		"502":                      {refusal{502, "text/html", "<html>", ""}, false, words + "502 Bad Gateway"},
		"503":                      {refusing(503, "", "later"), false, words + "503 Service Unavailable"},
		"504":                      {refusal{504, "", "", ""}, false, words + "504 Gateway Timeout"},
	}, func(t *testing.T, tt row) {
		got, session, err := tt.answer.call(t, &observer{})
		if err.Error() != tt.text || got.Status != tt.answer.status {
			t.Errorf("error = %v", err)
		}
		if ended := session.Err() != nil; ended != tt.ended || errors.Is(err, client.ErrClosed) {
			t.Errorf("the connection ended: %t, by %v", ended, session.Err())
		}
		if _, err := session.Call(t.Context(), client.Request{Method: methods.ListTools}); errors.Is(err, client.ErrClosed) != tt.ended || (err != nil) != tt.ended {
			t.Errorf("the next request gets %v", err)
		}
	})
}

// TestAJSONRPCErrorWithAStatusIsTheServersAnswer unless the status says that the server cannot answer now.
func TestAJSONRPCErrorWithAStatusIsTheServersAnswer(t *testing.T) {
	t.Parallel()
	inBubbles(t, map[string]bool{"400": true, "401": true, "404": true, "429": false, "500": false, "502": false, "503": false, "504": false},
		func(t *testing.T, want bool) {
			var status int
			_, _ = fmt.Sscan(strings.Split(t.Name(), "/")[1], &status)
			_, _, err := refusal{status, "application/json", failure, ""}.call(t, nil)
			if got := said(err) == `{"code":-32000,"message":"no","data":{"n":12345678901234567890}}`; got != want {
				t.Errorf("error = %s", said(err))
			}
		})
}

func TestTheIDOfAnotherSessionEndsTheConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{version: "2025-11-25", session: "s", on: map[string]func(*asked){methods.CallTool: func(a *asked) {
			a.w.Header().Set("Mcp-Session-Id", "other")
			a.result("{}")
		}}}
		session := s.connectAlone(t)
		_, err := session.Call(t.Context(), client.Request{Method: methods.CallTool})
		if !errors.Is(err, client.ErrClosed) || fmt.Sprint(session.Err()) != "the server answered with the id of another session" {
			t.Errorf("error = %v, %v", err, session.Err())
		}
	})
}

// TestARefusedNotificationIsAnError, which ends the connection as that of a call does.
func TestARefusedNotificationIsAnError(t *testing.T) {
	t.Parallel()
	inBubbles(t, map[string]bool{"403": true, "404": false, "503": false}, func(t *testing.T, ended bool) {
		var status int
		_, _ = fmt.Sscan(strings.Split(t.Name(), "/")[1], &status)
		s := &server{version: "2025-11-25", session: "s", on: map[string]func(*asked){methods.RootsChanged: saying(status, "", "")}}
		session := s.connectAlone(t)
		err := session.Notify(t.Context(), methods.RootsChanged, nil)
		if got, ok := errors.AsType[*client.StatusError](err); !ok || got.Status != status || (session.Err() != nil) != ended {
			t.Errorf("error = %v, the connection ended by %v", err, session.Err())
		}
	})
}
