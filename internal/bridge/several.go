// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// route returns the server that a request is for. With several, the name in the
// request is replaced by the server's own.
func (b *Bridge) route(ctx context.Context, q *query) (*upstream, error) {
	switch upstreams := b.servers(); len(upstreams) {
	case 0:
		return nil, invalidParams("the bridge has no servers")
	case 1:
		return upstreams[0], nil
	}
	u, ok := b.lookup(q)
	if !ok {
		// A server that is only just connecting may have it.
		b.awaitFirst(ctx)
		u, ok = b.lookup(q)
	}
	if !ok {
		return nil, invalidParams("unknown %s", subject(q))
	}
	return u, nil
}

// subject names what a request is about, for an error.
func subject(q *query) string {
	switch p := q.params.(type) {
	case *mcp.CallToolParamsRaw:
		return "tool " + quote(p.Name)
	case *mcp.GetPromptParams:
		return "prompt " + quote(p.Name)
	case *mcp.ReadResourceParams:
		return "resource " + quote(p.URI)
	case *mcp.SubscribeParams:
		return "resource " + quote(p.URI)
	}
	return "reference"
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}

// lookup finds the server in the catalog and translates the name.
func (b *Bridge) lookup(q *query) (*upstream, bool) {
	c := b.currentCatalog()
	switch p := q.params.(type) {
	case *mcp.CallToolParamsRaw:
		e, ok := c.find(methodListTools, p.Name)
		if ok {
			p.Name = e.original
		}
		return e.upstream, ok
	case *mcp.GetPromptParams:
		e, ok := c.find(methodListPrompts, p.Name)
		if ok {
			p.Name = e.original
		}
		return e.upstream, ok
	case *mcp.ReadResourceParams:
		return c.owner(p.URI)
	case *mcp.SubscribeParams:
		return c.owner(p.URI)
	case *mcp.UnsubscribeParams:
		return c.owner(p.URI)
	case *mcp.CompleteParams:
		return c.completer(p)
	}
	return nil, false
}

// completer finds the server that completes an argument.
func (c *catalog) completer(p *mcp.CompleteParams) (*upstream, bool) {
	if p.Ref == nil {
		return nil, false
	}
	if p.Ref.Type == "ref/prompt" {
		e, ok := c.find(methodListPrompts, p.Ref.Name)
		if ok {
			p.Ref.Name = e.original
		}
		return e.upstream, ok
	}
	if e, ok := c.find(methodListTemplates, p.Ref.URI); ok {
		return e.upstream, true
	}
	return c.owner(p.Ref.URI)
}

// listAll answers a list request from the catalog, in one page.
func (b *Bridge) listAll(ctx context.Context, q *query) (mcp.Result, error) {
	b.awaitFirst(ctx)
	entries := b.currentCatalog().lists[q.method]
	raws := make([]json.RawMessage, 0, len(entries))
	for _, e := range entries {
		if !e.hidden {
			raws = append(raws, e.raw)
		}
	}
	result := empty()
	result.set(listOf[q.method].field, raws)
	if q.era == modern {
		result.forModern(q.method, implementation)
	}
	return result, nil
}

// awaitFirst waits until every server was reached or failed once, so that the
// first list after a start is not empty.
func (b *Bridge) awaitFirst(ctx context.Context) {
	var waiting sync.WaitGroup
	for _, u := range b.servers() {
		waiting.Go(func() { u.awaitFirst(ctx) })
	}
	waiting.Wait()
}

func (b *Bridge) currentCatalog() *catalog {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.catalog
}

// listsChanged takes over changed lists of a server and tells the clients.
func (b *Bridge) listsChanged(note string) {
	b.mu.Lock()
	if len(b.upstreams) != 1 {
		b.catalog = buildCatalog(b.upstreams, (*upstream).items)
	} else {
		b.catalog = plainCatalog(b.upstreams[0])
	}
	tools := b.catalog.lists[methodListTools]
	b.mu.Unlock()
	if note == noteToolsChanged {
		b.headTools(tools)
	}
	b.announce(note)
	if b.transparent() {
		apart := b.apart()
		// On its own, because a client that does not read would hold it up.
		b.done.Go(func() {
			for _, s := range apart {
				_, _ = s.tell(b.ctx, note, &rawParams{})
			}
		})
	}
}

// apart returns the sessions that have no connection to the one server, over
// which it would tell them itself that a list changed.
func (b *Bridge) apart() []*session {
	b.mu.Lock()
	sessions := slices.Collect(maps.Values(b.sessions))
	b.mu.Unlock()
	return slices.DeleteFunc(sessions, func(s *session) bool { return len(s.links()) > 0 })
}

// plainCatalog is the catalog of one server, whose names stay.
func plainCatalog(u *upstream) *catalog {
	c := &catalog{lists: map[string][]entry{}}
	for method := range listOf {
		for _, it := range u.items(method) {
			c.lists[method] = append(c.lists[method], entry{key: it.key, original: it.key, raw: it.raw, upstream: u, hidden: it.hidden})
		}
	}
	return c
}

// watch and unwatch serve the resource subscriptions of modern clients, which
// share one subscription at the server.
func (b *Bridge) watch(ctx context.Context, req *mcp.SubscribeRequest) error {
	u, err := b.route(ctx, &query{params: req.Params})
	if err != nil {
		return err
	}
	ctx, cancel := follow(b.ctx, ctx)
	defer cancel()
	return rpcError(u.watch(ctx, req.Params.URI), u.server.Name)
}

func (b *Bridge) unwatch(ctx context.Context, req *mcp.UnsubscribeRequest) error {
	u, err := b.route(ctx, &query{params: req.Params})
	if err != nil {
		return err
	}
	// The stream that held the subscription is gone, and its context with it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), u.timing.timeout)
	defer cancel()
	return rpcError(u.unwatch(ctx, req.Params.URI), u.server.Name)
}

// placeholder is what announce adds to the SDK's server; the bridge's own lists
// hide it.
const placeholder = "hosted-bridge-changed"

// announce makes the SDK tell the clients that a list changed. It does so when
// a feature is added, even one that was there.
func (b *Bridge) announce(note string) {
	switch note {
	case noteToolsChanged:
		b.server.AddTool(&mcp.Tool{Name: placeholder, InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	case notePromptsChanged:
		b.server.AddPrompt(&mcp.Prompt{Name: placeholder}, nil)
	case noteResourcesChanged:
		b.server.AddResource(&mcp.Resource{Name: placeholder, URI: placeholder + ":"}, nil)
	}
}

// headTools registers the tools that repeat arguments in headers, so that the
// SDK checks a modern client's headers against its body before the request goes
// to a server that may not.
func (b *Bridge) headTools(tools []entry) {
	headed := map[string]bool{}
	for _, e := range tools {
		t, ok := headedTool(e)
		if !ok {
			continue
		}
		headed[e.key] = true
		b.server.AddTool(t, nil)
	}
	b.mu.Lock()
	var stale []string
	for name := range b.headed {
		if !headed[name] {
			stale = append(stale, name)
		}
	}
	b.headed = headed
	b.mu.Unlock()
	slices.Sort(stale)
	b.server.RemoveTools(stale...)
}
