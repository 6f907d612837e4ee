// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// metaToolName is the one tool that clients see in mode Router.
const metaToolName = "mcp"

// The actions of the tool. There is none by which a client, and with it whatever
// text a model reads, could change the configuration or a secret.
const (
	actionCall    = "call"
	actionList    = "list"
	actionSchema  = "schema"
	actionBatch   = "batch"
	actionIntent  = "intent"
	actionRefresh = "refresh"
	actionStatus  = "status"
)

var metaActions = []string{actionCall, actionList, actionSchema, actionBatch, actionIntent, actionRefresh, actionStatus}

// wish is what a client asks of the tool.
type wish struct {
	Server string          `json:"server"`
	Action string          `json:"action"`
	Tool   string          `json:"tool"`
	Params json.RawMessage `json:"params"`
	Calls  []callWish      `json:"calls"`
}

// callWish is one call of a batch.
type callWish struct {
	Server string          `json:"server"`
	Tool   string          `json:"tool"`
	Params json.RawMessage `json:"params"`
}

// The kinds of refusal.
const (
	refusedServer     = "unknown_server"
	refusedTool       = "unknown_tool"
	refusedParams     = "invalid_params"
	failedConnection  = "connection_failed"
	failedMCP         = "mcp_error"
	maxAvailable      = 50 // names in a refusal: enough to choose from
	noTool            = "tool is missing"
	paramsNotAnObject = "params must be an object"
)

// refusal is an answer of the tool itself that it does not do what was asked.
type refusal struct {
	Kind    string `json:"error"`
	Message string `json:"message"`
	// Available are what could have been asked for.
	Available []string `json:"available,omitempty"`
	// Code is the code of a JSON-RPC error.
	Code int64 `json:"code,omitempty"`
}

func refuse(kind string, available []string, format string, args ...any) *refusal {
	return &refusal{Kind: kind, Message: fmt.Sprintf(format, args...), Available: available[:min(len(available), maxAvailable)]}
}

// routes reports whether the query is a call of the one tool in mode Router.
func (b *Bridge) routes(q *query) bool {
	p, ok := q.params.(*mcp.CallToolParamsRaw)
	return ok && q.method == methodCallTool && p.Name == metaToolName && b.currentCatalog().meta != nil
}

// routed answers a call of the one tool. What is the tool's own answer comes as
// JSON, as text and as structured content; the result of a call is the server's.
func (b *Bridge) routed(ctx context.Context, q *query) (mcp.Result, error) {
	p, ok := q.params.(*mcp.CallToolParamsRaw)
	if !ok {
		return nil, invalidParams("unknown %s", subject(q))
	}
	var w wish
	if len(p.Arguments) > 0 && json.Unmarshal(p.Arguments, &w) != nil {
		return q.reply(refuse(refusedParams, nil, "the arguments are server, action and tool as strings, params as an object and calls as a list"), true)
	}
	if u, refused := b.serverNamed(w.Server); refused == nil {
		q.heed(ctx, u)
	}
	result, err := b.act(ctx, q, w)
	if away, ok := errors.AsType[*unavailableError](err); ok {
		return q.turnedAway(away)
	}
	return result, err
}

// act does what is asked of the tool.
func (b *Bridge) act(ctx context.Context, q *query, w wish) (mcp.Result, error) {
	switch w.Action {
	case "", actionCall:
		return b.callOne(ctx, q, callWish{w.Server, w.Tool, w.Params})
	case actionBatch:
		return b.callAll(ctx, q, w.Calls)
	case actionList:
		return b.listTools(ctx, q, w.Server)
	case actionSchema:
		return b.describeTool(ctx, q, w.Server, w.Tool)
	case actionIntent:
		return b.findTools(ctx, q, w)
	case actionRefresh:
		return b.refreshServers(ctx, q, w.Server)
	case actionStatus:
		return b.tellStatus(q)
	}
	return q.reply(refuse(refusedParams, metaActions, "unknown action %.80q", w.Action), true)
}

// reply returns an answer of the tool's own.
func (q *query) reply(v any, failed bool) (mcp.Result, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	result := empty()
	result.set("content", []map[string]string{textBlock(string(raw))})
	result.set("structuredContent", json.RawMessage(raw))
	if failed {
		result.set("isError", true)
	}
	if q.era == modern {
		result.forModern(q.method, implementation)
	}
	return result, nil
}

func textBlock(text string) map[string]string {
	return map[string]string{"type": "text", "text": text}
}

// callOne calls a tool and returns the server's own result.
func (b *Bridge) callOne(ctx context.Context, q *query, w callWish) (mcp.Result, error) {
	e, refused, err := b.choose(ctx, w)
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return q.reply(refused, true)
	}
	defer b.leave(e.upstream)
	inner := q.inside(e, w)
	if p, ok := q.params.(*mcp.CallToolParamsRaw); ok {
		// The client answers what the server asked in the call before.
		inner.params = &mcp.CallToolParamsRaw{
			Name: e.original, Arguments: argumentsOf(w),
			InputResponses: p.InputResponses, RequestState: p.RequestState,
		}
	}
	return b.forward(ctx, inner, e.upstream)
}

// choose returns the tool that is to be called, or why there is none. Its server
// counts as in use until leave is called.
func (b *Bridge) choose(ctx context.Context, w callWish) (entry, any, error) {
	if refused := checkCall(w); refused != nil {
		recordRefused(ctx, w, refused)
		return entry{}, refused, nil
	}
	for {
		e, refused, err := b.resolve(ctx, w)
		if err != nil || refused != nil {
			recordRefused(ctx, w, refused)
			return entry{}, refused, err
		}
		if b.enter(e.upstream, methodCallTool) {
			b.remember(e.server)
			return e, nil, nil
		}
		// The configuration changed just now, and the catalog with it.
	}
}

func checkCall(w callWish) any {
	if w.Tool == "" {
		return refuse(refusedParams, metaActions, noTool+"; other things than a call need an action")
	}
	var object map[string]json.RawMessage
	if len(w.Params) > 0 && json.Unmarshal(w.Params, &object) != nil {
		return refuse(refusedParams, nil, paramsNotAnObject)
	}
	return nil
}

// argumentsOf returns the arguments of a call, an object.
func argumentsOf(w callWish) json.RawMessage {
	if len(w.Params) == 0 || string(w.Params) == "null" {
		return json.RawMessage("{}")
	}
	return w.Params
}

// inside returns the query by which the tool e is called: on behalf of the same
// client, with the same metadata. The headers that repeat arguments are those of
// the tool, which the client does not know.
func (q *query) inside(e entry, w callWish) *query {
	inner := *q
	inner.params = &mcp.CallToolParamsRaw{Name: e.original, Arguments: argumentsOf(w)}
	inner.header = q.header.Clone()
	for name := range paramHeaders(inner.header) {
		inner.header.Del(name)
	}
	for name, value := range headersOf(e.raw, argumentsOf(w)) {
		if inner.header == nil {
			inner.header = map[string][]string{}
		}
		inner.header.Set(name, value)
	}
	return &inner
}

// recentCalls is how many calls back a server counts as recently used. The
// number is that of the bridge whose rules for choosing a server these are.
const recentCalls = 5

// remember notes that a server was called.
func (b *Bridge) remember(server string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.recent = append(b.recent, server)
	b.recent = slices.Clone(b.recent[max(0, len(b.recent)-recentCalls):])
}
