// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/pipes"
)

const (
	introduction = `{"protocolVersion":"%s","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"},"instructions":"Ask."}`
	discovery    = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"instructions":"Ask.","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}`
	unknown      = `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"unknown method"}}`
)

// server is an MCP server over HTTP in a bubble. It notes what it is asked.
type server struct {
	// version is that of the protocol, and session the id of the sessions that it begins, empty for none.
	version, session string
	// on answers messages by their method, and other HTTP requests by theirs. What is not in it gets an
	// empty answer.
	on map[string]func(*asked)

	mu    sync.Mutex
	began time.Time
	log   []*asked
}

// asked is a request at a server.
type asked struct {
	w    http.ResponseWriter
	r    *http.Request
	text string
	rpc.Message
	at     time.Duration // since the beginning
	before int           // how often the same was asked before
}

// name is the method of the message, "answer" for one without, and the method of HTTP without a message.
func (a *asked) name() string {
	switch {
	case a.Method != "":
		return a.Method
	case a.r.Method == http.MethodPost:
		return "answer"
	}
	return a.r.Method
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	a := &asked{w: w, r: r, text: string(text)}
	a.Message, _ = rpc.Read(text)
	s.mu.Lock()
	a.at = time.Since(s.began)
	for _, other := range s.log {
		if other.name() == a.name() {
			a.before++
		}
	}
	s.log = append(s.log, a)
	s.mu.Unlock()
	answer := s.on[a.name()]
	if answer == nil {
		answer = s.answer
	}
	answer(a)
}

// answer is what the server does by itself.
func (s *server) answer(a *asked) {
	modern := s.version == "2026-07-28"
	switch name := a.name(); {
	case name == http.MethodGet, name == methods.Listen:
		a.stay()
	case name == http.MethodDelete:
	case a.ID == nil || !a.Request:
		a.w.WriteHeader(http.StatusAccepted)
	case name == methods.Discover && modern:
		a.result(discovery)
	case name == methods.Discover || name == methods.Initialize && modern:
		a.say(http.StatusOK, "application/json", unknown)
	case name == methods.Initialize:
		if s.session != "" {
			a.w.Header().Set("Mcp-Session-Id", s.session)
		}
		a.result(fmt.Sprintf(introduction, s.version))
	default:
		a.result("{}")
	}
}

// result answers with a result.
func (a *asked) result(result string) {
	a.say(http.StatusOK, "application/json", `{"jsonrpc":"2.0","id":$ID,"result":`+result+`}`)
}

// say answers with a body, in which $ID stands for the id of the request.
func (a *asked) say(status int, mediaType, body string) {
	if mediaType != "" {
		a.w.Header().Set("Content-Type", mediaType)
	}
	a.w.WriteHeader(status)
	_, _ = io.WriteString(a.w, strings.ReplaceAll(body, "$ID", string(a.ID)))
}

// events writes to an event stream, in which $ID stands for the id of the request.
func (a *asked) events(text string) { a.flow("text/event-stream", text) }

// flow writes to a body of no known length.
func (a *asked) flow(mediaType, text string) {
	a.w.Header().Set("Content-Type", mediaType)
	_, _ = io.WriteString(a.w, strings.ReplaceAll(text, "$ID", string(a.ID)))
	_ = http.NewResponseController(a.w).Flush()
}

// stay keeps an event stream open until the client ends it.
func (a *asked) stay() {
	a.events("")
	a.silent()
}

// silent waits until the client ends the request.
func (a *asked) silent() { <-a.r.Context().Done() }

// cut breaks the connection off.
func (a *asked) cut() { panic(http.ErrAbortHandler) }

// saying answers each time with a body.
func saying(status int, mediaType, body string) func(*asked) {
	return func(a *asked) { a.say(status, mediaType, body) }
}

// streaming answers each time with an event stream that ends.
func streaming(events string) func(*asked) {
	return func(a *asked) { a.events(events) }
}

// seen returns the requests so far, as describe has them; empty texts are left out.
func (s *server) seen(describe func(*asked) string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, a := range s.log {
		if text := describe(a); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// only returns the texts of the messages of a method.
func (s *server) only(method string) []string {
	return s.seen(func(a *asked) string {
		if a.name() != method {
			return ""
		}
		return strings.TrimSpace(a.text + a.r.Header.Get("Last-Event-Id"))
	})
}

// when returns when a method was asked for.
func (s *server) when(method string) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []time.Duration
	for _, a := range s.log {
		if a.name() == method {
			all = append(all, a.at)
		}
	}
	return all
}

// serve starts the server until the test ends, and returns how to reach it.
func (s *server) serve(t *testing.T) client.HTTP {
	t.Helper()
	s.began = time.Now()
	l := pipes.New()
	front := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	// A request on a connection that was used before would be sent again by the transport when it breaks.
	network := &http.Transport{DialContext: l.Dial, DisableKeepAlives: true}
	var running sync.WaitGroup
	running.Go(func() { _ = front.Serve(l) })
	t.Cleanup(func() {
		network.CloseIdleConnections()
		_ = front.Close()
		running.Wait()
	})
	return client.HTTP{URL: "http://server/mcp", Client: &http.Client{Transport: network}}
}

// dial opens a connection to the server until the test ends. change may be nil.
func (s *server) dial(t *testing.T, change func(*client.HTTP, *client.Options)) (*client.Session, error) {
	t.Helper()
	h, o := s.serve(t), options(&receiver{})
	if change != nil {
		change(&h, &o)
	}
	session, err := h.Dial(t.Context(), o)
	if err == nil {
		t.Cleanup(session.Close)
	}
	return session, err
}

// connect is dial where it must succeed.
func (s *server) connect(t *testing.T, r *receiver) *client.Session {
	t.Helper()
	return must.Value(s.dial(t, func(_ *client.HTTP, o *client.Options) { o.Receiver = r }))(t)
}

// inBubbles runs a table of tests, each in a bubble.
func inBubbles[T any](t *testing.T, table map[string]T, run func(t *testing.T, tt T)) {
	t.Helper()
	for name, tt := range table {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { run(t, tt) })
		})
	}
}
