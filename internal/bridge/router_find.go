// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/rank"
)

// The scores by which a server is chosen for a tool that several have, in
// hundredths: the last in the configuration has orderTop, each one before it
// orderStep less, none less than orderFloor. A server that was called lately and
// one whose tool has the given arguments get more. The first is taken if it is
// clearGap ahead. The numbers are those of the public bridge whose calls without
// a server are to work here as there.
const (
	orderTop   = 100
	orderStep  = 10
	orderFloor = 10
	recencyTop = 30
	overlapTop = 20
	clearGap   = 15
)

// minScore is how well a tool must fit an intent to be its match.
const minScore = 0.3

// maxMatches bounds the tools that are named for an intent.
const maxMatches = 6

// candidate is a server that could be meant.
type candidate struct {
	Server    string  `json:"server"`
	Tool      string  `json:"tool"`
	Score     float64 `json:"score"`
	Suggested bool    `json:"suggested,omitempty"`

	entry entry
}

// ambiguity is the answer to a call that several servers could be meant by.
type ambiguity struct {
	Ambiguous  bool        `json:"ambiguous"`
	Message    string      `json:"message"`
	Candidates []candidate `json:"candidates"`
}

// resolve finds a tool in the catalog, or says why not. A call that names no
// server connects to none: it only waits for those that are connecting anyway.
func (b *Bridge) resolve(ctx context.Context, w callWish) (entry, any, error) {
	if w.Server != "" {
		return b.resolveAt(ctx, w.Server, w.Tool)
	}
	found := b.candidates(w)
	if len(found) == 0 {
		b.awaitFirst(ctx)
		found = b.candidates(w)
	}
	switch {
	case len(found) == 0:
		return entry{}, refuse(refusedTool, b.similar(w.Tool), "no server has tool %.80q", w.Tool), nil
	case len(found) == 1, hundredths(found[0].Score)-hundredths(found[1].Score) >= clearGap:
		return found[0].entry, nil, nil
	}
	found[0].Suggested = true
	return entry{}, ambiguity{
		Ambiguous:  true,
		Message:    "several servers have tool " + quote(w.Tool) + ": name one as server",
		Candidates: found,
	}, nil
}

func hundredths(score float64) int { return int(score*100 + 0.5) }

// candidates returns the servers that have the tool, the likeliest first.
func (b *Bridge) candidates(w callWish) []candidate {
	b.mu.Lock()
	c, upstreams, recent := b.catalog, b.upstreams, b.recent
	b.mu.Unlock()
	var found []candidate
	for _, e := range c.lists[methodListTools] {
		if e.original != w.Tool || e.hidden {
			continue
		}
		behind := len(upstreams) - 1 - slices.Index(upstreams, e.upstream)
		score := max(orderTop-orderStep*behind, orderFloor)
		if slices.Contains(recent, e.server) {
			score += recencyTop
		}
		score += overlap(e.raw, w.Params)
		found = append(found, candidate{Server: e.server, Tool: e.original, Score: float64(score) / 100, entry: e})
	}
	slices.Reverse(found) // so that of equal ones the later in the configuration is first
	slices.SortStableFunc(found, func(x, y candidate) int { return cmp.Compare(y.Score, x.Score) })
	return found
}

// overlap returns how many of the given arguments the tool has, as a share of
// overlapTop.
func overlap(tool, params json.RawMessage) int {
	var given map[string]json.RawMessage
	if json.Unmarshal(params, &given) != nil || len(given) == 0 {
		return 0
	}
	known := 0
	for _, name := range shapeOf(tool).arguments() {
		if _, ok := given[name]; ok {
			known++
		}
	}
	return overlapTop * known / len(given)
}

// resolveAt finds a tool of the server that was named.
func (b *Bridge) resolveAt(ctx context.Context, server, tool string) (entry, any, error) {
	if u, refused := b.serverNamed(server); refused == nil {
		if e, ok := b.toolOf(u, tool); ok {
			return e, nil, nil
		}
	}
	u, refused, err := b.reached(ctx, server)
	if err != nil {
		return entry{}, nil, err
	}
	if refused != nil {
		return entry{}, refused, nil
	}
	if e, ok := b.toolOf(u, tool); ok {
		return e, nil, nil
	}
	return entry{}, refuse(refusedTool, b.toolNames(u), "server %q has no tool %.80q", server, tool), nil
}

// reached returns the upstream of that name once it is connected to.
func (b *Bridge) reached(ctx context.Context, server string) (*upstream, *refusal, error) {
	for {
		u, refused := b.serverNamed(server)
		if refused != nil {
			return nil, refused, nil
		}
		_, err := u.shared(ctx)
		if err == nil {
			return u, nil, nil
		}
		if ctx.Err() != nil || slices.Contains(b.servers(), u) {
			if away := unavailability(err, server); away != nil {
				return nil, nil, away // Who asked may have its user log in.
			}
			return nil, nil, rpcError(err, server)
		}
		// The configuration changed just now, and another server has the name.
	}
}

// serverNamed returns the upstream of that name.
func (b *Bridge) serverNamed(name string) (*upstream, *refusal) {
	var names []string
	for _, u := range b.servers() {
		if u.server.Name == name {
			return u, nil
		}
		names = append(names, u.server.Name)
	}
	if name == "" {
		return nil, refuse(refusedParams, names, "server is missing")
	}
	return nil, refuse(refusedServer, names, "there is no server %.80q", name)
}

func (b *Bridge) toolOf(u *upstream, tool string) (entry, bool) {
	for _, e := range b.currentCatalog().lists[methodListTools] {
		if e.upstream == u && e.original == tool && !e.hidden {
			return e, true
		}
	}
	return entry{}, false
}

func (b *Bridge) toolNames(u *upstream) []string {
	var names []string
	for _, e := range b.currentCatalog().lists[methodListTools] {
		if e.upstream == u && !e.hidden {
			names = append(names, e.original)
		}
	}
	return names
}

// similar returns the tools that could be meant by a name that none has.
func (b *Bridge) similar(tool string) []string {
	var names []string
	for _, m := range b.currentCatalog().search(tool) {
		names = append(names, m.Server+"/"+m.Tool)
	}
	return names
}

// intentAnswer is the answer to an intent. Match is null where nothing fits well
// enough.
type intentAnswer struct {
	Action       string      `json:"action"`
	Match        *candidate  `json:"match"`
	Alternatives []candidate `json:"alternatives"`
	Message      string      `json:"message,omitempty"`
}

// findTools answers which tools fit what the client wants to do. It calls none.
func (b *Bridge) findTools(ctx context.Context, q *query, w wish) (mcp.Result, error) {
	var p struct {
		Intent string `json:"intent"`
	}
	if len(w.Params) > 0 && json.Unmarshal(w.Params, &p) != nil {
		return q.reply(refuse(refusedParams, nil, "params must be an object in which intent is a text"), true)
	}
	if p.Intent == "" {
		p.Intent = w.Tool
	}
	if p.Intent == "" {
		return q.reply(refuse(refusedParams, nil, "params.intent is missing: say what you want to do"), true)
	}
	b.awaitFirst(ctx)
	answer := intentAnswer{Action: actionIntent, Alternatives: []candidate{}}
	for _, m := range b.currentCatalog().search(p.Intent) {
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
	return q.reply(answer, false)
}

// search returns the tools that fit the text best.
func (c *catalog) search(text string) []candidate {
	entries := c.lists[methodListTools]
	c.ranking.Do(func() {
		tools := make([]rank.Tool, len(entries))
		for i, e := range entries {
			shape := shapeOf(e.raw)
			tools[i] = rank.Tool{
				Server: e.server, About: e.upstream.server.Description,
				Name: e.original, Description: shape.Title + " " + shape.Description, Arguments: shape.arguments(),
			}
		}
		c.index = rank.NewIndex(tools)
	})
	var found []candidate
	for _, m := range c.index.Search(text, len(entries)) {
		e := entries[m.Tool]
		if !e.hidden && len(found) < maxMatches {
			found = append(found, candidate{Server: e.server, Tool: e.original, Score: m.Score, entry: e})
		}
	}
	return found
}

// shape is what of a tool a client is told to choose it by.
type shape struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	InputSchema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	} `json:"inputSchema"`
}

// shapeOf returns the shape of a tool, empty where it has unexpected types.
func shapeOf(tool json.RawMessage) shape {
	var s shape
	_ = json.Unmarshal(tool, &s) // what can be read is enough
	return s
}

// arguments returns the names of the tool's arguments in a fixed order.
func (s shape) arguments() []string {
	names := make([]string, 0, len(s.InputSchema.Properties))
	for name := range s.InputSchema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
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

// sentenceEnd is a sign that ends a sentence, and not one within a word.
var sentenceEnd = regexp.MustCompile(`[.!?]( |$)`)
