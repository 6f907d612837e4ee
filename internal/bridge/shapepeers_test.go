// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/programs"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// rpcText is a JSON-RPC message whose parts are as they were sent.
type rpcText struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// mirror is a server that says what a test says, in one era, over one transport.
type mirror struct {
	kind bridgeconfig.Transport
	era  string

	mu sync.Mutex
	// handle answers a request with a result, or with an error that begins with "!".
	handle  func(c *mirrorConn, m rpcText) string
	conns   []*mirrorConn
	waiting map[string]chan rpcText
	asks    atomic.Int64
}

// mirrorConn is what a server can say while it answers a request.
type mirrorConn struct {
	server *mirror
	say    func(text string)
}

const mirrorCapabilities = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"completions":{},"logging":{}}`

// defaults are the answers to what is not the test's.
var defaults = map[string]string{
	"initialize":               `{"protocolVersion":"2025-11-25","capabilities":` + mirrorCapabilities + `,"serverInfo":{"name":"mirror","version":"1"}}`,
	"server/discover":          `{"supportedVersions":["2026-07-28"],"capabilities":` + mirrorCapabilities + `,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mirror","version":"1"}}}`,
	"ping":                     `{}`,
	"logging/setLevel":         `{}`,
	"resources/subscribe":      `{}`,
	"tools/list":               `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`,
	"prompts/list":             `{"prompts":[{"name":"p"}]}`,
	"resources/list":           `{"resources":[{"uri":"x:y","name":"y"}]}`,
	"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"x:{z}","name":"z"}]}`,
}

// use has handle answer the requests to come.
func (s *mirror) use(handle func(c *mirrorConn, m rpcText) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle = handle
}

// answer returns the answer to a request, which may take a while.
func (s *mirror) answer(c *mirrorConn, m rpcText) string {
	wrong := "initialize"
	if s.era == "legacy" {
		wrong = "server/discover"
	}
	s.mu.Lock()
	handle := s.handle
	s.mu.Unlock()
	result := "!" + `{"code":-32601,"message":"no"}`
	if m.Method != wrong && handle != nil {
		if said := handle(c, m); said != "" {
			result = said
		} else if known := defaults[m.Method]; known != "" {
			result = known
		}
	} else if known := defaults[m.Method]; m.Method != wrong && known != "" {
		result = known
	}
	if failure, ok := strings.CutPrefix(result, "!"); ok {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, failure)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// ask asks the client a question and returns its answer.
func (c *mirrorConn) ask(t *testing.T, method, params string) rpcText {
	id := fmt.Sprintf(`"q%d"`, c.server.asks.Add(1))
	answered := make(chan rpcText, 1)
	c.server.mu.Lock()
	c.server.waiting[id] = answered
	c.server.mu.Unlock()
	c.say(request(id, method, params))
	select {
	case m := <-answered:
		return m
	case <-time.After(wait.Limit):
		t.Errorf("no answer to %s %s", method, params)
		return rpcText{}
	}
}

// request returns a request or, without an id, a notification.
func request(id, method, params string) string {
	text := `{"jsonrpc":"2.0","method":"` + method + `"}`
	if params != none {
		text = withMember(text, "params", params)
	}
	if id != "" {
		text = withMember(text, "id", id)
	}
	return text
}

// received takes the client's answer to a question.
func (s *mirror) received(m rpcText) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waits := s.waiting[string(m.ID)]; waits != nil {
		delete(s.waiting, string(m.ID))
		waits <- m
	}
}

// start serves the server and returns its configuration.
func (s *mirror) start(t *testing.T) bridgeconfig.Server {
	t.Helper()
	s.waiting = map[string]chan rpcText{}
	switch s.kind {
	case bridgeconfig.SSE:
		return bridgeconfig.Server{Name: "one", Transport: s.kind, URL: s.serveSSE(t).URL}
	case bridgeconfig.Stdio:
		memoryPrograms.Store(t.Name(), s)
		t.Cleanup(func() { memoryPrograms.Delete(t.Name()) })
		return bridgeconfig.Server{Name: "one", Transport: s.kind, Program: &bridgeconfig.Program{Command: []string{t.Name()}}}
	}
	server := httptest.NewServer(http.HandlerFunc(s.serveHTTP))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return bridgeconfig.Server{Name: "one", URL: server.URL}
}

// eventWriter returns what writes messages as events of an answer.
func eventWriter(w http.ResponseWriter) func(string) {
	var mu sync.Mutex
	w.Header().Set("Content-Type", "text/event-stream")
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", text)
		_ = http.NewResponseController(w).Flush()
	}
}

// open adds a connection on which the server can say something at any time.
func (s *mirror) open(say func(string)) *mirrorConn {
	c := &mirrorConn{s, say}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, c)
	return c
}

func (s *mirror) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && s.era == "legacy" {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		said := make(chan string, 1000)
		s.open(func(text string) { said <- text })
		write := eventWriter(w)
		for {
			select {
			case text := <-said:
				write(text)
			case <-r.Context().Done():
				return
			}
		}
	}
	var m rpcText
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || json.Unmarshal(body, &m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	switch {
	case m.Method == "":
		s.received(m)
		w.WriteHeader(http.StatusAccepted)
	case m.ID == nil:
		s.answer(nil, m) // The test may look at it.
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "subscriptions/listen":
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	default:
		if s.era == "legacy" {
			w.Header().Set("Mcp-Session-Id", "s")
		}
		say := eventWriter(w)
		say(s.answer(&mirrorConn{s, say}, m))
	}
}

func (s *mirror) serveSSE(t *testing.T) *httptest.Server {
	t.Helper()
	var mu sync.Mutex
	streams := map[string]*mirrorConn{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			c := streams[r.URL.Query().Get("id")]
			mu.Unlock()
			w.WriteHeader(http.StatusAccepted)
			s.heard(c, body)
			return
		}
		said := make(chan string, 1000)
		mu.Lock()
		id := fmt.Sprint(len(streams) + 1)
		streams[id] = s.open(func(text string) { said <- text })
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "event: endpoint\ndata: /?id=%s\n\n", id)
		_ = http.NewResponseController(w).Flush()
		write := eventWriter(w)
		for {
			select {
			case text := <-said:
				write(text)
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// heard handles a message on a connection with one stream.
func (s *mirror) heard(c *mirrorConn, text []byte) {
	var m rpcText
	if json.Unmarshal(text, &m) != nil {
		return
	}
	switch {
	case m.Method == "":
		s.received(m)
	case m.ID == nil:
		s.answer(nil, m)
	case m.Method == "subscriptions/listen":
	default:
		go func() { c.say(s.answer(c, m)) }()
	}
}

func (s *mirror) connect(stdio.Launch) client.Dialer { return s.asProgram }

func (s *mirror) asProgram(context.Context) (client.Stream, error) {
	toServer, ours := io.Pipe()
	theirs, toClient := io.Pipe()
	said := make(chan string, 1000)
	c := s.open(func(text string) { said <- text })
	gone := make(chan struct{})
	go func() {
		defer func() { _ = toClient.Close() }()
		for {
			select {
			case text := <-said:
				_, _ = io.WriteString(toClient, text+"\n")
			case <-gone:
				return
			}
		}
	}()
	go func() {
		defer close(gone)
		for lines := bufio.NewReader(toServer); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			s.heard(c, line)
		}
	}()
	return programs.Lines(theirs, ours), nil
}

// shapeClient is a client that says what a test says, in one era, over one transport.
type shapeClient struct {
	t   *testing.T
	rig *rig
	era string
	// post sends a message. Over HTTP, hear is told of the messages in its answer.
	post func(text, method, name string, hear func(rpcText))
	// reply answers the questions of servers.
	reply func(method string, params json.RawMessage) string

	mu      sync.Mutex
	ids     int
	waiting map[string]chan rpcText
	notes   chan rpcText
}

// clientKinds open the clients.
var clientKinds = map[string]func(*testing.T, *rig) *shapeClient{
	"legacy HTTP":  func(t *testing.T, r *rig) *shapeClient { return openHTTP(t, r, "legacy") },
	"modern HTTP":  func(t *testing.T, r *rig) *shapeClient { return openHTTP(t, r, "modern") },
	"HTTP+SSE":     openShapeSSE,
	"legacy stdio": func(t *testing.T, r *rig) *shapeClient { return openShapeStdio(t, r, "legacy") },
	"modern stdio": func(t *testing.T, r *rig) *shapeClient { return openShapeStdio(t, r, "modern") },
}

func newShapeClient(t *testing.T, r *rig, era string) *shapeClient {
	return &shapeClient{t: t, rig: r, era: era, waiting: map[string]chan rpcText{}, notes: make(chan rpcText, 10_000)}
}

const shapeCapabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{"listChanged":true}}`

// initialize begins a session.
func (c *shapeClient) initialize(version string) {
	if c.era == "legacy" {
		c.send("initialize", `{"protocolVersion":"`+version+`","capabilities":`+shapeCapabilities+`,"clientInfo":{"name":"shapes","version":"1"}}`)
		c.post(request("", "notifications/initialized", none), "", "", c.hear)
	}
}

// hear takes a message of the bridge.
func (c *shapeClient) hear(m rpcText) {
	switch {
	case m.Method == "":
		c.mu.Lock()
		waits := c.waiting[string(m.ID)]
		delete(c.waiting, string(m.ID))
		c.mu.Unlock()
		if waits != nil {
			waits <- m
		}
	case m.ID == nil:
		c.notes <- m
	default:
		result := c.reply(m.Method, m.Params)
		c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result), "", "", c.hear)
	}
}

// send sends a request and returns its answer. Answers that ask a client of the current protocol
// are answered, and the request is sent again.
func (c *shapeClient) send(method, params string) rpcText {
	c.t.Helper()
	for {
		m := c.sendOnce(method, params)
		var asks struct {
			Requests map[string]rpcText `json:"inputRequests"`
			State    json.RawMessage    `json:"requestState"`
		}
		if c.era == "legacy" || json.Unmarshal(m.Result, &asks) != nil || asks.Requests == nil {
			return m
		}
		responses := map[string]json.RawMessage{}
		for key, asked := range asks.Requests {
			responses[key] = json.RawMessage(c.reply(asked.Method, asked.Params))
		}
		text := must.Value(json.Marshal(responses))(c.t)
		fields := fieldsOfText(params)
		fields["inputResponses"], fields["requestState"] = text, asks.State
		params = textOfFields(fields)
	}
}

func (c *shapeClient) sendOnce(method, params string) rpcText {
	c.t.Helper()
	c.mu.Lock()
	c.ids++
	id := fmt.Sprint(c.ids)
	answered := make(chan rpcText, 1)
	c.waiting[id] = answered
	c.mu.Unlock()
	var named struct{ Name, URI string }
	_ = json.Unmarshal([]byte(params), &named)
	c.post(request(id, method, params), method, named.Name+named.URI, c.hear)
	return next(c.t, answered, "answer to "+method+" "+params)
}

func openHTTP(t *testing.T, r *rig, era string) *shapeClient {
	c := newShapeClient(t, r, era)
	session := ""
	c.post = func(text, method, name string, hear func(rpcText)) {
		header := map[string]string{}
		if era == "modern" {
			header = modernHeader(method, name)
		} else if session != "" {
			header["Mcp-Session-Id"], header["Mcp-Protocol-Version"] = session, "2025-11-25"
		}
		resp, err := r.http.Do(r.newPost(t.Context(), t, text, header))
		if err != nil {
			c.broken(err)
			return
		}
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		defer resp.Body.Close()
		c.readEvents(resp, hear)
	}
	c.initialize("2025-11-25")
	if era == "legacy" {
		c.listen(r.url, map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-11-25"})
	}
	return c
}

// broken reports that a message could not be sent, unless the test is over.
func (c *shapeClient) broken(err error) {
	if c.t.Context().Err() == nil {
		c.t.Error(err)
	}
}

// listen opens a stream of messages and returns the first event.
func (c *shapeClient) listen(url string, header map[string]string) (first string) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req := must.Value(http.NewRequestWithContext(ctx, http.MethodGet, url, nil))(c.t)
	req.Header.Set("Accept", "text/event-stream")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp := must.Value(c.rig.http.Do(req))(c.t)
	lines := bufio.NewReader(resp.Body)
	if header == nil {
		first = nextData(lines)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			data := nextData(lines)
			if data == "" {
				return
			}
			var m rpcText
			if json.Unmarshal([]byte(data), &m) != nil {
				c.t.Errorf("event %s", data)
			}
			if m.Method != "" && m.ID != nil {
				reading.Go(func() { c.hear(m) })
				continue
			}
			c.hear(m)
		}
	})
	c.t.Cleanup(func() {
		cancel()
		_ = resp.Body.Close()
		reading.Wait()
	})
	return first
}

// nextData returns the data of the next event, empty at the end.
func nextData(lines *bufio.Reader) string {
	for {
		line, err := lines.ReadString('\n')
		if data, ok := strings.CutPrefix(line, "data: "); ok && strings.TrimSpace(data) != "" {
			return strings.TrimSpace(data)
		}
		if err != nil {
			return ""
		}
	}
}

// readEvents reads an answer, which may be one message. Questions are answered beside.
func (c *shapeClient) readEvents(resp *http.Response, hear func(rpcText)) {
	var m rpcText
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		body, _ := io.ReadAll(resp.Body)
		if len(bytes.TrimSpace(body)) > 0 {
			if json.Unmarshal(body, &m) != nil {
				c.t.Errorf("the answer is %d %s", resp.StatusCode, body)
			}
			hear(m)
		}
		return
	}
	var answering sync.WaitGroup
	defer answering.Wait()
	for lines := bufio.NewReader(resp.Body); ; {
		data := nextData(lines)
		if data == "" {
			return
		}
		m := rpcText{}
		if json.Unmarshal([]byte(data), &m) != nil {
			c.t.Errorf("event %s", data)
		}
		if m.Method != "" && m.ID != nil {
			answering.Go(func() { hear(m) })
			continue
		}
		hear(m)
	}
}

func openShapeSSE(t *testing.T, r *rig) *shapeClient {
	c := newShapeClient(t, r, "legacy")
	endpoint := strings.TrimSuffix(r.url, "/u/alice/mcp") + c.listen(r.sseURL(), nil)
	c.post = func(text, _, _ string, _ func(rpcText)) {
		req := r.newPost(t.Context(), t, text, nil)
		req.URL, _ = req.URL.Parse(endpoint)
		resp, err := r.http.Do(req)
		if err != nil {
			c.broken(err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusAccepted {
			t.Errorf("a message was answered with %d", resp.StatusCode)
		}
	}
	c.initialize("2024-11-05")
	return c
}

func openShapeStdio(t *testing.T, r *rig, era string) *shapeClient {
	c := newShapeClient(t, r, era)
	toBridge, fromClient := io.Pipe()
	toClient, fromBridge := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		err := r.bridge.ServeStdio(ctx, toBridge, fromBridge)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("serving ended with %v", err)
		}
	})
	running.Go(func() {
		for lines := bufio.NewReader(toClient); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var m rpcText
			if json.Unmarshal(line, &m) == nil {
				if m.Method != "" && m.ID != nil {
					running.Go(func() { c.hear(m) })
					continue
				}
				c.hear(m)
			}
		}
	})
	var writing sync.Mutex
	c.post = func(text, _, _ string, _ func(rpcText)) {
		writing.Lock()
		defer writing.Unlock()
		_, _ = io.WriteString(fromClient, text+"\n")
	}
	t.Cleanup(func() {
		cancel()
		_ = fromClient.Close()
		_ = toClient.Close()
		running.Wait()
	})
	c.initialize("2025-11-25")
	return c
}

// fieldsOfText returns the members of a JSON object, none for no text.
func fieldsOfText(text string) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal([]byte(text), &fields)
	return fields
}

func textOfFields(fields map[string]json.RawMessage) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(fields); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}
