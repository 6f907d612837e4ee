// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// forgetful is a legacy server that forgets its sessions when it is told to.
type forgetful struct {
	// refuse answers a request of a session that is forgotten.
	refuse func(w http.ResponseWriter, m sentMessage)

	mu               sync.Mutex
	begun, forgotten int            // how many sessions there were
	done             map[string]int // the requests that were carried out, by method
	hold             chan struct{}  // if set, calls of the tool "hold" wait for it
	holding          chan struct{}
}

// ServeHTTP implements http.Handler.
func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m sentMessage
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || json.Unmarshal(body, &m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	f.mu.Lock()
	session, _ := strconv.Atoi(r.Header.Get(message.HeaderSessionID))
	if m.Method == methods.Initialize {
		f.begun++
		session = f.begun
		w.Header().Set(message.HeaderSessionID, strconv.Itoa(session))
	}
	known := session > f.forgotten || m.Method == methods.Discover
	if known {
		f.done[m.Method]++
	}
	f.mu.Unlock()
	switch {
	case !known:
		f.refuse(w, m)
	case m.Method == methods.Initialize:
		answerWith(w, m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"forgetful","version":"1"}}`)
	case m.Method == methods.ListTools:
		answerWith(w, m, `{"tools":[{"name":"look","inputSchema":{"type":"object"},"annotations":`+readOnly+
			`},{"name":"pay","inputSchema":{"type":"object"}},{"name":"hold","inputSchema":{"type":"object"}}]}`)
	case m.Method == methods.CallTool:
		if strings.Contains(string(m.Params), `"hold"`) {
			f.holding <- struct{}{}
			<-f.hold
		}
		answerWith(w, m, results["plain"])
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
	}
}

// forget ends all sessions.
func (f *forgetful) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgotten = f.begun
}

func (f *forgetful) count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.done[method]
}

// before starts a bridge before the server, which asks it nothing by itself.
func (f *forgetful) before(t *testing.T) *rig {
	t.Helper()
	f.done, f.hold, f.holding = map[string]int{}, make(chan struct{}), make(chan struct{}, 1)
	front := httptest.NewServer(f)
	t.Cleanup(front.Close)
	quiet := fast
	quiet.Interval = time.Hour
	r := newPolicyRig(t, Options{timing: &quiet}, bridgeconfig.Config{Servers: []bridgeconfig.Server{{Name: "one", URL: front.URL}}})
	awaitLists(t, r.bridge)
	return r
}

// request posts a request of the client's era.
func (r *rig) request(t *testing.T, header map[string]string, method, tool string) string {
	t.Helper()
	name := ""
	if tool != "" {
		name = fmt.Sprintf(`"name":%q,`, tool)
	}
	if header == nil {
		_, body := r.do(t, "POST", r.url, modernBody(7, method, name), modernHeader(method, tool))
		return body
	}
	params := strings.TrimSuffix(name, ",")
	_, body := r.do(t, "POST", r.url, fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s}}`, method, params), header)
	return body
}

// refusals are the bodies with which servers refuse a session, with the words of
// SDKs and without.
func refusals(status int, mediaType, format, words string) func(http.ResponseWriter, sentMessage) {
	return func(w http.ResponseWriter, m sentMessage) {
		if mediaType != "" {
			w.Header().Set("Content-Type", mediaType)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.NewReplacer("WORDS", words, "ID", string(m.ID)).Replace(format))
	}
}

// TestNoCallIsLostOrSentTwiceWhenTheServerForgetsItsSession: it is sent again if the server did
// nothing, which package inflight reads from the refusal. Otherwise the next request has a new session.
func TestNoCallIsLostOrSentTwiceWhenTheServerForgetsItsSession(t *testing.T) {
	t.Parallel()
	const fault = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32001,"message":"WORDS"}}`
	requests := map[string]struct{ method, tool string }{
		"list": {methods.ListTools, ""}, "read-only call": {methods.CallTool, "look"}, "other call": {methods.CallTool, "pay"},
	}
	for name, tt := range map[string]struct {
		refuse func(http.ResponseWriter, sentMessage)
		again  bool
	}{
		"404, no body":                 {refusals(http.StatusNotFound, "", "", ""), true},
		"404, an event":                {refusals(http.StatusNotFound, "text/event-stream", "event: message\ndata: "+fault+"\n\n", "Session not found"), true},
		"400, an error of an SDK":      {refusals(http.StatusBadRequest, "application/json", fault, "Bad Request: No valid session ID provided"), true},
		"400, an error in other words": {refusals(http.StatusBadRequest, "application/json", fault, "Session not found"), false},
		"410, a text":                  {refusals(http.StatusGone, "text/plain", "WORDS", "Session not found"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &forgetful{refuse: tt.refuse}
			r := f.before(t)
			for clientEra, header := range map[string]map[string]string{"legacy": r.session(t), "modern": nil} {
				for name, sent := range requests {
					r.request(t, header, sent.method, sent.tool) // The other era's session was forgotten, too.
					r.request(t, header, sent.method, sent.tool)
					f.forget()
					got := f.lost(func() string { return r.request(t, header, sent.method, sent.tool) }, sent.method, tt.again)
					if got != "" {
						t.Errorf("%s of a %s client: %s", name, clientEra, got)
					}
				}
			}
		})
	}
}

// lost sends a request in a session that the server has forgotten, and one more. It returns what is
// wrong with the outcome, empty for nothing.
func (f *forgetful) lost(send func() string, method string, again bool) string {
	for round, served := range []bool{again, true} {
		before := f.count(method)
		got := send()
		if strings.Contains(got, `"result":`) != served {
			return fmt.Sprintf("request %d: served is %v, want %v: %s", round, !served, served, got)
		}
		// The bridge reads lists itself.
		if n := f.count(method) - before; method == methods.CallTool && served != (n == 1) {
			return fmt.Sprintf("request %d was carried out %d times", round, n)
		}
	}
	return ""
}

// TestAForgottenSessionEndsNoOtherCall: calls that the server still works on go on.
func TestAForgottenSessionEndsNoOtherCall(t *testing.T) {
	t.Parallel()
	f := &forgetful{refuse: refusals(http.StatusNotFound, "text/plain", "WORDS", "session not found")}
	r := f.before(t)
	held := make(chan string, 1)
	go func() { held <- r.request(t, nil, methods.CallTool, "hold") }()
	next(t, f.holding, "call")
	f.forget()
	if got := r.request(t, nil, methods.CallTool, "pay"); !strings.Contains(got, `"result":`) {
		t.Errorf("the call in the forgotten session: %s", got)
	}
	close(f.hold)
	if got := next(t, held, "answer"); !strings.Contains(got, `"result":`) {
		t.Errorf("the call that was in flight: %s", got)
	}
}

// TestAServerThatRefusesEverySessionIsAskedTwice and its words reach the user.
func TestAServerThatRefusesEverySessionIsAskedTwice(t *testing.T) {
	t.Parallel()
	calls := 0
	s := &script{answer: func(w http.ResponseWriter, _ *http.Request, m sentMessage, n int) string {
		calls = n
		const body = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32002,"message":"WORDS"}}`
		refusals(http.StatusNotFound, "application/json", body, "no such document")(w, m)
		return ""
	}}
	r := newPolicyRig(t, Options{}, bridgeconfig.Config{Servers: []bridgeconfig.Server{s.serve(t)}})
	awaitLists(t, r.bridge)
	for eraName, header := range map[string]map[string]string{"legacy": r.session(t), "modern": nil} {
		before := calls
		got := r.request(t, header, methods.CallTool, "t")
		if !strings.Contains(got, `{"code":-32002,"message":"no such document"}`) || calls-before != 2 {
			t.Errorf("a %s client got after %d requests: %s", eraName, calls-before, got)
		}
	}
}

// TestAnUnknownMethodEndsNoSession: version 2026-07-28 has status 404 for it.
func TestAnUnknownMethodEndsNoSession(t *testing.T) {
	t.Parallel()
	s := &script{answer: func(w http.ResponseWriter, _ *http.Request, m sentMessage, _ int) string {
		refusals(http.StatusNotFound, "application/json", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"WORDS"}}`, "no")(w, m)
		return ""
	}}
	r := newPolicyRig(t, Options{}, bridgeconfig.Config{Servers: []bridgeconfig.Server{s.serve(t)}})
	awaitLists(t, r.bridge)
	before := s.count(methods.Initialize)
	got := r.request(t, nil, methods.CallTool, "t")
	if !strings.Contains(got, `"code":-32601`) || s.count(methods.Initialize) != before {
		t.Errorf("after %d new sessions: %s", s.count(methods.Initialize)-before, got)
	}
}

// TestNoCallIsLostWhenAnEventStreamsSessionIsForgotten: over HTTP+SSE the session is in the URL to
// which messages are posted.
func TestNoCallIsLostWhenAnEventStreamsSessionIsForgotten(t *testing.T) {
	t.Parallel()
	server := echoServer("one")
	handler := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return server }, nil)
	var forgotten atomic.Value
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := r.URL.Query().Get("sessionid"); id != "" && forgotten.CompareAndSwap("next", id) || id != "" && forgotten.Load() == id {
			http.Error(w, "session not found", http.StatusNotFound)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	t.Cleanup(front.CloseClientConnections)
	quiet := fast
	quiet.Interval = time.Hour
	one := bridgeconfig.Server{Name: "one", URL: front.URL, Transport: bridgeconfig.SSE}
	r := newPolicyRig(t, Options{timing: &quiet}, bridgeconfig.Config{Servers: []bridgeconfig.Server{one}})
	awaitLists(t, r.bridge)
	for eraName := range eraNames {
		client := r.connect(t, eraName, nil)
		if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{"a"}}); err != nil {
			t.Fatal(err)
		}
		forgotten.Store("next")
		if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{"b"}}); err != nil {
			t.Errorf("a %s client: %v", eraName, err)
		}
	}
}
