// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/health"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
)

// sharedLog is a log that goroutines may share.
type sharedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *sharedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *sharedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestAClientIsNotToldWhatAServerEchoes has a server refuse calls and repeat
// the secret that it was sent.
func TestAClientIsNotToldWhatAServerEchoes(t *testing.T) {
	const canary = `c4n4ry"t0ken`
	for _, name := range []string{"one", "several"} {
		t.Run(name+" behind the bridge", func(t *testing.T) {
			server, calls := callServer(t, func(w http.ResponseWriter, id string) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":%q,"data":{"token":%q,"n":1}}}`, id, "bad token "+canary, canary)
			}, http.NotFound)
			server.Secrets, server.Headers = []string{"TOKEN"}, bearer("TOKEN")
			servers, tool := []config.Server{server}, "t"
			if name == "several" {
				servers, tool = append(servers, newWitness(t, "two", "modern", nil).Server), "one_t"
			}
			log := &sharedLog{}
			r := newLoggedRig(t, slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), fast, servers...)
			r.bridge.UseSecrets(secretsOf("r", "TOKEN", canary))
			eventually(t, "healthy", func() bool { return r.bridge.Health().Status == health.Healthy })
			_, legacyAnswer := r.do(t, "POST", r.url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q}}`, tool), r.session(t))
			_, modernAnswer := r.do(t, "POST", r.url, modernBody(1, "tools/call", fmt.Sprintf(`"name":%q,`, tool)), modernHeader("tools/call", tool))
			for _, answer := range []string{legacyAnswer, modernAnswer} {
				if !strings.Contains(answer, `-32042`) || !strings.Contains(answer, `"message":"bad token [redacted]"`) || !strings.Contains(answer, `"token":"[redacted]","n":1`) {
					t.Errorf("answer = %s, want the server's error without its secret", answer)
				}
				if strings.Contains(answer, "c4n4ry") {
					t.Errorf("the answer holds the secret: %s", answer)
				}
			}
			if calls.Load() != 2 || strings.Contains(log.String(), "c4n4ry") {
				t.Errorf("%d calls, log %s", calls.Load(), log)
			}
		})
	}
}

// TestNoErrorTextHoldsASecret looks at each way in which an error is shown.
func TestNoErrorTextHoldsASecret(t *testing.T) {
	const canary = "c4n4ry-t0ken"
	view := secretsOf("r", "TOKEN", canary).Grant([]string{"TOKEN"})
	l := &link{grant: &grant{hide: view.Redactor()}}
	plain := errors.New("bad token " + canary)
	kinds := map[string]error{
		"a plain error":                 plain,
		"an error of the HTTP client":   &url.Error{Op: "Post", URL: "https://x", Err: plain},
		"an error with a URL":           errors.New("at https://x/" + canary),
		"an answer of the server":       &jsonrpc.Error{Code: -32000, Message: plain.Error(), Data: json.RawMessage(`"` + canary + `"`)},
		"an answer whose data is odd":   &jsonrpc.Error{Code: -32000, Message: plain.Error(), Data: json.RawMessage(canary)},
		"an answer in an error of ours": fmt.Errorf("tools/list: %w", &jsonrpc.Error{Code: -32000, Message: plain.Error()}),
	}
	for name, err := range kinds {
		t.Run(name, func(t *testing.T) {
			guarded := fmt.Errorf("outer: %w", l.guard(err))
			shown := rpcError(guarded, "one")
			var rpc *jsonrpc.Error
			if !errors.As(shown, &rpc) {
				t.Fatalf("rpcError is a %T", shown)
			}
			for where, text := range map[string]string{
				"the log": describe(guarded), "its text": guarded.Error(), "the answer": rpc.Message, "the answer's data": string(rpc.Data),
			} {
				if strings.Contains(text, "c4n4ry") {
					t.Errorf("%s: %s", where, text)
				}
			}
			if !errors.Is(guarded, err) {
				t.Error("the error can no longer be told from others")
			}
		})
	}
	if l.guard(nil) != nil {
		t.Error("no error became one")
	}
	if got := describe(plain); got != plain.Error() {
		t.Errorf("an error without secrets became %q", got)
	}
	var none secret.Redactor
	original := &jsonrpc.Error{Code: -32000, Message: "x"}
	if redacted(original, none) != original {
		t.Error("an error without secrets was copied")
	}
}

func TestDataOfAnErrorHoldsNoSecret(t *testing.T) {
	view := secretsOf("r", "TOKEN", "c4n4ry/t0k+n", "NUMBER", "12345678", "FILE", `{"key":"c4n4ry"}`).Grant([]string{"TOKEN", "NUMBER", "FILE"})
	tests := map[string]struct{ data, want string }{
		"no secret, written oddly": {`{"b": 1.50, "a":"\u002b\/<", "b":[]}`, `{"b": 1.50, "a":"\u002b\/<", "b":[]}`},
		"none at all":              {``, ``},
		"as it is":                 {`["a c4n4ry/t0k+n b"]`, `["a [redacted] b"]`},
		"an escaped slash":         {`{"t":"c4n4ry\/t0k+n","n":1}`, `{"t":"[redacted]","n":1}`},
		"an escaped plus":          {`"c4n4ry/t0k\u002Bn"`, `"[redacted]"`},
		"escaped letters":          {`"\u0063\u0034n4ry/t0k+n"`, `"[redacted]"`},
		"after escaped quotes":     {`["\"\\","\\\"c4n4ry\/t0k+n\\"]`, `["\"\\","\\\"[redacted]\\"]`},
		"a key":                    {`{"c4n4ry\/t0k+n":{"c4n4ry\/t0k+n":0}}`, `{"[redacted]":{"[redacted]":0}}`},
		"a key that comes twice":   {`{"a":"c4n4ry\/t0k+n","a":1}`, `{"a":"[redacted]","a":1}`},
		"in a URL's query":         {`"https:\/\/x?t=c4n4ry%2Ft0k%2Bn"`, `"https://x?t=[redacted]"`},
		"a number":                 {`{"n":12345678}`, ``},
		"an object":                {`[{"key":"c4n4ry"}]`, ``},
		"an object in a string":    {`"{\"key\":\"c4n4ry\"}"`, `"[redacted]"`},
		"no JSON":                  {`"c4n4ry\/t0k+n`, ``},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := redacted(&jsonrpc.Error{Code: 1, Data: json.RawMessage(tt.data)}, view.Redactor())
			if string(got.Data) != tt.want {
				t.Errorf("data = %s, want %s", got.Data, tt.want)
			}
		})
	}
}
