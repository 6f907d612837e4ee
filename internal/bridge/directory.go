// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/serverlists"
	"github.com/hostedbridge/hostedbridge/internal/bridge/toolrouter"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
)

// directory holds the lists that clients see, and finds the server for a name.
type directory struct {
	bridge *Bridge

	catalog    *serverlists.Catalog
	registries map[string]*serverlists.Registry // of names, by list method
}

// relaysList reports whether the one server of a transparent bridge answers a list
// request itself.
func (d *directory) relaysList(method string) bool {
	u := d.bridge.set.only()
	return u != nil && !(method == message.MethodListTools && u.Audited())
}

// awaitComparedTools waits until the catalog has the current tools of a transparent bridge's
// audited server.
func (d *directory) awaitComparedTools(ctx context.Context, q *message.Request) error {
	u := d.bridge.set.only()
	if u == nil || !u.Audited() {
		return nil
	}
	if err := d.bridge.delivery.checkLoop(ctx, u, q.Hops); err != nil {
		return err
	}
	l, err := u.Shared(ctx)
	if err == nil {
		err = l.Tools.Verify(ctx)
	}
	return fault.ToRPC(err, u.Config.Name)
}

// route returns the server for a request. With several servers, it replaces the name in the
// request by the server's own name. The server counts as in use until leave is called.
func (d *directory) route(ctx context.Context, q *message.Request) (*upstream.Server, error) {
	for {
		t, err := d.locate(ctx, q)
		if err != nil {
			return nil, err
		}
		if d.bridge.set.enter(t.upstream, q.Method) {
			t.rename()
			return t.upstream, nil
		}
		// The configuration changed in between, and the catalog with it.
	}
}

// target is the server of a request, and how to translate the name in the request to the server's
// own name.
type target struct {
	upstream *upstream.Server
	rename   func()
}

// locate finds the server for a request.
func (d *directory) locate(ctx context.Context, q *message.Request) (target, error) {
	if u := d.bridge.set.only(); u != nil {
		if p, ok := q.Params.(*mcp.CallToolParamsRaw); ok && !u.Lists.Offers(ctx, p.Name) {
			return target{}, fault.InvalidParams("unknown %s", message.Subject(q))
		}
		return target{u, func() {}}, nil
	}
	if len(d.bridge.set.servers()) == 0 {
		return target{}, fault.InvalidParams("the bridge has no servers")
	}
	if d.namesDependOnOrder() {
		d.bridge.set.awaitFirst(ctx)
	}
	t, ok := d.lookup(q)
	if !ok {
		// A server that is still connecting may have it.
		d.bridge.set.awaitFirst(ctx)
		t, ok = d.lookup(q)
	}
	if !ok {
		return target{}, fault.InvalidParams("unknown %s", message.Subject(q))
	}
	return t, nil
}

// lookup finds the server in the catalog.
func (d *directory) lookup(q *message.Request) (target, bool) {
	c := d.currentCatalog()
	switch p := q.Params.(type) {
	case *mcp.CallToolParamsRaw:
		return d.named(c, message.MethodListTools, &p.Name)
	case *mcp.GetPromptParams:
		return d.named(c, message.MethodListPrompts, &p.Name)
	case *mcp.ReadResourceParams:
		return at(c.Owner(p.URI))
	case *mcp.SubscribeParams:
		return at(c.Owner(p.URI))
	case *mcp.UnsubscribeParams:
		return at(c.Owner(p.URI))
	case *mcp.CompleteParams:
		return d.completer(c, p)
	}
	return target{}, false
}

// at is the target of an entry that has the same name everywhere.
func at(u *upstream.Server, ok bool) (target, bool) { return target{u, func() {}}, ok }

// named is the target of a tool or prompt by its client-side name, and marks the name as seen. In
// mode Router, tools cannot be called by name.
func (d *directory) named(c *serverlists.Catalog, method string, name *string) (target, bool) {
	if c.RouterTool != nil && method == message.MethodListTools {
		return target{}, false
	}
	e, ok := c.Find(method, *name)
	if !ok {
		return d.withdrawn(*name)
	}
	d.markSeen(method, e)
	return target{e.Server, func() { *name = e.Original }}, true
}

// withdrawn is the target of a name that begins with that of a server that is not available. If it
// never was, its names were never read. Its error says why.
func (d *directory) withdrawn(name string) (target, bool) {
	for _, u := range d.bridge.set.servers() {
		if strings.HasPrefix(name, u.Config.Name+"_") && (u.Config.Fault != "" || u.Availability.Notice() != "") {
			return at(u, true)
		}
	}
	return target{}, false
}

// completer finds the server that completes an argument.
func (d *directory) completer(c *serverlists.Catalog, p *mcp.CompleteParams) (target, bool) {
	if p.Ref == nil {
		return target{}, false
	}
	if p.Ref.Type == "ref/prompt" {
		return d.named(c, message.MethodListPrompts, &p.Ref.Name)
	}
	if e, ok := c.Find(message.MethodListTemplates, p.Ref.URI); ok {
		return at(e.Server, true)
	}
	return at(c.Owner(p.Ref.URI))
}

// markSeen records that clients may have seen the names of the entries.
func (d *directory) markSeen(method string, entries ...serverlists.Entry) {
	d.bridge.mu.Lock()
	defer d.bridge.mu.Unlock()
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

// namesDependOnOrder reports whether a name may depend on which servers are already connected:
// this is the case if only the order tells equal names apart.
func (d *directory) namesDependOnOrder() bool {
	d.bridge.mu.Lock()
	defer d.bridge.mu.Unlock()
	return d.bridge.set.settings.ToolPrefix == mcpserver.PrefixNever
}

// listAll answers a list request from the catalog in one page. Every cursor is invalid.
func (d *directory) listAll(ctx context.Context, q *message.Request) (mcp.Result, error) {
	if cursor := cursorOf(q.Params); cursor != "" {
		return nil, fault.InvalidParams("unknown cursor %.80q", cursor)
	}
	d.bridge.set.awaitFirst(ctx)
	if err := d.awaitComparedTools(ctx, q); err != nil {
		return nil, err
	}
	c := d.currentCatalog()
	raws := []json.RawMessage{}
	if c.RouterTool != nil && q.Method == message.MethodListTools {
		raws = append(raws, c.RouterTool)
	} else {
		d.markSeen(q.Method, c.Lists[q.Method]...)
		for _, e := range c.Lists[q.Method] {
			if e.VisibleTo(q.Hops) {
				raws = append(raws, e.Raw)
			}
		}
	}
	result := message.EmptyResult()
	result.Set(message.ListOf[q.Method].Field, raws)
	if q.Era == message.Modern {
		result.ForModern(q.Method, message.Implementation)
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

func (d *directory) currentCatalog() *serverlists.Catalog {
	d.bridge.mu.Lock()
	defer d.bridge.mu.Unlock()
	return d.catalog
}

// rebuild builds the catalog again. The caller holds b.mu.
func (d *directory) rebuild() {
	d.catalog = serverlists.Layout{
		Mode: d.bridge.set.settings.Mode, Prefix: d.bridge.set.settings.ToolPrefix,
		Single: d.bridge.set.settings.Single(), Servers: d.bridge.set.upstreams, Registers: d.registries, RouterTool: toolrouter.Tool,
	}.Build()
}

// listsChanged loads the changed lists of a server and notifies the clients.
func (d *directory) listsChanged(note string) {
	d.bridge.mu.Lock()
	before := d.catalog
	d.rebuild()
	after := d.catalog
	d.bridge.mu.Unlock()
	if note == message.NotificationToolsChanged {
		if after.RouterTool != nil && bytes.Equal(before.RouterTool, after.RouterTool) {
			return // Clients see the same tool as before.
		}
	}
	d.announce(note)
	switch only := d.bridge.set.only(); {
	case only == nil:
	case only.Audited():
		// The server does not know how the bridge changed its lists.
		d.bridge.clients.inform(note, d.bridge.clients.listening())
	default:
		d.bridge.clients.inform(note, d.bridge.clients.unconnected())
	}
}

// placeholder is the feature that announce adds to the SDK's server; the bridge's own lists hide
// it.
const placeholder = "hosted-bridge-changed"

// announce notifies clients that a list changed. The SDK notifies its clients when a feature is
// added, even one that exists.
func (d *directory) announce(note string) {
	d.bridge.clients.listeners.Changed(note)
	switch note {
	case message.NotificationToolsChanged:
		d.bridge.clients.server.AddTool(&mcp.Tool{Name: placeholder, InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	case message.NotificationPromptsChanged:
		d.bridge.clients.server.AddPrompt(&mcp.Prompt{Name: placeholder}, nil)
	case message.NotificationResourcesChanged:
		d.bridge.clients.server.AddResource(&mcp.Resource{Name: placeholder, URI: placeholder + ":"}, nil)
	}
}
