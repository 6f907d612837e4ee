// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/cache"
	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/limit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/trust"
)

// The bounds of what is kept, of all servers together: a bridge at rest should
// take 25 MB in all.
const (
	cacheEntries = 256
	cacheBytes   = 4 << 20
)

// The keys of _meta by which a result says what was done to it.
const (
	metaTrust     = "hostedbridge.dev/trust"
	metaTruncated = "hostedbridge.dev/truncated"
)

// hints are what a tool says of itself.
type hints struct {
	readOnly, idempotent, destructive bool
}

// hintsOf returns what the server's list says of the tool, nothing for one that
// it does not list.
func hintsOf(u *upstream, tool string) hints {
	if tool == "" {
		return hints{}
	}
	it, ok := u.find(methodListTools, tool)
	var t struct {
		Annotations struct {
			ReadOnly    bool `json:"readOnlyHint"`
			Idempotent  bool `json:"idempotentHint"`
			Destructive bool `json:"destructiveHint"`
		} `json:"annotations"`
	}
	if !ok || json.Unmarshal(it.raw, &t) != nil {
		return hints{}
	}
	return hints{readOnly: t.Annotations.ReadOnly, idempotent: t.Annotations.Idempotent, destructive: t.Annotations.Destructive}
}

// key returns under what the answer is kept, empty where it is not: only that
// of a tool that says it only reads, or of a resource. A tool that also says
// that it destroys contradicts itself. That it reads what is outside of the
// server does not matter: whoever sets a time for which its results are good
// knows the server.
//
// Calls of one key get the same answer, so it holds all that goes to the
// server, but for what only says who calls.
func (c *call) key() string {
	if c.upstream.server.CacheTTL <= 0 || c.query.continues() || c.query.particular() {
		return ""
	}
	var name string
	arguments := "{}"
	switch p := c.query.params.(type) {
	case *mcp.CallToolParamsRaw:
		if !c.hints.readOnly || c.hints.destructive {
			return ""
		}
		canonical, err := cache.Canonical(p.Arguments)
		if err != nil {
			return "" // What not all servers read alike is asked anew.
		}
		name, arguments = p.Name, canonical
	case *mcp.ReadResourceParams:
		name = p.URI
	default:
		return ""
	}
	return c.bridge.policies.prefix(c.bridge, c.upstream) + cache.Key(c.query.method, name, c.query.kind(), arguments)
}

// kind returns what a server may know of the client: the era, and what it can be
// asked. A server that wants to know something answers something else to a
// client that cannot be asked.
func (q *query) kind() string {
	kind, caps := "legacy", (*mcp.ClientCapabilities)(nil)
	if q.era == modern {
		kind, caps = "modern", q.askable()
	} else if q.session != nil {
		caps = q.session.who.caps
	}
	if caps == nil {
		return kind
	}
	declared, err := json.Marshal(capsOf(caps))
	if err != nil {
		panic(err) // it was JSON before
	}
	return kind + string(declared)
}

// common are the keys of a request's _meta that change no answer.
var common = map[string]bool{
	metaProtocolVersion: true, metaClientInfo: true, metaClientCaps: true, metaLogLevel: true, metaProgressToken: true,
	metaTraceparent: true, "tracestate": true, "baggage": true, metaHops: true,
}

// particular reports whether the request says something in its metadata that
// may make its answer another one.
func (q *query) particular() bool {
	for key := range q.meta {
		if !common[key] {
			return true
		}
	}
	return false
}

func (p *policies) prefix(b *Bridge, u *upstream) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.find(b, u).prefix
}

// kept returns the answer that is kept under key.
func (p *policies) kept(key string, now time.Time) (*rawResult, bool) {
	if key == "" {
		return nil, false
	}
	p.mu.Lock()
	b, expires, ok := p.cache.Get(key, now)
	p.mu.Unlock()
	if !ok {
		return nil, false
	}
	r, err := parseResult(b)
	if err != nil {
		return nil, false
	}
	if _, ok := r.fields["ttlMs"]; ok {
		r.set("ttlMs", expires.Sub(now).Milliseconds())
	}
	return r, true
}

// keep keeps an answer for as long as the configuration and the server say. Not
// an error: the next call may do better. And not what depends on what a client
// said when it was asked: the next client may say something else.
func (c *call) keep(key string, r *rawResult) {
	if key == "" || r.isError() || r.asks() || c.asked.Load() {
		return
	}
	ttl := time.Duration(c.upstream.server.CacheTTL)
	said, ok := r.ttl()
	switch {
	case ok:
		ttl = min(ttl, said)
	case c.query.method == methodReadResource:
		return // Only the server knows how soon it changes.
	}
	if ttl <= 0 {
		return
	}
	if _, ok := r.fields["cacheScope"]; ok {
		r.set("cacheScope", "private")
	}
	stored := &rawResult{fields: r.fields}
	stored.Meta = maps.Clone(r.Meta)
	for _, key := range []string{metaProgressToken, metaSubscriptionID, metaTraceparent, "tracestate", "baggage"} {
		delete(stored.Meta, key)
	}
	b, err := stored.MarshalJSON()
	if err != nil {
		return
	}
	p := &c.bridge.policies
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cache.Put(key, b, time.Now().Add(ttl))
}

// updated forgets a resource of which a server says that it changed.
func (p *policies) updated(uri string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.of {
		p.cache.Drop(s.prefix + cache.Key(methodReadResource, uri))
	}
}

// heed looks at what is sent to clients: a question forbids that the call which
// it belongs to is repeated, and a resource that changed is not kept.
func (b *Bridge) heed(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case methodElicit, methodSample, methodRoots:
			if c, ok := ctx.Value(callKey{}).(*call); ok {
				c.asked.Store(true)
			}
		case noteResourceUpdated:
			if uri, ok := uriOf(req.GetParams()); ok {
				b.policies.updated(uri)
			}
		}
		return next(ctx, method, req)
	}
}

// uriOf returns the resource that a notification is about.
func uriOf(params mcp.Params) (string, bool) {
	switch p := params.(type) {
	case *mcp.ResourceUpdatedNotificationParams:
		return p.URI, true
	case *rawParams:
		var v struct {
			URI string `json:"uri"`
		}
		return v.URI, json.Unmarshal(p.raw, &v) == nil
	}
	return "", false
}

// shape makes a result what the configuration wants of the server's. Of the two
// the size comes first: the lines that mark foreign text must not be cut off,
// and come on top of it.
func (c *call) shape(r *rawResult) {
	s, method := c.upstream.server, c.query.method
	foreign := s.Trust == config.Untrusted || s.Trust == config.Sanitize
	if !foreign && s.MaxResultBytes == 0 || !hasContent(method) || r.asks() {
		return
	}
	if s.Trust == config.Sanitize {
		trust.Sanitize(method, r.fields)
	}
	if s.MaxResultBytes > 0 {
		r.limit(method, s.MaxResultBytes)
	}
	if foreign {
		trust.Mark(method, s.Name, r.fields)
		r.note(metaTrust, map[string]any{"level": string(s.Trust), "server": s.Name})
	}
}

// hasContent reports whether a result of method is content for a model.
func hasContent(method string) bool {
	return method == methodCallTool || method == methodGetPrompt || method == methodReadResource
}

// limit makes the result fit into size bytes, its metadata included.
func (r *rawResult) limit(method string, size int) {
	if len(r.Meta) > 0 {
		meta, err := json.Marshal(r.Meta)
		if err != nil {
			return // What was decoded can be encoded.
		}
		r.fields["_meta"] = meta
	}
	original := limit.Size(r.fields)
	truncated := limit.Result(method, r.fields, size)
	if _, ok := r.fields["_meta"]; !ok && r.Meta != nil {
		r.Meta = mcp.Meta{}
	}
	delete(r.fields, "_meta")
	if truncated {
		r.note(metaTruncated, map[string]any{"originalBytes": original, "maxBytes": max(size, limit.Min)})
	}
}

// note puts v under key of the result's metadata.
func (r *rawResult) note(key string, v any) {
	if r.Meta == nil {
		r.Meta = mcp.Meta{}
	}
	r.Meta[key] = v
}

// isError reports whether a tool's result says that the tool failed.
func (r *rawResult) isError() bool {
	var failed bool
	return json.Unmarshal(r.fields["isError"], &failed) == nil && failed
}

// asks reports whether the server needs something before it answers.
func (r *rawResult) asks() bool {
	_, requests := r.fields["inputRequests"]
	return requests || bytes.Equal(r.fields["resultType"], []byte(`"input_required"`))
}

// ttl returns for how long the server says that the result may be kept.
func (r *rawResult) ttl() (time.Duration, bool) {
	raw, ok := r.fields["ttlMs"]
	var ms float64
	if !ok || json.Unmarshal(raw, &ms) != nil {
		return 0, ok // What is no number allows nothing.
	}
	// A day is longer than any bridge's configuration would have it.
	return time.Duration(min(max(ms, 0), 24*60*60*1000)) * time.Millisecond, true
}
