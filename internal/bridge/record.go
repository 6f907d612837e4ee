// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
)

// headerRecord tells a request's handlers which recorder is its own: the SDK
// answers in contexts that are not the request's. It never leaves the bridge,
// and what a client sends under this name is dropped.
const headerRecord = "Hosted-Bridge-Record"

// records are the recorders of the HTTP requests that are being served.
type records struct {
	mu     sync.Mutex
	serial int
	open   map[string]*recorder
	// late are those of sessions.
	late lates
}

// recorder collects the tool calls of one HTTP request, or those of a session
// whose answers come on a stream of their own, until they are told.
type recorder struct {
	// asked says that the ingress takes what is told in event streams.
	asked bool
	// most bounds the calls that are kept; 0 for no bound.
	most int

	mu     sync.Mutex
	closed bool
	calls  []audit.Call
	// rushes is the express call that the request is, nil for none.
	rushes *express
}

// begin returns a new recorder and its name.
func (r *records) begin() (name string, rec *recorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serial++
	name, rec = strconv.Itoa(r.serial), &recorder{}
	if r.open == nil {
		r.open = map[string]*recorder{}
	}
	r.open[name] = rec
	return name, rec
}

func (r *records) find(name string) *recorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open[name]
}

func (r *records) end(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, name)
}

// add notes a call. It reports false where the request has been answered.
func (r *recorder) add(c audit.Call) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.most > 0 && len(r.calls) >= r.most {
		return false
	}
	r.calls = append(r.calls, c)
	return true
}

// accompany notes that the request is an express call.
func (r *recorder) accompany(e *express) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rushes = e
}

// express returns the express call that the request is, nil for none.
func (o *operation) express() *express {
	if o == nil || o.recorder == nil {
		return nil
	}
	o.recorder.mu.Lock()
	defer o.recorder.mu.Unlock()
	return o.recorder.rushes
}

// take returns the calls that have not been told yet.
func (r *recorder) take() []audit.Call {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

// close returns the calls that ended in time and have not been told.
func (r *recorder) close() []audit.Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return r.calls
}

// recorded returns next with a trailer after each answer that says which tools
// were called for it, and how that ended. The ingress takes the trailer away
// and writes the audit trail. Where the answer is an event stream the bridge tells
// in it, if the ingress asks for that. Calls of which nobody wants to hear are
// logged by the bridge.
func (b *Bridge) recorded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del(headerRecord)
		if r.Method != http.MethodPost {
			if asksToTell(r) {
				session := r.Header.Get(headerSessionID)
				late := &b.policies.records.late
				w = &telling{
					w, func() []audit.Call { return late.take(session) },
					func(c audit.Call) bool { return late.add(session, c) },
				}
			}
			next.ServeHTTP(w, r)
			return
		}
		name, rec := b.policies.records.begin()
		if rec.asked = asksToTell(r); rec.asked {
			w = &telling{w, rec.take, rec.add}
		}
		defer func() {
			rec.close()
			b.policies.records.end(name)
		}()
		r.Header.Set(headerRecord, name)
		next.ServeHTTP(w, r)
		calls := rec.close()
		if r.Context().Err() != nil { // nobody reads the trailer any more
			for _, c := range calls {
				if !rec.asked || !b.policies.records.late.add(r.Header.Get(headerSessionID), c) {
					b.logCall(c)
				}
			}
			return
		}
		if value := audit.EncodeTrailer(calls); value != "" {
			// A short answer would otherwise go out with its length, and then
			// there is no place for a trailer.
			_ = http.NewResponseController(w).Flush()
			w.Header().Set(http.TrailerPrefix+audit.TrailerName, value)
		}
	})
}

// operation is one request of a client, from its arrival to its answer.
type operation struct {
	bridge   *Bridge
	recorder *recorder
	late     *recorder // nil where nobody asks for it
	method   string
	tool     string
	action   string // of the router's tool
	version  string
	session  string // of the legacy client, empty for none
	began    time.Time

	mu      sync.Mutex
	server  string // the one it was forwarded to, empty for none or several
	status  audit.Status
	ended   int // calls of servers
	recents int // calls that have their entry
}

type operationKey struct{}

// operationOf returns the client's request to which ctx belongs, else nil.
func operationOf(ctx context.Context) *operation {
	o, _ := ctx.Value(operationKey{}).(*operation)
	return o
}

// observe measures, traces and records what clients ask for, whoever answers.
func (b *Bridge) observe(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if !measured[method] {
			return next(ctx, method, req)
		}
		o := b.operation(method, req)
		o.late = carrierOf(ctx).late
		ctx, end := b.serverSpan(context.WithValue(ctx, operationKey{}, o), o, req)
		result, err := next(ctx, method, req)
		status, kind := o.outcome(ctx, result, err)
		end(status, kind)
		b.policies.metrics.observe(method, status, o.only(), time.Since(o.began))
		if method == methodCallTool && !o.recorded() {
			p, _ := req.GetParams().(*mcp.CallToolParamsRaw)
			o.record(audit.Call{Tool: o.tool, Status: status, ErrorType: kind, LatencyMS: time.Since(o.began).Milliseconds(), BytesOut: sizeOf(result)}, p)
		}
		return result, err
	}
}

// operation returns what is known of a request before it is answered.
func (b *Bridge) operation(method string, req mcp.Request) *operation {
	o := &operation{bridge: b, method: method, began: time.Now()}
	if extra := req.GetExtra(); extra != nil {
		o.recorder = b.policies.records.find(extra.Header.Get(headerRecord))
	}
	params := given(req.GetParams())
	o.version, _ = params.GetMeta()[metaProtocolVersion].(string)
	if ss, ok := req.GetSession().(*mcp.ServerSession); ok {
		o.session = ss.ID()
		if init := ss.InitializeParams(); init != nil && o.version == "" {
			o.version = init.ProtocolVersion
		}
	}
	if p, ok := params.(*mcp.CallToolParamsRaw); ok {
		o.tool = p.Name
		o.action = b.actionOf(p)
	}
	return o
}

// actionOf returns what the router's tool is asked to do, empty for another.
func (b *Bridge) actionOf(p *mcp.CallToolParamsRaw) string {
	b.mu.Lock()
	mode := b.settings.Mode
	b.mu.Unlock()
	if mode != config.Router || p.Name != metaToolName {
		return ""
	}
	var arguments struct {
		Action string `json:"action"`
	}
	if json.Unmarshal(p.Arguments, &arguments) == nil && slices.Contains(metaActions, arguments.Action) {
		return arguments.Action
	}
	return actionCall
}

// forwarded notes that the request, or a part of it, went to a server.
func (o *operation) forwarded(server string, status audit.Status) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended++; o.ended > 1 && server != o.server {
		server = ""
	}
	o.server, o.status = server, status
}

// only returns the server that answered, empty where there is none or several.
func (o *operation) only() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.server
}

func (o *operation) recorded() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.recents > 0
}

// outcome returns how the request ended.
func (o *operation) outcome(ctx context.Context, result mcp.Result, err error) (audit.Status, string) {
	o.mu.Lock()
	ended, status := o.ended, o.status
	o.mu.Unlock()
	found, kind := statusOf(ctx, result, err)
	if ended == 1 && err != nil {
		found = status // A server's error may look like one of the bridge's.
	}
	return found, kind
}

// record writes the entry of a tool call: into the answer's trailer, or into
// the log where the answer takes another way.
func (o *operation) record(c audit.Call, p *mcp.CallToolParamsRaw) {
	c.Method, c.Action, c.ProtocolVersion = methodCallTool, o.action, audit.Name(o.version)
	c.Server, c.Tool = audit.Name(c.Server), audit.Name(c.Tool)
	if p != nil {
		c.ParamKeys, c.BytesIn = audit.Keys(p.Arguments), int64(len(p.Arguments))
	}
	o.mu.Lock()
	o.recents++
	o.mu.Unlock()
	c.ID = rand.Text()
	if !o.recorder.add(c) && !o.late.add(c) && !o.keptLate(c) {
		o.bridge.logCall(c)
	}
}

// keptLate keeps a call whose client has left the answer, until it comes for it
// on another stream. It reports false where nobody asked for that.
func (o *operation) keptLate(c audit.Call) bool {
	return o.recorder != nil && o.recorder.asked && o.bridge.policies.records.late.add(o.session, c)
}

// logCall writes the entry of a call into the bridge's own log.
func (b *Bridge) logCall(c audit.Call) {
	b.log.Info("tool called",
		"server", c.Server, "tool", c.Tool, "action", c.Action, "paramKeys", c.ParamKeys,
		"status", c.Status, "errorType", c.ErrorType, "latencyMs", c.LatencyMS,
		"bytesIn", c.BytesIn, "bytesOut", c.BytesOut, "cached", c.Cached, "retries", c.Retries,
		"protocolVersion", c.ProtocolVersion)
}

// recordRefused writes the entry of a call by the router's tool that went to no
// server, for the reason that refused gives.
func recordRefused(ctx context.Context, w callWish, refused any) {
	kind := "unresolved"
	switch r := refused.(type) {
	case *refusal:
		kind = r.Kind
	case ambiguity:
		kind = "ambiguous"
	}
	if o := operationOf(ctx); o != nil {
		o.record(audit.Call{Tool: w.Tool, Status: audit.ProtocolError, ErrorType: kind}, &mcp.CallToolParamsRaw{Arguments: w.Params})
	}
}

// begin traces the call to its server and returns what is to be called with its
// answer: the error is the one before it became the client's.
func (c *call) begin(ctx context.Context) (context.Context, func(mcp.Result, error)) {
	began, tool := time.Now(), toolOf(c.query)
	ctx, end := c.clientSpan(ctx, tool)
	return ctx, func(result mcp.Result, err error) {
		status, kind := statusOf(ctx, result, c.meant(err))
		end(status, kind)
		o := operationOf(ctx)
		o.forwarded(c.upstream.server.Name, status)
		p, ok := c.query.params.(*mcp.CallToolParamsRaw)
		if !ok || o == nil {
			return
		}
		o.record(audit.Call{
			Server: c.upstream.server.Name, Tool: tool, Status: status, ErrorType: kind,
			LatencyMS: time.Since(began).Milliseconds(), BytesOut: sizeOf(result), Cached: c.cached, Retries: c.retries,
		}, p)
	}
}

// meant returns err such that statusOf can tell a server's answer from none.
func (c *call) meant(err error) error {
	if err == nil || answered(err) && !errors.Is(err, errUnreadable) {
		return err
	}
	return &unansweredError{err}
}

// unansweredError is one of a call to which the server gave no answer.
type unansweredError struct{ error }

// Unwrap serves errors.Is and errors.As.
func (e *unansweredError) Unwrap() error { return e.error }

// statusOf returns how a request ended, and the kind of its error: a code of
// the bridge's own, or the number of a JSON-RPC error.
func statusOf(ctx context.Context, result mcp.Result, err error) (status audit.Status, kind string) {
	var none *unansweredError
	var rpc *jsonrpc.Error
	switch {
	case err == nil:
		return statusOfResult(result), ""
	case errors.Is(err, errLate):
		return audit.Timeout, "upstream_timeout"
	case errors.Is(err, context.Canceled), ctx.Err() != nil:
		return audit.Cancelled, "cancelled"
	case errors.As(err, &none):
		if reachedBy(ctx, none.error) == missed || errors.As(err, new(*openError)) || errors.As(err, new(*unavailableError)) {
			return audit.UpstreamError, "upstream_unavailable"
		}
		return audit.UpstreamError, "upstream_error"
	case errors.As(err, &rpc):
		return statusOfError(rpc)
	}
	return audit.ProtocolError, "internal_error"
}

// refusals are the codes of the bridge's own refusals.
var refusals = []string{"bridge_loop", "too_many_bridges", "bridge_hops_invalid"}

func statusOfError(e *jsonrpc.Error) (audit.Status, string) {
	var data struct {
		Code string `json:"code"`
	}
	if e.Code == jsonrpc.CodeInvalidRequest && json.Unmarshal(e.Data, &data) == nil && slices.Contains(refusals, data.Code) {
		return audit.Denied, data.Code
	}
	return audit.ProtocolError, strconv.FormatInt(e.Code, 10)
}

func statusOfResult(result mcp.Result) audit.Status {
	failed, asks := false, false
	switch r := result.(type) {
	case *rawResult:
		failed, asks = r.isError(), r.asks()
	case *mcp.CallToolResult:
		failed, asks = r.IsError, r.NeedsInput()
	}
	switch {
	case asks:
		return audit.InputRequired
	case failed:
		return audit.ToolError
	}
	return audit.Success
}

// sizeOf returns the size of a result in bytes of JSON, without its metadata.
func sizeOf(result mcp.Result) int64 {
	r, ok := result.(*rawResult)
	if !ok || r == nil {
		return 0
	}
	size := len("{}")
	for name, value := range r.fields {
		size += len(name) + len(value) + len(`"":,`)
	}
	return int64(size)
}
