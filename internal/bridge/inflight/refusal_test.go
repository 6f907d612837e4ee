// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// reply is an answer of a server.
type reply struct {
	status                      int
	mediaType, body, retryAfter string
}

// RoundTrip implements http.RoundTripper.
func (a reply) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", a.mediaType)
	w.Header().Set("Retry-After", a.retryAfter)
	w.WriteHeader(a.status)
	_, _ = w.WriteString(a.body)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

// exchange sends a call in a session, in a version of the protocol, and returns what the SDK reads.
func (a reply) exchange(t *testing.T, x *Call, version string) (f *Refusal, contentType, read string) {
	t.Helper()
	f = &Refusal{}
	ctx := context.WithValue(context.WithValue(t.Context(), CallKey{}, x), RefusalKey{}, f)
	r := must.Value(http.NewRequestWithContext(ctx, http.MethodPost, "http://server", strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/call"}`)))(t)
	r.Header.Set(message.HeaderSessionID, "s")
	r.Header.Set(message.HeaderVersion, version)
	x.Ctx = ctx
	resp := must.Value((&HTTPObserver{Next: a, Questions: &Questions{}}).RoundTrip(r))(t)
	defer resp.Body.Close()
	return f, resp.Header.Get("Content-Type"), string(must.Value(io.ReadAll(resp.Body))(t))
}

// refusing is an answer with a JSON-RPC error.
func refusing(status int, retryAfter, words string) reply {
	return reply{status, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":%q}}`, words), retryAfter}
}

// TestTheWordsOfARefusalAreBoundedAndWithoutSecrets, at statuses of which the SDK reads no body.
func TestTheWordsOfARefusalAreBoundedAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	const canary = `c4n4ry-"t0ken"`
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	synctest.Test(t, func(t *testing.T) { // The clock stands still.
		hide := secret.NewSet("1", map[string][]byte{"TOKEN": []byte(canary)}, nil).Grant([]string{"TOKEN"}).Redactor()
		for name, tt := range map[string]struct {
			answer reply
			want   string
		}{
			"a secret":                       {refusing(429, "", "no more for "+canary), `429 Too Many Requests and says "no more for [redacted]"`},
			"a secret where the text is cut": {refusing(429, "", strings.Repeat("a", 495)+canary+" b"), `429 Too Many Requests and says "` + strings.Repeat("a", 495) + `[reda"…`},
			"a long text":                    {refusing(500, "", strings.Repeat("ä", 30_000)), `500 Internal Server Error and says "` + strings.Repeat("ä", 500) + `"…`},
			"several lines":                  {refusing(500, "", "a\nb"), `500 Internal Server Error and says "a\nb"`},
			"more than a message":            {refusing(500, "", strings.Repeat("a", 1<<20)), `500 Internal Server Error`},
			"seconds":                        {refusing(429, "30", "no"), `429 Too Many Requests and says "no": try again in 30 s`},
			"a date":                         {refusing(429, in(10*time.Hour), "no"), `429 Too Many Requests and says "no": try again in 36000 s`},
			"a date of the past":             {refusing(429, in(-time.Hour), "no"), `429 Too Many Requests and says "no"`},
			"a year":                         {refusing(429, "31536000", "no"), `429 Too Many Requests and says "no": try again in 86400 s`},
			"no time":                        {refusing(429, "soon", "no"), `429 Too Many Requests and says "no"`},
			"a problem":                      {reply{503, "application/problem+json", `{"title":"Unavailable","detail":"no room for c4n4ry-\"t0ken\""}`, ""}, `503 Service Unavailable and says "no room for [redacted]"`},
			"a problem without a detail":     {reply{503, "application/problem+json", `{"title":"Unavailable"}`, ""}, `503 Service Unavailable and says "Unavailable"`},
			"a page":                         {reply{502, "text/html", "<html>" + canary, ""}, `502 Bad Gateway`},
		} {
			f, _, read := tt.answer.exchange(t, &Call{}, "")
			if got := f.Explain(errors.New("rejected"), hide).Error(); got != "it answered HTTP "+tt.want {
				t.Errorf("%s: error = %s, want %s", name, got, tt.want)
			}
			if read != tt.answer.body[:min(len(tt.answer.body), maxErrorBody)] {
				t.Errorf("%s: the SDK reads %.100q", name, read)
			}
		}
	})
}

// TestWhichRefusalsEndASession: status 404 does, whatever the body; 400 does in the words of an SDK. Of 410 and
// other words about a session nobody knows whether something was done, so that the request is not sent again.
func TestWhichRefusalsEndASession(t *testing.T) {
	t.Parallel()
	const failure = `{"jsonrpc":"2.0","id":ID,"error":{"code":CODE,"message":"WORDS"}}`
	bodies := map[string]struct{ mediaType, format string }{
		"no body":                {"", ""},
		"a text":                 {"text/plain", "WORDS"},
		"an error with its id":   {"application/json", failure},
		"an error with no id":    {"application/json", strings.Replace(failure, "ID", "null", 1)},
		"an error of another id": {"application/json", strings.Replace(failure, "ID", `"server-error"`, 1)},
		"an event":               {"text/event-stream", "event: message\ndata: " + failure + "\n\n"},
	}
	for words, of := range map[string]struct{ sdk, session bool }{
		"Session not found":                         {false, true},
		"Bad Request: No valid session ID provided": {true, true},
		"Bad Request: Server not initialized":       {true, false},
		"no":                                        {false, false},
	} {
		for name, body := range bodies {
			for _, code := range []string{"-32001", "-32601"} {
				said := name != "no body"
				unknown := code == "-32601" && (name == "an error with its id" || name == "an event")
				for status, want := range map[int]struct{ ended, refused bool }{
					http.StatusBadRequest: {said && (of.sdk || of.session), said && of.sdk},
					http.StatusNotFound:   {!unknown, !unknown}, http.StatusGone: {true, false}, http.StatusUnauthorized: {false, false},
				} {
					text := strings.NewReplacer("ID", "7", "CODE", code, "WORDS", words).Replace(body.format)
					x := &Call{}
					f, _, read := reply{status, body.mediaType, text, ""}.exchange(t, x, "")
					ended, ok := errors.AsType[*fault.SessionEnded](f.Explain(errors.New("rejected"), secret.Redactor{}))
					if ok != want.ended || ok && ended.Refused != want.refused || x.Delivery.NotDelivered() != want.refused {
						t.Errorf("%d, %s, %s, %s: the session ended %t, %+v", status, name, code, words, ok, ended)
					}
					if told := strings.Contains(read, `"the session has ended"`); told != want.refused || !told && read != text {
						t.Errorf("%d, %s, %s, %s: the SDK reads %s", status, name, code, words, read)
					}
				}
			}
		}
	}
}

// TestAnAnswerInAnArrayIsRead where it is one message, or the version has batches; in other versions an array of
// several fails in words that help.
func TestAnAnswerInAnArrayIsRead(t *testing.T) {
	t.Parallel()
	const note, answer = `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"a"}}`, `{"jsonrpc":"2.0","id":7,"result":{}}`
	const invalid = `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the server's answer is not a valid JSON-RPC answer: `
	for name, tt := range map[string]struct {
		version, sent string
		want          string // the beginning of what the SDK reads
		notes         int
	}{
		"one message":                            {"2025-03-26", "[" + answer + "]", answer, 0},
		"one message of a later version":         {"2025-06-18", "[" + answer + "]", answer, 0},
		"a note before it":                       {"2025-03-26", "[" + note + "," + answer + "]", answer, 1},
		"notes around it":                        {"2025-03-26", "[" + note + "," + answer + "," + note + "]", answer, 2},
		"several of a later version":             {"2025-06-18", "[" + note + "," + answer + "]", invalid + "it is an array of 2 messages, which version 2025-06-18 of the protocol does not have", 0},
		"no object":                              {"2025-03-26", "[7," + answer + "]", invalid + "it is an array with a member that is no object", 0},
		"nothing":                                {"2025-03-26", "[]", invalid + "it is an empty array", 0},
		"no array, and what looks like a method": {"2025-06-18", `{"jsonrpc":"2.0","id":7,"Method":"x","result":{}}`, `{"jsonrpc":"2.0","id":7,"Method":"x","result":{}}`, 0},
	} {
		for _, stream := range []bool{false, true} {
			x := &Call{}
			notes := recorded(x)
			a := reply{200, "application/json", tt.sent, ""}
			if stream {
				a = reply{200, "text/event-stream", "id: 1\ndata: " + tt.sent + "\n\n", ""}
			}
			_, contentType, read := a.exchange(t, x, tt.version)
			events := contentType == "text/event-stream"
			if events {
				_, read, _ = strings.Cut(read, "data: ")
			}
			if events != (stream || strings.Contains(tt.sent, `,{"jsonrpc"`)) || !strings.HasPrefix(read, tt.want) || len(*notes) != tt.notes || (x.Delivery.Result() == nil) != strings.HasPrefix(tt.want, invalid) {
				t.Errorf("%s, stream %t: the SDK reads %s, and the client %q", name, stream, read, *notes)
			}
		}
	}
}
