// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/health"
)

// route returns the server that a request is for. With several, the name in the
// request is replaced by the server's own. Until leave is called, the server
// counts as in use.
func (b *Bridge) route(ctx context.Context, q *query) (*upstream, error) {
	for {
		t, err := b.locate(ctx, q)
		if err != nil {
			return nil, err
		}
		if b.enter(t.upstream, q.method) {
			t.rename()
			return t.upstream, nil
		}
		// The configuration changed just now, and the catalog with it.
	}
}

// target is where a request goes, and how the name in it becomes the server's
// own.
type target struct {
	upstream *upstream
	rename   func()
}

// locate finds the server that a request is for.
func (b *Bridge) locate(ctx context.Context, q *query) (target, error) {
	if u := b.only(); u != nil {
		if p, ok := q.params.(*mcp.CallToolParamsRaw); ok && !u.offers(ctx, p.Name) {
			return target{}, invalidParams("unknown %s", subject(q))
		}
		return target{u, func() {}}, nil
	}
	if len(b.servers()) == 0 {
		return target{}, invalidParams("the bridge has no servers")
	}
	if b.numbers() {
		b.awaitFirst(ctx)
	}
	t, ok := b.lookup(q)
	if !ok {
		// A server that is only just connecting may have it.
		b.awaitFirst(ctx)
		t, ok = b.lookup(q)
	}
	if !ok {
		return target{}, invalidParams("unknown %s", subject(q))
	}
	return t, nil
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

// lookup finds the server in the catalog.
func (b *Bridge) lookup(q *query) (target, bool) {
	c := b.currentCatalog()
	switch p := q.params.(type) {
	case *mcp.CallToolParamsRaw:
		return b.named(c, methodListTools, &p.Name)
	case *mcp.GetPromptParams:
		return b.named(c, methodListPrompts, &p.Name)
	case *mcp.ReadResourceParams:
		return at(c.owner(p.URI))
	case *mcp.SubscribeParams:
		return at(c.owner(p.URI))
	case *mcp.UnsubscribeParams:
		return at(c.owner(p.URI))
	case *mcp.CompleteParams:
		return b.completer(c, p)
	}
	return target{}, false
}

// at is the target of what has the same name everywhere.
func at(u *upstream, ok bool) (target, bool) { return target{u, func() {}}, ok }

// named is the target of what is called by a name, which a client now knows. A
// tool in mode Router has none by which it could be called.
func (b *Bridge) named(c *catalog, method string, name *string) (target, bool) {
	if c.meta != nil && method == methodListTools {
		return target{}, false
	}
	e, ok := c.find(method, *name)
	if !ok {
		return target{}, false
	}
	b.show(method, e)
	return target{e.upstream, func() { *name = e.original }}, true
}

// completer finds the server that completes an argument.
func (b *Bridge) completer(c *catalog, p *mcp.CompleteParams) (target, bool) {
	if p.Ref == nil {
		return target{}, false
	}
	if p.Ref.Type == "ref/prompt" {
		return b.named(c, methodListPrompts, &p.Ref.Name)
	}
	if e, ok := c.find(methodListTemplates, p.Ref.URI); ok {
		return at(e.upstream, true)
	}
	return at(c.owner(p.Ref.URI))
}

// show notes that clients may have seen the names of the entries.
func (b *Bridge) show(method string, entries ...entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.registers[method]
	if r == nil {
		return
	}
	if r.crowded() {
		r = newRegister()
		b.registers[method] = r
		entries = b.catalog.lists[method]
	}
	for _, e := range entries {
		if e.name != "" {
			r.show(e.naming)
		}
	}
}

// numbers reports whether a name may depend on which servers were reached
// already: where equal names are told apart by their order alone.
func (b *Bridge) numbers() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.settings.ToolPrefix == config.PrefixNever
}

// listAll answers a list request from the catalog, in one page. There is no
// cursor that a client could have.
func (b *Bridge) listAll(ctx context.Context, q *query) (mcp.Result, error) {
	if cursor := cursorOf(q.params); cursor != "" {
		return nil, invalidParams("unknown cursor %.80q", cursor)
	}
	b.awaitFirst(ctx)
	if err := b.compared(ctx, q); err != nil {
		return nil, err
	}
	c := b.currentCatalog()
	raws := []json.RawMessage{}
	if c.meta != nil && q.method == methodListTools {
		raws = append(raws, c.meta)
	} else {
		b.show(q.method, c.lists[q.method]...)
		for _, e := range c.lists[q.method] {
			if !e.hidden {
				raws = append(raws, e.raw)
			}
		}
	}
	result := empty()
	result.set(listOf[q.method].field, raws)
	if q.era == modern {
		result.forModern(q.method, implementation)
	}
	return result, nil
}

// cursorOf returns the cursor of a list request.
func cursorOf(params mcp.Params) string {
	switch p := params.(type) {
	case *mcp.ListToolsParams:
		return p.Cursor
	case *mcp.ListPromptsParams:
		return p.Cursor
	case *mcp.ListResourcesParams:
		return p.Cursor
	case *mcp.ListResourceTemplatesParams:
		return p.Cursor
	}
	return ""
}

// awaitFirst waits until every server was reached or failed once, so that the
// first list after a start is not empty. Servers that are replaced meanwhile are
// waited for too.
func (b *Bridge) awaitFirst(ctx context.Context) {
	for ctx.Err() == nil {
		upstreams := b.servers()
		var waiting sync.WaitGroup
		for _, u := range upstreams {
			waiting.Go(func() {
				u.awaitFirst(ctx)
				u.awaitList(ctx)
			})
		}
		waiting.Wait()
		if slices.Equal(upstreams, b.servers()) {
			return
		}
	}
}

// awaitList waits for a server that is being connected to and that never listed
// anything: its secrets may have come, or changed, while it was tried. The
// attempt that ends may be one with the former ones; the second tells.
func (u *upstream) awaitList(ctx context.Context) {
	timer := time.NewTimer(u.timing.wait)
	defer timer.Stop()
	for range 2 {
		u.mu.Lock()
		unknown := len(u.lists) == 0 && u.health.Status == health.Connecting && u.health.Failures == 0 && u.grant.usable()
		settled := u.settled
		u.mu.Unlock()
		if !unknown || u.peek().alive() {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-settled:
		}
	}
}

func (b *Bridge) currentCatalog() *catalog {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.catalog
}

// rebuild makes the catalog anew. The caller holds b.mu.
func (b *Bridge) rebuild() {
	b.catalog = layout{
		mode: b.settings.Mode, prefix: b.settings.ToolPrefix,
		upstreams: b.upstreams, registers: b.registers,
	}.build()
}

// listsChanged takes over changed lists of a server and tells the clients.
func (b *Bridge) listsChanged(note string) {
	b.mu.Lock()
	before := b.catalog
	b.rebuild()
	after := b.catalog
	b.mu.Unlock()
	if note == noteToolsChanged {
		b.headTools()
		if after.meta != nil && bytes.Equal(before.meta, after.meta) {
			return // Clients see no other tool than before.
		}
	}
	b.announce(note)
	switch only := b.only(); {
	case only == nil:
	case only.audited():
		b.inform(note, b.listening()) // The server need not say what the bridge made of its lists.
	default:
		b.inform(note, b.apart())
	}
}

// inform tells the sessions of a change, each on its own, because a client that
// does not read would hold the others up.
func (b *Bridge) inform(note string, sessions []*session) {
	for _, s := range sessions {
		b.done.Go(func() { _, _ = s.tell(b.ctx, note, &rawParams{}) })
	}
}

// apart returns the sessions that have no connection to the one server, over
// which it would tell them itself that a list changed. Those that began when
// there were others hear of changes from the bridge.
func (b *Bridge) apart() []*session {
	b.mu.Lock()
	sessions := slices.Collect(maps.Values(b.sessions))
	b.mu.Unlock()
	return slices.DeleteFunc(sessions, func(s *session) bool { return !s.who.watch || len(s.links()) > 0 })
}

// watch and unwatch serve the resource subscriptions of modern clients, which
// share one subscription at the server.
func (b *Bridge) watch(ctx context.Context, req *mcp.SubscribeRequest) error {
	u, err := b.route(ctx, &query{params: req.Params})
	if err != nil {
		return err
	}
	defer b.leave(u)
	ctx, cancel := follow(b.ctx, ctx)
	defer cancel()
	return rpcError(u.watch(ctx, req.Params.URI), u.server.Name)
}

func (b *Bridge) unwatch(ctx context.Context, req *mcp.UnsubscribeRequest) error {
	u, err := b.route(ctx, &query{params: req.Params})
	if err != nil {
		return err
	}
	defer b.leave(u)
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
// to a server that may not. In mode Router no such tool is called by its name.
func (b *Bridge) headTools() {
	b.heading.Lock()
	defer b.heading.Unlock()
	c := b.currentCatalog()
	headed := map[string]bool{}
	for _, e := range c.lists[methodListTools] {
		t, ok := headedTool(e)
		if !ok || c.meta != nil {
			continue
		}
		headed[e.key] = true
		b.server.AddTool(t, nil)
	}
	var stale []string
	for name := range b.headed {
		if !headed[name] {
			stale = append(stale, name)
		}
	}
	b.headed = headed
	slices.Sort(stale)
	b.server.RemoveTools(stale...)
}
