// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// Plain is a tool of each server that behaves well.
	Plain = "plain"
	// TokenArgument is the argument of a call whose value Saw knows the call by.
	TokenArgument = "token"
	// Old begins the paths of servers of the version Legacy. The rest of the path is empty
	// for the server that has the tools of all rows, or the name of a row with a server of
	// its own.
	Old = "/old"
	// New begins the paths of servers of the version Modern.
	New = "/new"
	// Legacy is the version of the servers with sessions.
	Legacy = "2025-11-25"
	// Modern is the version of the servers without.
	Modern = "2026-07-28"
)

// Event is something that happened to a call.
type Event string

// The events.
const (
	// Sent is that the server has sent all that it sends.
	Sent Event = "sent"
	// Left is that the bridge has ended its request.
	Left Event = "left"
	// Met is that the bridge has come to what the row does. The token of a row with a
	// server of its own is the path of the server.
	Met Event = "met"
	// Trapped is that somebody followed to where a server must not lead.
	Trapped Event = "trapped"
)

// Server serves all rows.
type Server struct {
	// Elsewhere is the URL of another server of this machine, to which redirects lead.
	Elsewhere string

	rows   map[string]Row
	mu     sync.Mutex
	events map[string]map[Event]int
	// held is closed while answers of bridges are taken, nil before they were ever not.
	held chan struct{}
	// waiting is how many answers wait to be taken, and most how many did at once.
	waiting, most int
}

// NewServer returns a server of all rows.
func NewServer() *Server {
	s := &Server{rows: map[string]Row{}, events: map[string]map[Event]int{}}
	for _, row := range Rows() {
		s.rows[row.Name] = row
	}
	return s
}

// Saw returns how often an event happened to the calls with the token.
func (s *Server) Saw(token string, e Event) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events[token][e]
}

func (s *Server) note(token string, e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.events[token] == nil {
		s.events[token] = map[Event]int{}
	}
	s.events[token][e]++
}

// holdFor is how long answers of bridges are not taken.
const holdFor = 2 * time.Second

// hold lets bridges wait with their answers for a time, so that they have as many at once
// as they ever have.
func (s *Server) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := make(chan struct{})
	s.held = held
	time.AfterFunc(holdFor, func() { close(held) })
}

func (s *Server) awaitRelease(ctx context.Context) {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held == nil {
		return
	}
	s.wait(1)
	defer s.wait(-1)
	select {
	case <-held:
	case <-ctx.Done():
	}
}

func (s *Server) wait(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting += n
	s.most = max(s.most, s.waiting)
}

// MostAnswers returns how many answers of bridges to pings and questions there were at
// once.
func (s *Server) MostAnswers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// Trap returns what is to be served at Elsewhere: it notes each request.
func (s *Server) Trap() http.Handler {
	return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { s.note("", Trapped) })
}

// Exchange is a request of the bridge, and its answer.
type Exchange struct {
	http.ResponseWriter
	Request *http.Request
	// Modern is the era of the server.
	Modern bool
	message

	server *Server
}

// message is what the bridge sends, empty for a GET.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
		Cursor    string            `json:"cursor"`
		Meta      struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &Exchange{ResponseWriter: w, Request: r, server: s}
	path, modern := strings.CutPrefix(r.URL.Path, New)
	x.Modern = modern
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // The bridge has gone.
	}
	_ = json.Unmarshal(body, &x.message) // An invalid body is no call.
	row := s.rows[strings.TrimPrefix(strings.TrimPrefix(path, Old), "/")]
	if row.Serve != nil && row.Meets(x) {
		s.note(r.URL.Path, Met)
		row.Serve(x)
		return
	}
	x.serve()
}

// serve is what a good server does, but for the calls of rows.
func (x *Exchange) serve() {
	switch {
	case x.Request.Method != http.MethodPost:
		x.WriteHeader(http.StatusMethodNotAllowed)
	case x.Method == "subscriptions/listen":
		x.listen()
		x.wait()
	case x.ID == nil || x.Method == "":
		if x.ID != nil {
			x.server.awaitRelease(x.Request.Context())
		}
		x.WriteHeader(http.StatusAccepted)
	case x.Method == "initialize" && !x.Modern, x.Method == "server/discover" && x.Modern:
		x.result(x.introduction(`{"tools":{"listChanged":true}}`))
	case x.Method == "tools/list":
		x.result(toolList(append(x.tools(), Plain), ""))
	case x.Method == "ping":
		x.result("{}")
	case x.Method != "tools/call":
		x.json(`{"jsonrpc":"2.0","id":<id>,"error":{"code":-32601,"message":"there is no such method"}}`)
	case x.server.rows[x.Params.Name].Call != nil:
		x.note(Met)
		x.server.rows[x.Params.Name].Call(x)
	default:
		x.result(ok)
	}
}

// listen begins the stream of changes.
func (x *Exchange) listen() {
	x.stream()
	if x.Modern {
		x.send("data: " + x.fill(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{`+
			`"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":<id>}}}`) + "\n\n")
	}
}

// introduction is the result of initialize or server/discover.
func (x *Exchange) introduction(capabilities string) string {
	const info = `{"name":"hostile","version":"1"}`
	if x.Modern {
		return fmt.Sprintf(`{"resultType":"complete","supportedVersions":[%q],"capabilities":%s,"ttlMs":0,"cacheScope":"private",`+
			`"_meta":{"io.modelcontextprotocol/serverInfo":%s}}`, Modern, capabilities, info)
	}
	return fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"serverInfo":%s}`, Legacy, capabilities, info)
}

// tools are the names of the tools of the server.
func (x *Exchange) tools() (names []string) {
	if path := x.Request.URL.Path; path != Old && path != New {
		return nil
	}
	for _, row := range Rows() {
		if row.Call != nil {
			names = append(names, row.Name)
		}
	}
	return names
}

// toolList is a page of tools with these names.
func toolList(names []string, cursor string) string {
	tools := make([]string, len(names))
	for i, name := range names {
		tools[i] = tool(quote(name))
	}
	next := ""
	if cursor != "" {
		next = `"nextCursor":` + quote(cursor) + `,`
	}
	return `{"resultType":"complete","ttlMs":0,"cacheScope":"private",` + next + `"tools":[` + strings.Join(tools, ",") + `]}`
}

// tool is the description of a tool.
func tool(name string) string {
	return `{"name":` + name + `,"inputSchema":{"type":"object"}}`
}

func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // Texts always encode.
	}
	return string(b)
}

// Opens reports whether the request begins a connection.
func (x *Exchange) opens() bool { return x.Method == "initialize" || x.Method == "server/discover" }

// listens reports whether the request is for the changes of lists.
func (x *Exchange) listens() bool {
	return x.Request.Method == http.MethodGet || x.Method == "subscriptions/listen"
}

// fill puts the id of the request and the good result where a message names them.
func (x *Exchange) fill(message string) string {
	token := x.Params.Meta.ProgressToken
	if token == nil {
		token = json.RawMessage("null")
	}
	r := strings.NewReplacer("<id>", string(x.ID), `"<token>"`, string(token), "<ok>", ok, "<elsewhere>", x.server.Elsewhere)
	return r.Replace(message)
}

// json answers with one message.
func (x *Exchange) json(message string) { x.typed("application/json", message) }

// result answers with a result.
func (x *Exchange) result(result string) {
	x.json(`{"jsonrpc":"2.0","id":<id>,"result":` + result + `}`)
}

func (x *Exchange) typed(mediaType, body string) {
	x.Header().Set("Content-Type", mediaType)
	x.send(x.fill(body))
}

// send writes a part of the answer, which the bridge gets at once, and reports whether
// there is still somebody to read it.
func (x *Exchange) send(part string) bool {
	if _, err := io.WriteString(x.ResponseWriter, part); err != nil {
		return false
	}
	return http.NewResponseController(x.ResponseWriter).Flush() == nil
}

// stream begins an event stream.
func (x *Exchange) stream(events ...string) {
	x.Header().Set("Content-Type", "text/event-stream")
	x.send(": begin\n\n")
	for _, e := range events {
		x.send("data: " + x.fill(e) + "\n\n")
	}
}

// wait keeps the request open until the bridge ends it.
func (x *Exchange) wait() {
	x.note(Sent)
	<-x.Request.Context().Done()
	x.note(Left)
}

func (x *Exchange) note(e Event) { x.server.note(x.Params.Arguments[TokenArgument], e) }

// raw writes what is not HTTP, or is not well formed, and ends the connection.
func (x *Exchange) raw(parts ...string) {
	conn, _, err := http.NewResponseController(x.ResponseWriter).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	for _, part := range parts {
		if _, err := io.WriteString(conn, x.fill(part)); err != nil {
			return
		}
	}
}
