// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/session"
	"github.com/hostedbridge/hostedbridge/internal/bridge/token"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// sessionKeys are keys that all processes of a bridge have.
var sessionKeys = [][]byte{bytes.Repeat([]byte{1}, 32)}

// house is a rig whose bridge can be replaced by that of a new process.
type house struct {
	rig
	servers []mcpserver.Server
	front   *httptest.Server
	leaving func() // called when the clients are cut off
	handler atomic.Pointer[http.Handler]
}

func newHouse(t *testing.T, servers ...mcpserver.Server) *house {
	t.Helper()
	h := &house{servers: servers}
	h.front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*h.handler.Load()).ServeHTTP(w, r)
	}))
	// A connection that is kept may be one to the former process.
	transport := &http.Transport{DisableKeepAlives: true}
	h.url, h.http = h.front.URL+"/u/alice/mcp", &http.Client{Transport: transport}
	h.move(t)
	t.Cleanup(func() {
		h.front.CloseClientConnections()
		h.bridge.Close()
		h.front.Close()
	})
	return h
}

// move starts a new process in the place of the former one, of which only the
// keys remain.
func (h *house) move(t *testing.T) {
	t.Helper()
	before := h.bridge
	c := mcpserver.Config{UserID: "alice", BridgeUID: "uid-1", Egress: mcpserver.Egress{Unrestricted: true}, Servers: h.servers}
	brief := fast
	h.bridge = New(t.Context(), c, Options{Log: slog.New(slog.DiscardHandler), timing: &brief})
	h.bridge.UseSessionKeys(sessionKeys)
	handler := h.bridge.Handler()
	h.handler.Store(&handler)
	if before != nil {
		h.front.CloseClientConnections()
		if h.leaving != nil {
			h.leaving()
		}
		before.Close()
	}
}

// TestASessionSurvivesARestart has a client do nothing but go on.
func TestASessionSurvivesARestart(t *testing.T) {
	t.Parallel()
	s := echoServer("one")
	rawTool(s, "ask", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, err := questions[methods.Elicit](ctx, req.Session)
		if err != nil {
			return nil, err
		}
		roots, err := questions[methods.ListRoots](ctx, req.Session)
		return said("%v, %v, %s", answer, roots, req.Session.InitializeParams().ClientInfo.Name), err
	})
	upstream := serveMCP(t, s, "legacy")
	t.Cleanup(upstream.Close)
	for name, servers := range map[string][]mcpserver.Server{
		"with one server":     {{Name: "one", URL: upstream.URL}},
		"with several":        {{Name: "one", URL: upstream.URL}, {Name: "two", URL: upstream.URL}},
		"with one, and early": {{Name: "one", URL: upstream.URL}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, servers...)
			changed := make(chan struct{}, 16)
			opts := asking("ann")
			opts.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} }
			client := h.connect(t, "legacy", opts)
			tool := map[bool]string{true: "ask", false: "one_ask"}[len(servers) == 1]
			id := client.ID()
			if !strings.HasSuffix(name, "early") {
				must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool}))(t)
			}
			for range 2 {
				h.move(t)
				result := must.Value(client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool}))(t)
				if got := text(t, result); got != "ann on it, ann on it, with 0 roots, test-client" {
					t.Errorf("answer = %s", got)
				}
				next(t, changed, "word that the lists may have changed")
				if client.ID() != id {
					t.Errorf("the session is %s, was %s", client.ID(), id)
				}
			}
		})
	}
}

// TestASessionIsRestoredOnce sends many requests with the same id at once.
func TestASessionIsRestoredOnce(t *testing.T) {
	t.Parallel()
	sessions := make(chan string, 100)
	s := emptyServer(&mcp.ServerOptions{InitializedHandler: func(_ context.Context, req *mcp.InitializedRequest) {
		sessions <- req.Session.InitializeParams().ClientInfo.Name
	}})
	rawTool(s, "t", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("ok"), nil })
	upstream := serveMCP(t, s, "legacy")
	t.Cleanup(upstream.Close)
	h := newHouse(t, mcpserver.Server{Name: "one", URL: upstream.URL})
	header := h.session(t)
	h.move(t)
	for len(sessions) > 0 {
		<-sessions
	}
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			resp, body := h.do(t, "POST", h.url, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"}}`, i), header)
			if resp.StatusCode != http.StatusOK || !strings.Contains(body, `"ok"`) {
				t.Errorf("answer = %d %s", resp.StatusCode, body)
			}
		})
	}
	wait.Wait()
	count := 0
	for range h.bridge.clients.server.Sessions() {
		count++
	}
	if count != 1 {
		t.Errorf("the bridge has %d sessions, want one", count)
	}
	seen := map[string]int{}
	for len(sessions) > 0 {
		seen[<-sessions]++
	}
	if seen["raw"] != 1 {
		t.Errorf("the server saw sessions %v, want one of the client", seen)
	}
}

func TestOnlyAnIdOfThisBridgeIsRestored(t *testing.T) {
	t.Parallel()
	upstream := serveMCP(t, echoServer("one"), "legacy")
	t.Cleanup(upstream.Close)
	h := newHouse(t, mcpserver.Server{Name: "one", URL: upstream.URL})
	id := h.session(t)["Mcp-Session-Id"]
	sign := func(keys [][]byte, owner string, issued time.Time, client string) string {
		id, _, err := token.NewKeys(keys, owner).SignSession(token.Session{Version: "2025-11-25", Client: []byte(client), Issued: issued}, bytes.NewReader(make([]byte, 16)))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	now := time.Now()
	tests := map[string]struct {
		id   string
		want int
	}{
		"its own":                        {id, http.StatusOK},
		"its own cut off":                {id[:len(id)-1], http.StatusNotFound},
		"its own with another character": {id[:20] + string(id[20]^1) + id[21:], http.StatusNotFound},
		"one that another key signed":    {sign([][]byte{bytes.Repeat([]byte{2}, 32)}, "alice/uid-1", now, `{}`), http.StatusNotFound},
		"one of another user":            {sign(sessionKeys, "bob/uid-1", now, `{}`), http.StatusNotFound},
		"one of an earlier bridge":       {sign(sessionKeys, "alice/uid-0", now, `{}`), http.StatusNotFound},
		"one that is more than 30 days":  {sign(sessionKeys, "alice/uid-1", now.Add(-session.SessionAge-time.Hour), `{}`), http.StatusNotFound},
		"one that is almost 30 days":     {sign(sessionKeys, "alice/uid-1", now.Add(-session.SessionAge+time.Hour), `{}`), http.StatusOK},
	}
	h.move(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			header := map[string]string{"Mcp-Session-Id": tt.id, "Mcp-Protocol-Version": "2025-11-25"}
			for _, method := range []string{"POST", "DELETE", "POST"} {
				resp, body := h.do(t, method, h.url, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, header)
				want := tt.want
				if method == "DELETE" && want == http.StatusOK {
					want, tt.want = http.StatusNoContent, http.StatusNotFound
				}
				if resp.StatusCode != want {
					t.Errorf("%s is answered with %d %s, want %d", method, resp.StatusCode, body, want)
				}
			}
		})
	}
}

// TestASessionIsNotLostWhileTheBridgeShutsDown asks in between.
func TestASessionIsNotLostWhileTheBridgeShutsDown(t *testing.T) {
	t.Parallel()
	upstream := serveMCP(t, echoServer("one"), "legacy")
	t.Cleanup(upstream.Close)
	h := newHouse(t, mcpserver.Server{Name: "one", URL: upstream.URL})
	header := h.session(t)
	h.move(t)
	h.bridge.Close()
	for method, body := range map[string]string{"POST": `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "GET": ""} {
		if resp, _ := h.do(t, method, h.url, body, header); resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s is answered with %d, want that it may be tried again", method, resp.StatusCode)
		}
	}
}

// TestAnEndedSessionStaysEnded ends sessions that the process has and has not.
func TestAnEndedSessionStaysEnded(t *testing.T) {
	t.Parallel()
	upstream := serveMCP(t, echoServer("one"), "legacy")
	t.Cleanup(upstream.Close)
	h := newHouse(t, mcpserver.Server{Name: "one", URL: upstream.URL})
	known, foreign := h.session(t), h.session(t)
	for name, header := range map[string]map[string]string{"known": known, "foreign": foreign} {
		if name == "foreign" {
			h.move(t)
		}
		resp, _ := h.do(t, "DELETE", h.url, "", header)
		if resp.StatusCode != http.StatusNoContent {
			t.Errorf("%s: DELETE is answered with %d", name, resp.StatusCode)
		}
		for _, method := range []string{"DELETE", "POST", "GET"} {
			if resp, _ := h.do(t, method, h.url, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, header); resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s after the end is answered with %d", name, method, resp.StatusCode)
			}
		}
	}
}

// TestASessionThatWasIdleGoesOn has sessions end that send nothing, at the server
// too, and a client come back.
func TestASessionThatWasIdleGoesOn(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 16)
	s := emptyServer(nil)
	rawTool(s, "t", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		go func() {
			_ = req.Session.Wait()
			ended <- struct{}{}
		}()
		return said("ok"), nil
	})
	upstream := serveMCP(t, s, "legacy")
	t.Cleanup(upstream.Close)
	h := newHouse(t, mcpserver.Server{Name: "one", URL: upstream.URL})
	sessions := session.NewStore(h.bridge.host())
	sessions.Timeout = 20 * time.Millisecond
	var handler http.Handler = sessions
	h.handler.Store(&handler)
	header := h.session(t)
	for range 2 {
		if resp, body := h.do(t, "POST", h.url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`, header); resp.StatusCode != http.StatusOK {
			t.Fatalf("answer = %d %s", resp.StatusCode, body)
		}
		next(t, ended, "end of the idle session at the server")
	}
}

// TestAnInitializeThatFailsLeavesNothing sends what looks like one.
func TestAnInitializeThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	upstream := serveMCP(t, echoServer("one"), "legacy")
	t.Cleanup(upstream.Close)
	h := newHouse(t, mcpserver.Server{Name: "one", URL: upstream.URL})
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize"}`,
		`{`,
	} {
		resp, _ := h.do(t, "POST", h.url, body, nil)
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			again, _ := h.do(t, "POST", h.url, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, map[string]string{"Mcp-Session-Id": id})
			if again.StatusCode != http.StatusNotFound {
				t.Errorf("%s: its session answers with %d", body, again.StatusCode)
			}
		}
	}
	eventually(t, "no session is left", func() bool {
		for range h.bridge.clients.server.Sessions() {
			return false
		}
		return true
	})
}

// events reads what a stream sends, event by event.
func (h *house) events(t *testing.T, method, body string, header map[string]string) (*http.Response, <-chan string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	req := must.Value(http.NewRequestWithContext(ctx, method, h.url, strings.NewReader(body)))(t)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp := must.Value(h.http.Do(req))(t)
	events := make(chan string, 64)
	go func() {
		defer resp.Body.Close()
		defer close(events)
		var event strings.Builder
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 2<<20)
		for lines.Scan() {
			if lines.Text() != "" {
				event.WriteString(lines.Text() + "\n")
				continue
			}
			events <- event.String()
			event.Reset()
		}
	}()
	return resp, events
}

// idOf returns the id of an event.
func idOf(t *testing.T, event string) string {
	t.Helper()
	_, after, ok := strings.Cut(event, "id: ")
	id, _, _ := strings.Cut(after, "\n")
	if !ok {
		t.Fatalf("the event has no id: %q", event)
	}
	return id
}

// hanging is a server whose tool does not answer until released.
func hanging(t *testing.T) (server mcpserver.Server, began chan struct{}, release func()) {
	t.Helper()
	s := emptyServer(nil)
	began, over := make(chan struct{}, 8), make(chan struct{})
	rawTool(s, "hang", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began <- struct{}{}
		select {
		case <-ctx.Done():
		case <-over:
		}
		return said("done"), nil
	})
	upstream := serveMCP(t, s, "legacy")
	t.Cleanup(upstream.Close)
	return mcpserver.Server{Name: "one", URL: upstream.URL}, began, sync.OnceFunc(func() { close(over) })
}

// TestALostAnswerIsToldOfAtOnce restarts the bridge while it waits for a server.
// The client cannot get the answer any more, and must not wait for it.
func TestALostAnswerIsToldOfAtOnce(t *testing.T) {
	t.Parallel()
	for name, requestID := range map[string]string{"a number": "42", "a text": `"call-é"`} {
		t.Run("to a request whose id is "+name, func(t *testing.T) {
			t.Parallel()
			server, began, release := hanging(t)
			h := newHouse(t, server)
			h.leaving = release
			header := h.session(t)
			_, events := h.events(t, "POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"hang"}}`, requestID), header)
			header["Last-Event-Id"] = idOf(t, next(t, events, "first event"))
			next(t, began, "call")
			h.move(t)
			resp, body := h.do(t, "GET", h.url, "", header)
			answer := answerOf(t, body)
			if resp.StatusCode != http.StatusOK || string(answer["id"]) != requestID || !strings.Contains(string(answer["error"]), "answer_lost") {
				t.Errorf("the rest of the stream is %d %s", resp.StatusCode, body)
			}
			header["Last-Event-Id"] = idOf(t, body)
			if resp, _ := h.do(t, "GET", h.url, "", header); resp.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("what comes after it is answered with %d, want that there is no such stream", resp.StatusCode)
			}
			delete(header, "Last-Event-Id")
			if resp, body := h.do(t, "POST", h.url, `{"jsonrpc":"2.0","id":43,"method":"tools/list"}`, header); resp.StatusCode != http.StatusOK {
				t.Errorf("the session does not go on: %d %s", resp.StatusCode, body)
			}
		})
	}
}

// TestAClientHearsThatItsAnswerIsLost is the same for the SDK's client, whose
// session goes on.
func TestAClientHearsThatItsAnswerIsLost(t *testing.T) {
	t.Parallel()
	server, began, release := hanging(t)
	h := newHouse(t, server)
	h.leaving = release
	client := h.connect(t, "legacy", nil)
	failed := make(chan error, 1)
	go func() {
		_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "hang"})
		failed <- err
	}()
	next(t, began, "call")
	h.move(t)
	if err := next(t, failed, "end of the call"); err == nil || !strings.Contains(err.Error(), "lost when the bridge restarted") {
		t.Errorf("error = %v, want that the answer is lost", err)
	}
	if _, err := client.ListTools(t.Context(), nil); err != nil {
		t.Errorf("the session does not go on: %v", err)
	}
}

// TestAStreamOfMessagesGoesOnAfterARestart asks the new process for what comes
// after an event of the former one.
func TestAStreamOfMessagesGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	s := echoServer("one")
	upstream := serveMCP(t, s, "legacy")
	t.Cleanup(upstream.Close)
	h := newHouse(t, mcpserver.Server{Name: "one", URL: upstream.URL}, mcpserver.Server{Name: "two", URL: upstream.URL})
	header := h.session(t)
	_, events := h.events(t, "GET", "", header)
	next(t, events, "beginning of the stream")
	connected(t, h.bridge)
	var last string
	for i := range 5 {
		rawTool(s, fmt.Sprint("more", i), func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("2"), nil })
		last = idOf(t, next(t, events, "list change"))
	}
	h.move(t)
	// The new process has fewer events than the former one had, and the client
	// must get them all.
	for _, after := range []string{"", last} {
		if after != "" {
			header["Last-Event-Id"] = after
		}
		_, events := h.events(t, "GET", "", header)
		for heard := map[string]bool{}; len(heard) < 3; {
			event := next(t, events, "word of changed lists after "+after)
			for _, note := range []string{methods.ToolsChanged, methods.PromptsChanged, methods.ResourcesChanged} {
				heard[note] = heard[note] || strings.Contains(event, note)
				if !heard[note] {
					delete(heard, note)
				}
			}
		}
		h.front.CloseClientConnections()
	}
}

// TestABrokenStreamGoesOn breaks the connection and not the bridge.
func TestABrokenStreamGoesOn(t *testing.T) {
	t.Parallel()
	server, began, release := hanging(t)
	h := newHouse(t, server)
	header := h.session(t)
	_, events := h.events(t, "POST", `{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"hang"}}`, header)
	header["Last-Event-Id"] = idOf(t, next(t, events, "first event"))
	next(t, began, "call")
	h.front.CloseClientConnections()
	release()
	_, answer := h.do(t, "GET", h.url, "", header)
	if !strings.Contains(answer, `"id":42`) || !strings.Contains(answer, "done") {
		t.Errorf("answer = %s", answer)
	}
	header["Last-Event-Id"] = strings.Replace(header["Last-Event-Id"], "_0", "_x", 1)
	if resp, body := h.do(t, "GET", h.url, "", header); !strings.Contains(body, "answer_lost") {
		t.Errorf("an event that never was is answered with %d %s", resp.StatusCode, body)
	}
}

func TestStreamsAndVersions(t *testing.T) {
	t.Parallel()
	upstream := serveMCP(t, echoServer("one"), "legacy")
	t.Cleanup(upstream.Close)
	r := newRig(t, fast, mcpserver.Server{Name: "one", URL: upstream.URL})
	header := r.session(t)
	list := `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`
	with := func(pairs ...string) map[string]string {
		changed := map[string]string{"Mcp-Session-Id": header["Mcp-Session-Id"], "Mcp-Protocol-Version": header["Mcp-Protocol-Version"]}
		for i := 0; i < len(pairs); i += 2 {
			changed[pairs[i]] = pairs[i+1]
		}
		return changed
	}
	tests := map[string]struct {
		method, body string
		header       map[string]string
		status       int
		says         string
	}{
		"an answer is a stream that begins with an id":       {"POST", list, with(), 200, "event: prime\nid: "},
		"which older clients do not know":                    {"POST", list, with("Mcp-Protocol-Version", "2025-06-18"), 200, `event: message`},
		"a batch, which there no longer is":                  {"POST", "[" + list + "]", with(), 400, "batching"},
		"a batch, which there still is":                      {"POST", "[" + list + "]", with("Mcp-Protocol-Version", "2025-03-26"), 200, `"id":7`},
		"a client that takes no stream":                      {"POST", list, with("Accept", "application/json"), 400, "Accept"},
		"a client that takes no JSON":                        {"POST", list, with("Accept", "text/event-stream"), 400, "Accept"},
		"a client that takes all":                            {"POST", list, with("Accept", "text/html, */*;q=0.1"), 200, `"id":7`},
		"a client that takes kinds of both":                  {"POST", list, with("Accept", "application/*, text/*"), 200, `"id":7`},
		"a body that says to be something else":              {"POST", list, with("Content-Type", "text/plain"), 415, "Content-Type"},
		"a GET that takes no stream":                         {"GET", "", with("Accept", "application/json"), 400, "Accept"},
		"a method that there is not":                         {"PUT", list, with(), 405, ""},
		"a session that ends without a name":                 {"DELETE", "", map[string]string{}, 400, ""},
		"a notification":                                     {"POST", `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, with(), 202, ""},
		"a body that is too large for a session":             {"POST", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", message.MaxBody) + `"}}`, with(), 413, ""},
		"no body":                                            {"POST", "", with(), 400, ""},
		"an event of nobody's stream":                        {"GET", "", with("Last-Event-Id", "x"), 405, ""},
		"an event of a stream whose request nobody can read": {"GET", "", with("Last-Event-Id", "AAAA_1.MARK.!"), 405, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resp, body := r.do(t, tt.method, r.url, tt.body, tt.header)
			if resp.StatusCode != tt.status || !strings.Contains(body, tt.says) {
				t.Errorf("answer = %d %q, want %d with %q", resp.StatusCode, body, tt.status, tt.says)
			}
			if strings.HasPrefix(name, "which older") && strings.Contains(body, "prime") {
				t.Errorf("an older client gets %q", body)
			}
		})
	}
}
