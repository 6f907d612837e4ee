// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clients runs the MCP clients that people use, with a stand-in for the vendor of
// their model. It is only imported by tests.
package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

// Model is a stand-in for the vendors of models. It answers in the protocols of Anthropic
// (Messages), OpenAI (Responses and Chat Completions) and Google (generateContent), and in one
// for programs that have no model. In each conversation it calls one tool, and then ends it
// with what the tool answered.
type Model struct {
	// Tool is what the name of the tool that it calls ends with: clients put prefixes before.
	Tool string
	// Calls is how many calls it makes before it ends the conversation, at least one.
	Calls int
	// Between is called before each call but the first, if it is not nil. Its context ends when
	// the client leaves.
	Between func(context.Context)

	mu   sync.Mutex
	seen Seen
}

// Seen is what a client gave the model.
type Seen struct {
	// Offered are the names of the tools.
	Offered []string
	// Question is the longest request with tools, as it was sent: the system text, the
	// descriptions of the tools and the conversation.
	Question string
	// Results are the texts that the calls returned, in the order of the calls.
	Results []string
}

// tool is a tool that a client offers.
type tool struct {
	Name string
	// Namespace is a name beside which Responses gives those of tools.
	Namespace string
}

// question is what a client asks of the model: all of the conversation until now.
type question struct {
	tools   []tool
	results []result
	stream  bool
	body    string
}

// result is what a call returned. id is that of the call, or has the tool's name in it where
// the protocol has no id.
type result struct{ id, text string }

// reply is what the model says: a call, or a text.
type reply struct {
	call      tool
	id        string
	arguments map[string]any
	text      string
}

// protocol is how a vendor writes questions and replies.
type protocol struct {
	read  func([]byte) (question, error)
	write func(w http.ResponseWriter, stream bool, r reply)
}

// protocols are the protocols by how the path of their requests ends.
var protocols = map[string]protocol{
	"/messages":              {readMessages, writeMessages},
	"/responses":             {readResponses, writeResponses},
	"/chat/completions":      {readCompletions, writeCompletions},
	":generateContent":       {readContents, writeContents},
	":streamGenerateContent": {readContents, writeContents},
	"/program":               {readProgram, writeProgram},
}

// maxQuestion bounds what is read of a question, in bytes. Agents send about 100 KiB of system
// text and tools.
const maxQuestion = 16 << 20

// ServeHTTP implements http.Handler.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for suffix, p := range protocols {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, suffix) {
			continue
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, maxQuestion))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		q, err := p.read(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		q.body = string(body)
		p.write(w, q.stream || strings.HasPrefix(suffix, ":stream"), m.answer(r.Context(), q))
		return
	}
	switch {
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		send(w, map[string]any{"totalTokens": 100})
	case strings.HasSuffix(r.URL.Path, "/models"):
		send(w, map[string]any{"object": "list", "data": []any{map[string]any{"id": Name, "object": "model"}}})
	default:
		http.NotFound(w, r)
	}
}

// Name is the name of the model where the client lets one choose.
const Name = "stand-in"

// Seen returns what the client gave the model until now.
func (m *Model) Seen() Seen {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen
}

// search begins the ids of calls that look for tools.
const search = "search"

// answer decides what the model says.
func (m *Model) answer(ctx context.Context, q question) reply {
	const without = "I have no tool of that name."
	if len(q.tools) == 0 {
		// Agents also ask for titles and the like.
		return reply{text: without}
	}
	results, found, searched := m.sort(q)
	m.note(q, results, found)
	target, offered := find(q.tools, m.Tool)
	finder, finds := find(q.tools, "tool_search", "ToolSearch")
	arguments := map[string]any{}
	if !offered && found != "" {
		target, offered = find(q.tools, "tool_call")
		arguments = map[string]any{"name": found, "arguments": arguments}
	}
	switch {
	case len(results) >= max(m.Calls, 1):
		return reply{text: "The tool answered: " + results[len(results)-1]}
	case offered:
		if len(results) > 0 && m.Between != nil {
			m.Between(ctx)
		}
		return reply{call: target, id: fmt.Sprintf("call_%d", len(results)+1), arguments: arguments}
	case finds && !searched:
		return reply{call: finder, id: search + "_1", arguments: map[string]any{"query": m.Tool}}
	}
	return reply{text: without}
}

// sort returns the results of the tool, the tool's name that a search found, and whether there
// was one: an agent with many tools has the model search for them, and call them by another tool.
func (m *Model) sort(q question) (results []string, found string, searched bool) {
	// A search that finds nothing repeats what it was asked for, without a prefix.
	name := regexp.MustCompile(`[A-Za-z0-9_-]+_` + regexp.QuoteMeta(m.Tool))
	for _, r := range q.results {
		if !strings.Contains(r.id, search) {
			results = append(results, r.text)
			continue
		}
		found, searched = name.FindString(r.text), true
	}
	return results, found, searched
}

// note keeps what the client gave.
func (m *Model) note(q question, results []string, found string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen.Offered = nil
	for _, t := range q.tools {
		m.seen.Offered = append(m.seen.Offered, t.Name)
	}
	if found != "" {
		m.seen.Offered = append(m.seen.Offered, found)
	}
	if len(q.body) > len(m.seen.Question) {
		m.seen.Question = q.body
	}
	if len(results) > len(m.seen.Results) {
		m.seen.Results = results
	}
}

// find returns the first tool whose name ends with one of the suffixes.
func find(tools []tool, suffixes ...string) (tool, bool) {
	for _, t := range tools {
		for _, suffix := range suffixes {
			if strings.HasSuffix(t.Name, suffix) {
				return t, true
			}
		}
	}
	return tool{}, false
}

// send writes the value as JSON.
func send(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// event is an event of a stream. Some protocols have no names of events.
type event struct {
	name string
	data any
}

// sendEvents writes the events as a stream.
func sendEvents(w http.ResponseWriter, events []event) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		if e.name != "" {
			fmt.Fprintf(w, "event: %s\n", e.name)
		}
		data, err := json.Marshal(e.data)
		if err != nil {
			return
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
}

// textOf returns the text of contents, which are a string or an array of parts with texts.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw)
	}
	var all []string
	for _, p := range parts {
		all = append(all, p.Text)
	}
	return strings.Join(all, "\n")
}
