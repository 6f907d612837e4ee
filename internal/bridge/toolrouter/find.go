// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package toolrouter

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/serverlists"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// The scores that choose a server for a tool that several servers have, in hundredths: the last
// server in the configuration has orderTop, each earlier one orderStep less, but at least
// orderFloor. Recently called servers and servers whose tool has the given arguments score higher.
// The best server is chosen if it is clearGap ahead. The numbers are those of the public bridge
// with whose calls this one is compatible.
const (
	orderTop   = 100
	orderStep  = 10
	orderFloor = 10
	recencyTop = 30
	overlapTop = 20
	clearGap   = 15
)

// minScore is the minimum score of a tool that matches an intent.
const minScore = 0.3

// maxMatches limits the tools in the answer to an intent.
const maxMatches = 6

// candidate is a server that may be meant.
type candidate struct {
	Server    string  `json:"server"`
	Tool      string  `json:"tool"`
	Score     float64 `json:"score"`
	Suggested bool    `json:"suggested,omitempty"`

	entry serverlists.Entry
}

// ambiguity is the answer to a call that may mean several servers.
type ambiguity struct {
	Ambiguous  bool        `json:"ambiguous"`
	Message    string      `json:"message"`
	Candidates []candidate `json:"candidates"`
}

// resolve finds a tool in the catalog, or returns a refusal. A call that names no server starts no
// connection: it only waits for servers that start.
func (r *Router) resolve(ctx context.Context, w call) (serverlists.Entry, any, error) {
	if w.Server != "" {
		return r.resolveAt(ctx, w.Server, w.Tool)
	}
	r.host.AwaitStart(ctx, func() bool { return r.starting(r.candidates(w)) != nil })
	found := r.candidates(w)
	switch starting := r.starting(found); {
	case len(found) == 0 && starting != nil:
		return serverlists.Entry{}, nil, waitedInVain(ctx, starting)
	case len(found) == 0:
		return serverlists.Entry{}, refuse(refusedTool, r.similar(w.Tool), "no server has tool %.80q", w.Tool), nil
	case len(found) == 1, hundredths(found[0].Score)-hundredths(found[1].Score) >= clearGap:
		return found[0].entry, nil, nil
	}
	found[0].Suggested = true
	return serverlists.Entry{}, ambiguity{
		Ambiguous:  true,
		Message:    "several servers have tool " + message.Quote(w.Tool) + ": name one as server",
		Candidates: found,
	}, nil
}

// starting returns the error of the server that a call without a server's name waits for, or nil:
// of the best candidate if it starts, or of any server that starts if there is no candidate.
func (r *Router) starting(found []candidate) *fault.Starting {
	upstreams := r.host.Servers()
	if len(found) > 0 {
		upstreams = []*upstream.Server{found[0].entry.Server}
	}
	for _, u := range upstreams {
		if e := u.Starting(); e != nil {
			return e
		}
	}
	return nil
}

// awaitStart waits while the named server starts, and returns an error if that takes too long.
func (r *Router) awaitStart(ctx context.Context, server string) error {
	starting := func() *fault.Starting {
		if u, refused := r.serverNamed(server); refused == nil {
			return u.Starting()
		}
		return nil
	}
	r.host.AwaitStart(ctx, func() bool { return starting() != nil })
	if e := starting(); e != nil {
		return waitedInVain(ctx, e)
	}
	return nil
}

// waitedInVain returns the error of a call that has waited for a server to start.
func waitedInVain(ctx context.Context, e *fault.Starting) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fault.ToRPC(e, e.Server)
}

func hundredths(score float64) int { return int(score*100 + 0.5) }

// candidates returns the servers that have the tool, the best first.
func (r *Router) candidates(w call) []candidate {
	c, upstreams := r.host.Catalog(), r.host.Servers()
	r.mu.Lock()
	recent := r.recent
	r.mu.Unlock()
	var found []candidate
	for _, e := range c.Lists[methods.ListTools] {
		if e.Original != w.Tool || e.Hidden {
			continue
		}
		behind := len(upstreams) - 1 - slices.Index(upstreams, e.Server)
		score := max(orderTop-orderStep*behind, orderFloor)
		if slices.Contains(recent, e.ServerName) {
			score += recencyTop
		}
		score += overlap(e.Raw, w.Params)
		found = append(found, candidate{Server: e.ServerName, Tool: e.Original, Score: float64(score) / 100, entry: e})
	}
	slices.Reverse(found) // so that of equal servers the later in the configuration is first
	slices.SortStableFunc(found, func(x, y candidate) int { return cmp.Compare(y.Score, x.Score) })
	return found
}

// overlap returns the share of the given arguments that the tool has, scaled to overlapTop.
func overlap(tool, params json.RawMessage) int {
	var given map[string]json.RawMessage
	if json.Unmarshal(params, &given) != nil || len(given) == 0 {
		return 0
	}
	known := 0
	for _, name := range serverlists.ShapeOf(tool).Arguments() {
		if _, ok := given[name]; ok {
			known++
		}
	}
	return overlapTop * known / len(given)
}

// resolveAt finds a tool of the named server.
func (r *Router) resolveAt(ctx context.Context, server, tool string) (serverlists.Entry, any, error) {
	if err := r.awaitStart(ctx, server); err != nil {
		return serverlists.Entry{}, nil, err
	}
	if u, refused := r.serverNamed(server); refused == nil {
		if e, ok := r.toolOf(u, tool); ok {
			return e, nil, nil
		}
	}
	u, refused, err := r.awaitServer(ctx, server)
	if err != nil {
		return serverlists.Entry{}, nil, err
	}
	if refused != nil {
		return serverlists.Entry{}, refused, nil
	}
	if e, ok := r.toolOf(u, tool); ok {
		return e, nil, nil
	}
	return serverlists.Entry{}, refuse(refusedTool, r.toolNames(u), "server %q has no tool %.80q", server, tool), nil
}

// awaitServer waits until the named server is connected, and returns its upstream.
func (r *Router) awaitServer(ctx context.Context, server string) (*upstream.Server, *refusal, error) {
	for {
		u, refused := r.serverNamed(server)
		if refused != nil {
			return nil, refused, nil
		}
		_, err := u.Shared(ctx)
		if err == nil {
			return u, nil, nil
		}
		if ctx.Err() != nil || slices.Contains(r.host.Servers(), u) {
			if away := fault.AsUnavailable(err, server); away != nil {
				return nil, nil, away // The client may ask its user to log in.
			}
			return nil, nil, fault.ToRPC(err, server)
		}
		// The configuration changed in between, and another server has the name.
		if err := r.awaitStart(ctx, server); err != nil {
			return nil, nil, err
		}
	}
}

// serverNamed returns the upstream of this name.
func (r *Router) serverNamed(name string) (*upstream.Server, *refusal) {
	var names []string
	for _, u := range r.host.Servers() {
		if u.Config.Name == name {
			return u, nil
		}
		names = append(names, u.Config.Name)
	}
	if name == "" {
		return nil, refuse(refusedParams, names, "server is missing")
	}
	return nil, refuse(refusedServer, names, "there is no server %.80q", name)
}

func (r *Router) toolOf(u *upstream.Server, tool string) (serverlists.Entry, bool) {
	for _, e := range r.host.Catalog().Lists[methods.ListTools] {
		if e.Server == u && e.Original == tool && !e.Hidden {
			return e, true
		}
	}
	return serverlists.Entry{}, false
}

func (r *Router) toolNames(u *upstream.Server) []string {
	var names []string
	for _, e := range r.host.Catalog().Lists[methods.ListTools] {
		if e.Server == u && !e.Hidden {
			names = append(names, e.Original)
		}
	}
	return names
}

// similar returns the tools with names like an unknown name.
func (r *Router) similar(tool string) []string {
	var names []string
	for _, m := range fitting(r.host.Catalog(), tool) {
		names = append(names, m.Server+"/"+m.Tool)
	}
	return names
}

// intentAnswer is the answer to an intent. Match is null if no tool matches well enough.
type intentAnswer struct {
	Action       string      `json:"action"`
	Match        *candidate  `json:"match"`
	Alternatives []candidate `json:"alternatives"`
	Message      string      `json:"message,omitempty"`
}

// findTools returns the tools that match the client's intent. It calls no tool.
func (r *Router) findTools(ctx context.Context, q *message.Request, w arguments) (mcp.Result, error) {
	var p struct {
		Intent string `json:"intent"`
	}
	if len(w.Params) > 0 && json.Unmarshal(w.Params, &p) != nil {
		return q.Reply(refuse(refusedParams, nil, "params must be an object in which intent is a text"), true)
	}
	if p.Intent == "" {
		p.Intent = w.Tool
	}
	if p.Intent == "" {
		return q.Reply(refuse(refusedParams, nil, "params.intent is missing: say what you want to do"), true)
	}
	r.host.AwaitLists(ctx, q.Hops)
	answer := intentAnswer{Action: actionIntent, Alternatives: []candidate{}}
	for _, m := range fitting(r.host.Catalog(), p.Intent) {
		switch {
		case w.Server != "" && m.Server != w.Server:
		case answer.Match == nil && m.Score >= minScore:
			answer.Match = &m
		default:
			answer.Alternatives = append(answer.Alternatives, m)
		}
	}
	if answer.Match == nil {
		answer.Message = "no tool fits well: try other words, or list a server's tools"
	}
	return q.Reply(answer, false)
}

// fitting returns the tools that match the text best.
func fitting(c *serverlists.Catalog, text string) []candidate {
	var found []candidate
	for _, m := range c.Search(text, maxMatches) {
		found = append(found, candidate{Server: m.ServerName, Tool: m.Original, Score: m.Score, entry: m.Entry})
	}
	return found
}

// shorten returns the first sentence of a description, or as many of its words
// as fit into limit characters.
func shorten(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if end := sentenceEnd.FindStringIndex(text); end != nil && utf8.RuneCountInString(text[:end[0]+1]) <= limit {
		return text[:end[0]+1]
	}
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	cut := string(runes[:limit-1])
	if i := strings.LastIndexByte(cut, ' '); i > 0 && runes[limit-1] != ' ' {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:-") + "…"
}

// sentenceEnd matches the end of a sentence, but no sign within a word.
var sentenceEnd = regexp.MustCompile(`[.!?]( |$)`)
