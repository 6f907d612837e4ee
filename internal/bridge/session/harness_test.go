// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sessionKeys are keys that all processes of a bridge have.
var sessionKeys = [][]byte{bytes.Repeat([]byte{1}, 32)}

// house serves the clients of a process, which another process can replace.
type house struct {
	url     string
	http    *http.Client
	front   *httptest.Server
	tools   []tool
	refuse  atomic.Bool // whether first requests are refused
	host    Host
	store   *Store
	close   func() // ends the process
	handler atomic.Pointer[http.ServeMux]
}

// tool is a tool of the server that clients reach.
type tool struct {
	name string
	work func(context.Context, *call) (string, error)
}

// call is a call of a tool.
type call struct {
	*message.Request
	session *Session
}

// log sends a message about the call to the client.
func (c *call) log(ctx context.Context, text string) error {
	_, err := c.Send(ctx, methods.LogMessage, &mcp.LoggingMessageParams{Level: "info", Data: text})
	return err
}

func newHouse(t *testing.T, tools ...tool) *house {
	t.Helper()
	h := &house{tools: tools}
	h.front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.handler.Load().ServeHTTP(w, r) }))
	var open sync.WaitGroup // the client's connections
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		open.Add(1)
		return closing{conn, sync.OnceFunc(open.Done)}, nil
	}
	// A connection that is kept may be one to the former process.
	h.url, h.http = h.front.URL+"/mcp", &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	h.move(t)
	t.Cleanup(func() {
		h.front.CloseClientConnections()
		h.close()
		h.front.Close()
		open.Wait()
	})
	return h
}

// closing is a connection that tells of its end.
type closing struct {
	net.Conn
	closed func()
}

func (c closing) Close() error {
	defer c.closed()
	return c.Conn.Close()
}

// move starts a new process in the place of the former one, of which only the keys remain.
func (h *house) move(t *testing.T) {
	t.Helper()
	before := h.close
	life, end := context.WithCancel(t.Context())
	running := new(sync.WaitGroup)
	var mu sync.Mutex
	var begun []*Session // as the bridge knows them
	h.host = Host{
		Life: life, Signing: NewSigning(bridgeconfig.Config{UserID: "alice", BridgeUID: "uid-1"}), Calls: &Calls{}, Run: running.Go,
		Restored: func(s *Session, _ string) {
			mu.Lock()
			defer mu.Unlock()
			begun = append(begun, s)
		},
	}
	h.host.Answer = func(ctx context.Context, s *Session, q *message.Request) (mcp.Result, error) {
		if q.Method == methods.Initialize {
			h.host.Restored(s, "")
		}
		ctx, cancel := context.WithCancel(ctx)
		defer context.AfterFunc(life, cancel)()
		defer cancel()
		return h.answer(ctx, &call{q, s})
	}
	h.host.Signing.Use(sessionKeys)
	endpoint, mux := NewEndpoint(h.host, http.NotFoundHandler()), http.NewServeMux()
	h.store = endpoint.legacy.(*Store)
	mux.Handle("/mcp", endpoint)
	mux.Handle("/sse", NewSSE(h.host))
	h.handler.Store(mux)
	h.close = func() {
		end()
		mu.Lock()
		defer mu.Unlock()
		for _, s := range begun {
			_ = s.Close()
		}
		running.Wait()
	}
	if before != nil {
		h.front.CloseClientConnections()
		before()
	}
}

// answer answers a request in a session over streamable HTTP.
func (h *house) answer(ctx context.Context, c *call) (mcp.Result, error) {
	switch c.Method {
	case methods.ListTools, methods.SetLevel:
		return message.ParseResult([]byte(`{"tools":[]}`))
	case methods.Initialize:
		if h.refuse.Load() {
			return nil, errors.New("no more sessions")
		}
	case methods.CallTool:
		name := c.Params.(*mcp.CallToolParamsRaw).Name
		for _, tool := range h.tools {
			if tool.name == name {
				text, err := tool.work(ctx, c)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, err
			}
		}
		return nil, fmt.Errorf("unknown tool %q", name)
	}
	return c.session.Answer(ctx, c.Request)
}

// newHanging starts a house whose tool hang works until release is called, or its call is cancelled.
func newHanging(t *testing.T) (h *house, began chan struct{}, release func()) {
	t.Helper()
	began, over := make(chan struct{}, 8), make(chan struct{})
	h = newHouse(t, tool{"hang", func(ctx context.Context, _ *call) (string, error) {
		began <- struct{}{}
		select {
		case <-ctx.Done():
		case <-over:
		}
		return "done", nil
	}})
	return h, began, sync.OnceFunc(func() { close(over) })
}

// open sends a request and returns its answer, which may not have ended.
func (h *house) open(t *testing.T, method, url, body string, header map[string]string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	req := must.Value(http.NewRequestWithContext(ctx, method, url, strings.NewReader(body)))(t)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	return must.Value(h.http.Do(req))(t)
}

// do sends a request and returns its whole answer.
func (h *house) do(t *testing.T, method, url, body string, header map[string]string) (*http.Response, string) {
	t.Helper()
	resp := h.open(t, method, url, body, header)
	defer resp.Body.Close()
	return resp, string(must.Value(io.ReadAll(resp.Body))(t))
}

// session opens a session and returns its headers.
func (h *house) session(t *testing.T) map[string]string {
	t.Helper()
	resp, _ := h.do(t, "POST", h.url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"raw","version":"1"}}}`, nil)
	header := map[string]string{"Mcp-Session-Id": resp.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": "2025-11-25"}
	if header["Mcp-Session-Id"] == "" {
		t.Fatalf("no session: %s", resp.Status)
	}
	h.do(t, "POST", h.url, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, header)
	return header
}

// events reads what a stream sends, event by event.
func (h *house) events(t *testing.T, method, body string, header map[string]string) (*http.Response, <-chan string) {
	t.Helper()
	return eventsOf(h.open(t, method, h.url, body, header))
}

// openSSE opens a session of HTTP+SSE, and returns the address of its messages.
func (h *house) openSSE(t *testing.T) (resp *http.Response, events <-chan string, address string) {
	t.Helper()
	url := strings.Replace(h.url, "/mcp", "/sse", 1)
	resp, events = eventsOf(h.open(t, http.MethodGet, url, "", nil))
	first := next(t, events, "beginning of the stream")
	id, ok := strings.CutPrefix(first, "event: endpoint\ndata: /sse?sessionid=")
	if !ok {
		t.Fatalf("the stream begins with %q", first)
	}
	return resp, events, url + "?sessionid=" + strings.TrimSpace(id)
}

func eventsOf(resp *http.Response) (*http.Response, <-chan string) {
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

// next returns the next value of c, or fails.
func next[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(wait.Limit):
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}

// toolCall is the body of a POST that calls the tool.
func toolCall(id, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q}}`, id, tool)
}

const pingBody = `{"jsonrpc":"2.0","id":9,"method":"ping"}`
