// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// The limits of the cache for all servers together: an idle bridge should use 25 MB in total.
const (
	cacheEntries = 256
	cacheBytes   = 4 << 20
)

// The keys of _meta that say how the bridge changed a result.
const (
	MetaTrust     = "hostedbridge.dev/trust"
	MetaTruncated = "hostedbridge.dev/truncated"
)

// hints are a tool's own annotations.
type hints struct {
	readOnly, idempotent, destructive bool
}

// hintsOf returns the annotations of the tool in the server's list, or empty hints if it is not
// listed.
func hintsOf(u *upstream.Server, tool string) hints {
	if tool == "" {
		return hints{}
	}
	it, ok := u.Lists.Find(methods.ListTools, tool)
	var t struct {
		Annotations struct {
			ReadOnly    bool `json:"readOnlyHint"`
			Idempotent  bool `json:"idempotentHint"`
			Destructive bool `json:"destructiveHint"`
		} `json:"annotations"`
	}
	if !ok || json.Unmarshal(it.Raw, &t) != nil {
		return hints{}
	}
	return hints{readOnly: t.Annotations.ReadOnly, idempotent: t.Annotations.Idempotent, destructive: t.Annotations.Destructive}
}

// key returns the cache key of the answer. It is empty if the answer must not be cached: only
// answers of tools that declare to be read-only, and of resources, are. A tool that also declares
// to be destructive contradicts itself. It does not matter whether the tool reads data outside of
// the server: the administrator who sets a cache time knows the server.
//
// Calls with the same key get the same answer, so the key contains everything that goes to the
// server, except for data that only identifies the caller.
func (c *call) key() string {
	if c.upstream.Config.CacheTTL <= 0 || c.query.Continues() || particular(c.query) {
		return ""
	}
	_, name := message.NameIn(c.query.Method, c.query.Params)
	kept := methods.Of(c.query.Method).Kept
	if name == nil || kept == methods.Never || kept == methods.IfDeclared && (!c.hints.readOnly || c.hints.destructive) {
		return ""
	}
	arguments := "{}"
	if p, ok := c.query.Params.(*mcp.CallToolParamsRaw); ok {
		canonical, err := canonicalArguments(p.Arguments)
		if err != nil {
			return "" // Servers may parse such arguments differently, so their results are never cached.
		}
		arguments = canonical
	}
	return c.pipeline.Policies.prefix(c.upstream) + resultKey(c.query.Method, *name, c.query.ClientKind(), arguments)
}

// common are the keys of a request's _meta that do not change the answer.
var common = map[string]bool{
	message.MetaProtocolVersion: true, message.MetaClientInfo: true, message.MetaClientCaps: true, message.MetaLogLevel: true, message.MetaProgressToken: true,
	message.MetaTraceparent: true, "tracestate": true, "baggage": true, message.MetaHops: true,
}

// particular reports whether the metadata of the request may change the answer.
func particular(q *message.Request) bool {
	for key := range q.Meta {
		if !common[key] {
			return true
		}
	}
	return false
}

func (p *policies) prefix(u *upstream.Server) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.find(u).prefix
}

// lookup returns the cached answer.
func (p *policies) lookup(key string, now time.Time) (*message.Result, bool) {
	if key == "" {
		return nil, false
	}
	p.mu.Lock()
	b, expires, ok := p.cache.Get(key, now)
	p.mu.Unlock()
	if !ok {
		return nil, false
	}
	r, err := message.ParseResult(b)
	if err != nil {
		return nil, false
	}
	if _, ok := r.Fields["ttlMs"]; ok {
		r.Set("ttlMs", expires.Sub(now).Milliseconds())
	}
	return r, true
}

// store caches an answer for the time that the configuration and the server allow. Errors are not
// cached, because the next call may succeed. Answers that depend on a client's input are not
// cached, because the next client may answer differently.
func (c *call) store(key string, r *message.Result) {
	if key == "" || r.IsError() || r.NeedsInput() || c.asked.Load() {
		return
	}
	ttl := time.Duration(c.upstream.Config.CacheTTL)
	said, ok := r.TTL()
	switch {
	case ok:
		ttl = min(ttl, said)
	case methods.Of(c.query.Method).Kept == methods.IfTimed:
		return // Only the server knows how soon it changes.
	}
	if ttl <= 0 {
		return
	}
	if _, ok := r.Fields["cacheScope"]; ok {
		r.Set("cacheScope", "private")
	}
	b, err := withoutCallMeta(r).MarshalJSON()
	if err != nil {
		return
	}
	p := &c.pipeline.Policies
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cache.Put(key, b, time.Now().Add(ttl))
}

// withoutCallMeta returns a result without the metadata of its call.
func withoutCallMeta(r *message.Result) *message.Result {
	result := &message.Result{Fields: r.Fields}
	result.Meta = maps.Clone(r.Meta)
	for _, key := range []string{message.MetaProgressToken, message.MetaSubscriptionID, message.MetaTraceparent, "tracestate", "baggage"} {
		delete(result.Meta, key)
	}
	if len(result.Meta) == 0 {
		result.Meta = nil
	}
	return result
}

// Updated drops a resource from the cache after its server reported a change.
func (p *policies) Updated(uri string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.of {
		p.cache.Drop(s.prefix + resultKey(methods.ReadResource, uri))
	}
}

// Sending observes a message to a client before it is sent. After a question, the call that it belongs to
// must not be repeated. A changed resource is dropped from the cache.
func (p *Pipeline) Sending(ctx context.Context, method string, params mcp.Params) {
	switch {
	case methods.Of(method).IsQuestion():
		if observe := QuestionObserver(ctx); observe != nil {
			observe()
		}
	case method == methods.ResourceUpdated:
		if uri, ok := uriOf(params); ok {
			p.Policies.Updated(uri)
		}
	}
}

// uriOf returns the URI of the resource in a notification.
func uriOf(params mcp.Params) (string, bool) {
	switch p := params.(type) {
	case *mcp.ResourceUpdatedNotificationParams:
		return p.URI, true
	case *message.Params:
		var v struct {
			URI string `json:"uri"`
		}
		return v.URI, json.Unmarshal(p.Raw, &v) == nil
	}
	return "", false
}

// applyResultPolicy applies the configured policy of the server to a result. The size limit comes
// first: the lines that mark foreign text must not be cut off, and are added on top of it.
func (c *call) applyResultPolicy(r *message.Result) {
	s, method := c.upstream.Config, c.query.Method
	nameFullStorage(s, method, r)
	foreign := s.Trust == bridgeconfig.Untrusted || s.Trust == bridgeconfig.Sanitize
	if !foreign && s.MaxResultBytes == 0 || methods.Of(method).Content == "" || r.NeedsInput() {
		return
	}
	if s.Trust == bridgeconfig.Sanitize {
		sanitizeResult(method, r.Fields)
	}
	if s.MaxResultBytes > 0 {
		limitResult(r, method, s.MaxResultBytes)
	}
	if foreign {
		markForeign(method, s.Name, r.Fields)
		r.AddMeta(MetaTrust, map[string]any{"level": string(s.Trust), "server": s.Name})
	}
}

// limitResult shortens the result to size bytes, including its metadata.
func limitResult(r *message.Result, method string, size int) {
	if len(r.Meta) > 0 {
		meta, err := json.Marshal(r.Meta)
		if err != nil {
			return // A decoded value can be encoded.
		}
		r.Fields["_meta"] = meta
	}
	original := fieldsSize(r.Fields)
	truncated := truncateResult(method, r.Fields, size)
	if _, ok := r.Fields["_meta"]; !ok && r.Meta != nil {
		r.Meta = nil
	}
	delete(r.Fields, "_meta")
	if truncated {
		r.AddMeta(MetaTruncated, map[string]any{"originalBytes": original, "maxBytes": max(size, minResult)})
	}
}

func (p *policies) CacheBytes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cache == nil {
		return 0
	}
	return p.cache.Bytes()
}

// Forget drops all cached results of u.
func (p *policies) Forget(u *upstream.Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := p.of[u]; ok {
		p.cache.Drop(s.prefix)
	}
}
