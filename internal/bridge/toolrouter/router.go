// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package toolrouter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/callaudit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inputrequired"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/serverlists"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// ToolName is the one tool that clients see in mode Router.
const ToolName = "mcp"

// The actions of the tool. No action can change the configuration or a secret, because a client
// may follow any text that its model reads.
const (
	ActionCall    = "call"
	ActionList    = "list"
	ActionSchema  = "schema"
	actionIntent  = "intent"
	ActionRefresh = "refresh"
	actionStatus  = "status"
)

// MetaActions are the actions of the tool.
var MetaActions = []string{ActionCall, ActionList, ActionSchema, actionIntent, ActionRefresh, actionStatus}

// Host has the functions of the bridge that the router uses.
type Host struct {
	// Enabled reports whether the bridge is in mode Router.
	Enabled func() bool
	// Servers returns the configured servers, in the order of configuration.
	Servers func() []*upstream.Server
	// Catalog returns the lists of all servers.
	Catalog func() *serverlists.Catalog
	// AwaitStart waits while starting returns true, as long as a call may wait.
	AwaitStart func(ctx context.Context, starting func() bool)
	// AwaitLists waits for the lists of servers that start, for a request that has passed these
	// bridges.
	AwaitLists func(ctx context.Context, hops string)
	// Enter counts a request as in flight to a server until leave is called. It returns false if
	// the server is no longer configured.
	Enter   func(u *upstream.Server, method string) bool
	Leave   func(u *upstream.Server)
	Forward func(ctx context.Context, q *message.Request, u *upstream.Server) (mcp.Result, error)
	// Forget drops the cached results of a server.
	Forget func(u *upstream.Server)
	Health func() health.Report
}

// Router is the one tool that clients see in mode Router. With it they call the tools of all
// servers.
type Router struct {
	host Host

	mu     sync.Mutex
	recent []string // the servers of the last calls, newest last
}

// New returns the router of a bridge.
func New(h Host) *Router { return &Router{host: h} }

// arguments are the arguments of the router's tool.
type arguments struct {
	Server string          `json:"server"`
	Action string          `json:"action"`
	Tool   string          `json:"tool"`
	Params json.RawMessage `json:"params"`
}

// call is a tool call that a client requests.
type call struct {
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

// refusal is the router's answer if it cannot do what the client asked.
type refusal struct {
	Kind    string `json:"error"`
	Message string `json:"message"`
	// Available are the valid choices.
	Available []string `json:"available,omitempty"`
	// Code is the code of a JSON-RPC error.
	Code int64 `json:"code,omitempty"`
}

func refuse(kind string, available []string, format string, args ...any) *refusal {
	return &refusal{Kind: kind, Message: fmt.Sprintf(format, args...), Available: available[:min(len(available), maxAvailable)]}
}

// Handles reports whether the query is a call of the one tool in mode Router.
func (r *Router) Handles(q *message.Request) bool {
	p, ok := q.Params.(*mcp.CallToolParamsRaw)
	return ok && q.Method == methods.CallTool && p.Name == ToolName && r.host.Catalog().RouterTool != nil
}

// Call answers a call of the router's tool. The router's own answers are JSON, as text and as
// structured content; the result of a tool call is the server's own.
func (r *Router) Call(ctx context.Context, q *message.Request) (mcp.Result, error) {
	p, ok := q.Params.(*mcp.CallToolParamsRaw)
	if !ok {
		return nil, fault.InvalidParams("unknown %s", message.Subject(q))
	}
	var w arguments
	if len(p.Arguments) > 0 && json.Unmarshal(p.Arguments, &w) != nil {
		return q.Reply(refuse(refusedParams, nil, "the arguments are server, action and tool as strings and params as an object"), true)
	}
	if u, refused := r.serverNamed(w.Server); refused == nil {
		u.Availability.TakeLoginReply(ctx, q)
	}
	result, err := r.perform(ctx, q, w)
	if away, ok := errors.AsType[*fault.Unavailable](err); ok {
		return inputrequired.LoginRequired(q, away)
	}
	return result, err
}

// perform carries out one action.
func (r *Router) perform(ctx context.Context, q *message.Request, w arguments) (mcp.Result, error) {
	switch w.Action {
	case "", ActionCall:
		return r.callOne(ctx, q, call{w.Server, w.Tool, w.Params})
	case ActionList:
		return r.listTools(ctx, q, w.Server)
	case ActionSchema:
		return r.describeTool(ctx, q, w.Server, w.Tool)
	case actionIntent:
		return r.findTools(ctx, q, w)
	case ActionRefresh:
		return r.refreshServers(ctx, q, w.Server)
	case actionStatus:
		return r.tellStatus(q)
	}
	return q.Reply(refuse(refusedParams, MetaActions, "unknown action %.80q", w.Action), true)
}

// callOne calls a tool and returns the server's own result.
func (r *Router) callOne(ctx context.Context, q *message.Request, w call) (mcp.Result, error) {
	e, refused, err := r.choose(ctx, w)
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return q.Reply(refused, true)
	}
	defer r.host.Leave(e.Server)
	inner := insideQuery(q, e, w)
	if p, ok := q.Params.(*mcp.CallToolParamsRaw); ok {
		// The client answers a question that the server asked in the previous call.
		inner.Params = &mcp.CallToolParamsRaw{
			Name: e.Original, Arguments: argumentsOf(w),
			RequestState: p.RequestState,
		}
	}
	return r.host.Forward(ctx, inner, e.Server)
}

// choose returns the tool to call, or a refusal. Its server counts as in use until leave is
// called.
func (r *Router) choose(ctx context.Context, w call) (serverlists.Entry, any, error) {
	if refused := checkCall(w); refused != nil {
		recordRefused(ctx, w, refused)
		return serverlists.Entry{}, refused, nil
	}
	for {
		e, refused, err := r.resolve(ctx, w)
		if err != nil || refused != nil {
			recordRefused(ctx, w, refused)
			return serverlists.Entry{}, refused, err
		}
		if r.host.Enter(e.Server, methods.CallTool) {
			r.remember(e.ServerName)
			return e, nil, nil
		}
		// The configuration changed in between, and the catalog with it.
	}
}

func checkCall(w call) any {
	if w.Tool == "" {
		return refuse(refusedParams, MetaActions, noTool+"; other things than a call need an action")
	}
	var object map[string]json.RawMessage
	if len(w.Params) > 0 && json.Unmarshal(w.Params, &object) != nil {
		return refuse(refusedParams, nil, paramsNotAnObject)
	}
	return nil
}

// argumentsOf returns the arguments of a call. The result is always an object.
func argumentsOf(w call) json.RawMessage {
	if len(w.Params) == 0 || string(w.Params) == "null" {
		return json.RawMessage("{}")
	}
	return w.Params
}

// insideQuery returns the request that calls the tool e for the same client, with the same
// metadata. The headers that repeat arguments are those of the tool, which the client does not
// know.
func insideQuery(q *message.Request, e serverlists.Entry, w call) *message.Request {
	inner := *q
	inner.Routed = true
	inner.Params = &mcp.CallToolParamsRaw{Name: e.Original, Arguments: argumentsOf(w)}
	inner.Header = q.Header.Clone()
	for name := range message.ParamHeaders(inner.Header) {
		inner.Header.Del(name)
	}
	for name, value := range message.HeadersOfCall(e.Raw, argumentsOf(w)) {
		if inner.Header == nil {
			inner.Header = map[string][]string{}
		}
		inner.Header.Set(name, value)
	}
	return &inner
}

// recentCalls is the number of last calls whose servers count as recently used. The number is that
// of the bridge whose rules for choosing a server apply here.
const recentCalls = 5

// remember records a call of a server.
func (r *Router) remember(server string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recent = append(r.recent, server)
	r.recent = slices.Clone(r.recent[max(0, len(r.recent)-recentCalls):])
}

// recordRefused writes the audit entry of a call through the router that reached no server.
// refused is the reason.
func recordRefused(ctx context.Context, w call, refused any) {
	kind := "unresolved"
	switch r := refused.(type) {
	case *refusal:
		kind = r.Kind
	case ambiguity:
		kind = "ambiguous"
	}
	if o := callaudit.OperationOf(ctx); o != nil {
		o.Record(audit.Call{Tool: w.Tool, Status: audit.ProtocolError, ErrorType: kind}, &mcp.CallToolParamsRaw{Arguments: w.Params})
	}
}

// Action returns the requested action of the router's tool, empty for other tools.
func (r *Router) Action(p *mcp.CallToolParamsRaw) string {
	if !r.host.Enabled() || p.Name != ToolName {
		return ""
	}
	var arguments struct {
		Action string `json:"action"`
	}
	if json.Unmarshal(p.Arguments, &arguments) == nil && slices.Contains(MetaActions, arguments.Action) {
		return arguments.Action
	}
	return ActionCall
}

// ForgetServers forgets the recorded calls of servers for which gone returns true.
func (r *Router) ForgetServers(gone func(server string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recent = slices.DeleteFunc(r.recent, gone)
}
