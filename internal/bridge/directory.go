// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/serverlists"
	"github.com/hostedbridge/hostedbridge/internal/bridge/toolrouter"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// directory holds the lists that clients see, and finds the server for a name.
type directory struct {
	set    *serverSet
	status *statusTool

	mu         sync.Mutex // guards what follows. serverSet.mu may be taken while it is held
	catalog    *serverlists.Catalog
	registries map[string]*serverlists.Registry // of names, by list method
}

// relaysList reports whether the one server of a transparent bridge answers a list
// request itself. It cannot while it starts.
func (d *directory) relaysList(method string) bool {
	u := d.set.only()
	return u != nil && !isStarting(u) && !(method == methods.ListTools && u.Audited())
}

// awaitComparedTools waits until the catalog has the current tools of a transparent bridge's
// audited server.
func (d *directory) awaitComparedTools(ctx context.Context, q *message.Request) error {
	u := d.set.only()
	if u == nil || !u.Audited() || isStarting(u) {
		return nil
	}
	if err := d.set.checkLoop(ctx, u, q.Hops); err != nil {
		return err
	}
	l, err := u.Shared(ctx)
	if err == nil {
		err = l.Tools.Verify(ctx)
	}
	return fault.ToRPC(err, u.Config.Name)
}

// route returns the server for a request. With several servers, it replaces the name in the
// request by the server's own name. The server counts as in use until leave is called. The request
// waits while its server is starting, or one that may have its name. If that takes too long, this
// server is the request's, and its error says so.
func (d *directory) route(ctx context.Context, q *message.Request) (*upstream.Server, error) {
	wait := startWait{set: d.set}
	defer wait.end()
	for {
		changed := d.set.starts.change()
		t, err := d.locate(ctx, q)
		switch {
		case err != nil:
			return nil, err
		case t.starting && ctx.Err() == nil: // It has ended where a stream's subscriptions end with it.
			if wait.next(ctx, changed, d.set.timing.Start) {
				continue
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			q.Waited = true
		}
		if d.set.enter(t.upstream, q.Method) {
			t.use()
			return t.upstream, nil
		}
		// The configuration changed in between, and the catalog with it.
	}
}

// target is the server of a request.
type target struct {
	upstream *upstream.Server
	// use marks the name in the request as seen, and translates it to the server's own name.
	use func()
	// starting says that the target may be another one when a server has started.
	starting bool
}

// at is the target of an entry that has the same name everywhere.
func at(u *upstream.Server) target { return target{u, func() {}, isStarting(u)} }

// locate finds the server for a request.
func (d *directory) locate(ctx context.Context, q *message.Request) (target, error) {
	unknown := fault.InvalidParams("unknown %s", message.Subject(q))
	if u := d.set.only(); u != nil {
		t := at(u)
		if p, ok := q.Params.(*mcp.CallToolParamsRaw); ok && !t.starting && !u.Lists.Offers(ctx, p.Name) {
			return target{}, unknown
		}
		return t, nil
	}
	if len(d.set.servers()) == 0 {
		return target{}, fault.InvalidParams("the bridge has no servers")
	}
	n, ok := d.nameIn(q)
	if !ok {
		return target{}, unknown
	}
	if t, ok := d.lookup(n); ok {
		return t, nil
	}
	if u := firstStarting(d.set.servers(), func(u *upstream.Server) bool { return n.mayBelongTo(u) }); u != nil {
		return target{u, func() {}, true}, nil
	}
	if t, ok := d.lookup(n); ok { // A server has started since.
		return t, nil
	}
	if u := d.withdrawn(n); u != nil {
		return at(u), nil
	}
	return target{}, unknown
}

// requestName is the name or URI in a request that says whose it is.
type requestName struct {
	text *string
	list string // the method of the list in which it stands
	// prefixed says that the name begins with its server's.
	prefixed bool
	naming   serverlists.Naming
}

// isURI reports whether it is a URI, which is the same everywhere.
func (n requestName) isURI() bool {
	return n.list == methods.ListResources || n.list == methods.ListTemplates
}

// mayBelongTo reports whether a server whose lists are not known may have the name.
func (n requestName) mayBelongTo(u *upstream.Server) bool {
	return !n.prefixed || n.naming.MayName(u.Config.Name, *n.text)
}

// nameIn returns the name in a request. In mode Router, tools cannot be called by name.
func (d *directory) nameIn(q *message.Request) (requestName, bool) {
	c := d.set.config()
	prefixed, naming := !c.Single() && (c.ToolPrefix == "" || c.ToolPrefix == bridgeconfig.PrefixAlways), namingOf(c)
	what, text := message.NameIn(q.Method, q.Params)
	if text == nil {
		return requestName{}, false
	}
	switch what {
	case methods.Tool:
		return requestName{text, methods.ListTools, prefixed, naming}, c.Mode != bridgeconfig.Router
	case methods.Prompt:
		return requestName{text, methods.ListPrompts, prefixed, naming}, true
	case methods.Template:
		return requestName{text: text, list: methods.ListTemplates}, true
	}
	return requestName{text: text, list: methods.ListResources}, true
}

// lookup finds a name or URI in the catalog.
func (d *directory) lookup(n requestName) (target, bool) {
	c := d.currentCatalog()
	e, ok := c.Find(n.list, *n.text)
	if !ok && n.isURI() {
		e.Server, ok = c.Owner(*n.text)
	}
	if !ok {
		return target{}, false
	}
	t := at(e.Server)
	if n.isURI() {
		return t, true
	}
	t.starting = t.starting || d.mayChange(n.list, e)
	t.use = func() {
		d.markSeen(n.list, e)
		*n.text = e.Original
	}
	return t, true
}

// mayChange reports whether a name may come to be that of another server: only the order of the
// servers tells equal names apart, no client has seen this one, and an earlier server is starting.
func (d *directory) mayChange(method string, e serverlists.Entry) bool {
	d.mu.Lock()
	r := d.registries[method]
	ordered := d.set.namesDependOnOrder() && r != nil && !r.Seen(e.Assignment)
	d.mu.Unlock()
	if !ordered {
		return false
	}
	upstreams := d.set.servers()
	before := upstreams[:max(0, slices.Index(upstreams, e.Server))]
	return slices.ContainsFunc(before, isStarting)
}

// withdrawn returns the server of a name that begins with that of a server which is not available, or
// of one that has no prefix and is not available. If it never was, its names were never read. Its error
// says why.
func (d *directory) withdrawn(n requestName) *upstream.Server {
	if n.isURI() {
		return nil
	}
	var unprefixed *upstream.Server
	for _, u := range d.set.servers() {
		if u.Config.Fault == "" && u.Availability.Notice() == "" {
			continue
		}
		if n.naming.Prefixes(u.Config.Name, *n.text) {
			return u
		}
		if u.Config.Name == n.naming.Unprefixed {
			unprefixed = u
		}
	}
	return unprefixed
}

// markSeen records that clients may have seen the names of the entries.
func (d *directory) markSeen(method string, entries ...serverlists.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.registries[method]
	if r == nil {
		return
	}
	if r.Crowded() {
		r = serverlists.NewRegistry()
		d.registries[method] = r
		entries = d.catalog.Lists[method]
	}
	for _, e := range entries {
		if e.Name != "" {
			r.MarkSeen(e.Assignment)
		}
	}
}

// listAll answers a list request from the catalog in one page. Every cursor is invalid.
func (d *directory) listAll(ctx context.Context, q *message.Request) (mcp.Result, error) {
	if cursor := cursorOf(q.Params); cursor != "" {
		return nil, fault.InvalidParams("unknown cursor %.80q", cursor)
	}
	if err := d.awaitComparedTools(ctx, q); err != nil {
		return nil, err
	}
	keep := d.keepFor(q.Method) // Before the lists are read: a server that connects later may add to them.
	c := d.currentCatalog()
	raws := []json.RawMessage{}
	if c.RouterTool != nil && q.Method == methods.ListTools {
		raws = append(raws, c.RouterTool)
	} else {
		d.markSeen(q.Method, c.Lists[q.Method]...)
		for _, e := range c.Lists[q.Method] {
			if e.VisibleTo(q.Hops) {
				raws = append(raws, e.Raw)
			}
		}
		if tool := d.status.listed(c.StatusTool); tool != nil && q.Method == methods.ListTools {
			raws = append(raws, tool)
		}
	}
	result := message.EmptyResult()
	result.Set(methods.Of(q.Method).List.Field, raws)
	if q.Era == message.Modern {
		result.LetKeep(keep)
		result.ForModern(q.Method, message.Implementation)
	}
	return result, nil
}

// keepFor returns for how long clients may keep a list of all servers: the least of their times. A
// server that is not there may be there in a moment, and the configuration may change.
func (d *directory) keepFor(method string) time.Duration {
	least := d.set.timing.Keep
	for _, u := range d.set.servers() {
		least = min(least, u.Lists.KeepFor(method))
	}
	return least
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

// namingOf returns how the tools and prompts of a bridge of several servers get their names.
func namingOf(c bridgeconfig.Config) serverlists.Naming {
	n := serverlists.Naming{Prefix: c.ToolPrefix, Longest: cmp.Or(c.ToolNameLength, bridgeconfig.LongestToolName)}
	if c.Unprefixed != nil {
		n.Unprefixed = *c.Unprefixed
	}
	return n
}

func (d *directory) currentCatalog() *serverlists.Catalog {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.catalog
}

// rebuild builds the catalog again. The caller holds directory.mu.
func (d *directory) rebuild() {
	c, upstreams := d.set.current()
	d.catalog = serverlists.Layout{
		Mode: c.Mode, Naming: namingOf(c), Single: c.Single(), Servers: upstreams, Registers: d.registries, RouterTool: toolrouter.Tool,
	}.Build()
}

// reload builds the catalog again, and reports whether clients may see another list than before.
// note is the notification for it.
func (d *directory) reload(note string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.catalog
	d.rebuild()
	// In mode Router clients see one tool.
	return note != methods.ToolsChanged || d.catalog.RouterTool == nil || !bytes.Equal(before.RouterTool, d.catalog.RouterTool)
}

// follow replaces the servers by swap, and the catalog with them, so that no request meets one
// without the other. swap returns the names of servers that are gone, and follow whether a server is.
func (d *directory) follow(swap func() map[string]bool) (gone func(server string) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	removed := swap()
	gone = func(server string) bool { return removed[server] }
	if len(removed) > 0 {
		for _, r := range d.registries {
			r.Release(gone)
		}
	}
	d.rebuild()
	return gone
}
