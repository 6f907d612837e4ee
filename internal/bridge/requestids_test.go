// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// oddIDs are ids that the SDK would change, and some that it would not.
var oddIDs = []string{
	`9007199254740993`, `-9007199254740993`, `123456789012345678901234567890`, `9223372036854775807`, `1.0`, `1e2`, `-0`, `0`, `7`,
	`"9007199254740993"`, `"a\/b"`, `"\u0041\n"`, `"é<&>"`, `"` + strings.Repeat("x", 300) + `"`,
}

// fractions are ids that no version of the protocol has.
var fractions = []string{`1.5`, `-0.25`, `9007199254740992.5`, `15e-1`, `1e400`}

// send sends a message over a connection and returns the answer with this id.
type send func(t *testing.T, body, id string) string

// sends are the ways in which clients of the session era, and a modern one, send a request. The body
// is without the metadata of a modern request.
func (r *rig) sends(t *testing.T) map[string]send {
	t.Helper()
	header, sse := r.session(t), r.openSSE(t)
	return map[string]send{
		"a session over HTTP": func(t *testing.T, body, _ string) string { _, got := r.do(t, "POST", r.url, body, header); return got },
		"HTTP+SSE": func(_ *testing.T, body, id string) string {
			sse.post(9, body, "")
			return sse.until(`"id":` + id + `,`)
		},
		"HTTP+SSE through the ingress": func(_ *testing.T, body, id string) string {
			resp := sse.post(9, body, audit.PostHold)
			sse.told(resp)
			sse.post(9, "", audit.PostDone)
			return sse.until(`"id":` + id + `,`)
		},
		"stdio": r.rawStdio(t),
		"a request that stands alone": func(t *testing.T, body, _ string) string {
			meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
			body = strings.Replace(body, `"params":{`, `"params":{`+meta+`,`, 1)
			_, got := r.do(t, "POST", r.url, body, modernHeader(methods.CallTool, "echo"))
			return got
		},
	}
}

// rawStdio opens a session over pipes, past any SDK.
func (r *rig) rawStdio(t *testing.T) send {
	t.Helper()
	toBridge, fromClient := io.Pipe()
	toClient, fromBridge := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- r.bridge.ServeStdio(ctx, toBridge, fromBridge) }()
	t.Cleanup(func() {
		cancel()
		_ = toClient.Close()
		_ = next(t, served, "end of serving") // Its context has ended.
	})
	lines := bufio.NewReader(toClient)
	post := func(t *testing.T, body, _ string) string {
		t.Helper()
		must.Value(io.WriteString(fromClient, body+"\n"))(t)
		return must.Value(lines.ReadString('\n'))(t)
	}
	post(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`, "1")
	must.Value(io.WriteString(fromClient, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"))(t)
	return post
}

// TestAnAnswerHasTheIDOfItsRequestByteForByte in both eras, over each transport, and wherever the id
// stands.
func TestAnAnswerHasTheIDOfItsRequestByteForByte(t *testing.T) {
	t.Parallel()
	upstream := serveMCP(t, echoServer("one"), "legacy")
	t.Cleanup(upstream.Close)
	r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: upstream.URL})
	const params = `"params":{"name":"echo","arguments":{"text":"a"}}`
	for over, send := range r.sends(t) {
		for _, id := range oddIDs {
			for _, body := range []string{
				`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call",` + params + `}`,
				`{"method":"tools/call",` + params + `,"id":` + id + `,"jsonrpc":"2.0"}`,
			} {
				got := send(t, body, id)
				if !strings.Contains(got, `"id":`+id+`,`) || !strings.Contains(got, "one: a") {
					t.Errorf("%s: the answer to %s is %s", over, body, got)
				}
			}
		}
	}
}

// TestARequestWhoseIDHasAFractionIsRefused and does not wait for ever.
func TestARequestWhoseIDHasAFractionIsRefused(t *testing.T) {
	t.Parallel()
	s := &script{answer: same(done)}
	r := newPolicyRig(t, Options{}, bridgeconfig.Config{Servers: []bridgeconfig.Server{s.serve(t)}})
	awaitLists(t, r.bridge)
	for over, send := range r.sends(t) {
		for _, id := range fractions {
			got := send(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"t"}}`, id)
			if !strings.Contains(got, `"id":`+id+`,"error":{"code":-32600,"message":"the request's id is a number with a fraction`) {
				t.Errorf("%s: the answer to %s is %s", over, id, got)
			}
		}
	}
	if n := s.count(methods.CallTool); n != 0 {
		t.Errorf("%d of these calls were carried out", n)
	}
}

// TestAServersQuestionIsAnsweredWithItsIDByteForByte, and one whose id has a fraction is refused.
func TestAServersQuestionIsAnsweredWithItsIDByteForByte(t *testing.T) {
	t.Parallel()
	answers := make(chan sentMessage, 1)
	var id atomic.Value
	s := &script{
		answer: func(w http.ResponseWriter, r *http.Request, m sentMessage, _ int) string {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"elicitation/create\",\"params\":{\"message\":\"?\","+
				"\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}\n\n", id.Load())
			_ = http.NewResponseController(w).Flush()
			select {
			case said := <-answers:
				result, _ := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": string(said.body)}}})
				_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", m.ID, result)
			case <-r.Context().Done():
			}
			return ""
		},
		answered: func(m sentMessage) { answers <- m },
	}
	r := newPolicyRig(t, Options{}, bridgeconfig.Config{Servers: []bridgeconfig.Server{s.serve(t)}})
	awaitLists(t, r.bridge)
	client := r.connect(t, "legacy", asking("ann"))
	for _, odd := range append(slices.Clone(oddIDs), fractions...) {
		id.Store(odd)
		result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
		if err != nil {
			t.Fatal(err)
		}
		want := `"result":`
		if slices.Contains(fractions, odd) {
			want = `"code":-32600`
		}
		if got := text(t, result); !strings.Contains(got, `"id":`+odd+`,`) || !strings.Contains(got, want) {
			t.Errorf("the answer to the question %s is %s", odd, got)
		}
	}
}
