// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package callaudit

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/trace"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/budget"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// HeaderRecord names the recorder of a request to the request's handlers, which outlast the HTTP
// request. It never leaves the bridge, and the bridge drops this header from
// client requests.
const HeaderRecord = "Hosted-Bridge-Record"

// Trail records, measures and traces the requests of clients.
type Trail struct {
	log *slog.Logger
	// tracer starts the spans; nil disables them.
	tracer trace.Tracer
	// actionOf returns the requested action of the router's tool, empty for other tools.
	actionOf func(p *mcp.CallToolParamsRaw) string

	memory  *budget.Budget
	records records
	Metrics metrics
}

// NewTrail returns the auditor of a bridge.
func NewTrail(log *slog.Logger, tracer trace.Tracer, memory *budget.Budget, actionOf func(*mcp.CallToolParamsRaw) string) *Trail {
	return &Trail{log: log, tracer: tracer, memory: memory, actionOf: actionOf}
}

// lateKey is the context key of a stream's recorder.
type lateKey struct{}

// WithLateRecorder returns a context in which r keeps the calls that came too late for the answer
// to their request.
func WithLateRecorder(ctx context.Context, r *Recorder) context.Context {
	return context.WithValue(ctx, lateKey{}, r)
}

// NewLateRecorder returns a recorder for the calls of a stream, and the writer that reports them
// in this stream.
func NewLateRecorder(w http.ResponseWriter) (*Recorder, http.ResponseWriter) {
	late := &Recorder{most: maxLateCalls}
	return late, &eventWriter{w, late.take, late.add}
}

// LogRest logs the calls that r still holds, once nobody reads its stream any more.
func (a *Trail) LogRest(r *Recorder) {
	for _, c := range r.Close() {
		a.logCall(c)
	}
}

// records are the recorders of the current HTTP requests.
type records struct {
	mu     sync.Mutex
	serial int
	open   map[string]*Recorder
	// late are the recorders of sessions.
	late deferred
}

// Recorder collects tool calls until they are reported: those of one HTTP request, or those of a
// session whose answers use a separate stream.
type Recorder struct {
	// asked says that the ingress reads audit entries from event streams.
	asked bool
	// most limits the number of calls kept; 0 means no limit.
	most int
	// memory is what the messages of the HTTP request take.
	memory budget.Share

	mu     sync.Mutex
	closed bool
	calls  []audit.Call
	// kept is what the ingress is told of an answer that it may keep.
	kept bridgeconfig.KeptMark
}

// begin returns a new recorder and its name.
func (r *records) begin(memory *budget.Budget) (name string, rec *Recorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serial++
	name, rec = strconv.Itoa(r.serial), &Recorder{memory: memory.Share()}
	if r.open == nil {
		r.open = map[string]*Recorder{}
	}
	r.open[name] = rec
	return name, rec
}

func (r *records) find(name string) *Recorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open[name]
}

func (r *records) end(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, name)
}

// add records a call. It returns false if the request was already answered.
func (r *Recorder) add(c audit.Call) bool {
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

// take removes and returns the calls that were not reported yet.
func (r *Recorder) take() []audit.Call {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

// Close returns the calls that ended in time and were not reported.
func (r *Recorder) Close() []audit.Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return r.calls
}

// ClientLeft changes the status of cancelled calls: their client disconnected.
func (r *Recorder) ClientLeft() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.calls {
		if r.calls[i].Status == audit.Cancelled {
			r.calls[i].ErrorType = "client_left"
		}
	}
}

// Keep keeps calls until they are reported.
func (r *Recorder) Keep(calls []audit.Call) {
	for _, c := range calls {
		r.add(c)
	}
}

// RecorderOf returns the recorder of an HTTP request that Handler serves.
func (a *Trail) RecorderOf(r *http.Request) *Recorder {
	return a.records.find(r.Header.Get(HeaderRecord))
}

// MemoryOfRequest returns the memory of an HTTP request that Handler serves.
func (a *Trail) MemoryOfRequest(r *http.Request) *budget.Share {
	if rec := a.RecorderOf(r); rec != nil {
		return &rec.memory
	}
	return nil
}

// MemoryOf returns the memory of the client's request of ctx: that of its HTTP request, which ends
// when the client has the answer. Without one, or when it has ended, it is the request's own.
func MemoryOf(ctx context.Context) *budget.Share {
	o := OperationOf(ctx)
	switch {
	case o == nil:
		return nil
	case o.recorder != nil && !o.recorder.memory.Closed():
		return &o.recorder.memory
	}
	return &o.memory
}

// Handler adds a trailer to each answer of next. The trailer lists the tool calls of the request
// and their results. The ingress removes it and writes the audit trail. In an event stream, the
// bridge reports the calls in the stream if the ingress asks for it. The bridge itself logs calls
// that nobody reads.
func (a *Trail) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del(HeaderRecord)
		if r.Method != http.MethodPost {
			if WantsEvents(r) {
				session := r.Header.Get(message.HeaderSessionID)
				late := &a.records.late
				w = &eventWriter{
					w, func() []audit.Call { return late.take(session) },
					func(c audit.Call) bool { return late.add(session, c) },
				}
			}
			next.ServeHTTP(w, r)
			return
		}
		name, rec := a.records.begin(a.memory)
		if rec.asked = WantsEvents(r); rec.asked {
			w = &eventWriter{w, rec.take, rec.add}
		}
		defer func() {
			rec.Close()
			a.records.end(name)
			rec.memory.Close()
		}()
		r.Header.Set(HeaderRecord, name)
		keeps := r.Header.Get(bridgeconfig.HeaderLists) != ""
		next.ServeHTTP(w, r)
		calls := rec.Close()
		if r.Context().Err() != nil { // nobody reads the trailer any more
			for _, c := range calls {
				if !rec.asked || !a.records.late.add(r.Header.Get(message.HeaderSessionID), c) {
					a.logCall(c)
				}
			}
			return
		}
		setTrailer(w, audit.TrailerName, audit.EncodeTrailer(calls))
		if keeps {
			setTrailer(w, bridgeconfig.HeaderLists, rec.keptMark().String())
		}
	})
}

// setTrailer sets a field of the answer's trailer, if there is a value. Without the flush, a short
// answer would be sent with a Content-Length and have no trailer.
func setTrailer(w http.ResponseWriter, name, value string) {
	if value != "" {
		_ = http.NewResponseController(w).Flush()
		w.Header().Set(http.TrailerPrefix+name, value)
	}
}

func (r *Recorder) keptMark() bridgeconfig.KeptMark {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kept
}

// MayBeKept notes that the ingress may keep the answer of the request.
func (o *Operation) MayBeKept(mark bridgeconfig.KeptMark) {
	if o == nil || o.recorder == nil {
		return
	}
	o.recorder.mu.Lock()
	defer o.recorder.mu.Unlock()
	o.recorder.kept = mark
}

// Operation is one request of a client, from its arrival to its answer.
type Operation struct {
	audit    *Trail
	recorder *Recorder
	late     *Recorder // nil unless the ingress asked for it
	method   string
	tool     string
	action   string // the action of the router's tool
	version  string
	session  string // the legacy client's session, else empty
	began    time.Time
	memory   budget.Share // of a request that did not come over HTTP

	mu      sync.Mutex
	server  string // the server that got the request; empty for none or several
	status  audit.Status
	ended   int // number of finished calls to servers
	recents int // number of calls with an entry
}

type operationKey struct{}

// OperationOf returns the client request of ctx, or nil.
func OperationOf(ctx context.Context) *Operation {
	o, _ := ctx.Value(operationKey{}).(*Operation)
	return o
}

// Observe measures, traces and records a request of a client, which answer answers, also by the bridge
// itself.
func (a *Trail) Observe(ctx context.Context, q *message.Request, answer func(context.Context) (mcp.Result, error)) (mcp.Result, error) {
	if !measured(methods.Of(q.Method)) {
		return answer(ctx)
	}
	o := a.operation(q)
	o.memory = a.memory.Share()
	defer o.memory.Close()
	o.late, _ = ctx.Value(lateKey{}).(*Recorder)
	ctx, end := a.serverSpan(context.WithValue(ctx, operationKey{}, o), o, q)
	result, err := answer(ctx)
	status, kind := o.outcome(ctx, result, err)
	end(status, kind)
	a.Metrics.observe(q.Method, status, o.only(), time.Since(o.began))
	if q.Method == methods.CallTool && !o.recorded() {
		p, _ := q.Params.(*mcp.CallToolParamsRaw)
		o.Record(audit.Call{Tool: o.tool, Status: status, ErrorType: kind, LatencyMS: time.Since(o.began).Milliseconds(), BytesOut: SizeOf(result)}, p)
	}
	return result, err
}

// operation returns the fields that are known before the answer.
func (a *Trail) operation(q *message.Request) *Operation {
	o := &Operation{audit: a, recorder: a.records.find(q.Record), method: q.Method, began: time.Now()}
	o.version, _ = q.Meta[message.MetaProtocolVersion].(string)
	if q.Session != nil {
		o.version, o.session = cmp.Or(o.version, q.Session.Version()), q.Session.ID()
	}
	if p, ok := q.Params.(*mcp.CallToolParamsRaw); ok {
		o.tool = p.Name
		o.action = a.actionOf(p)
	}
	return o
}

// Forwarded records that the request, or a part of it, went to a server.
func (o *Operation) Forwarded(server string, status audit.Status) {
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

// only returns the server that answered, or an empty string if no server or several did.
func (o *Operation) only() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.server
}

func (o *Operation) recorded() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.recents > 0
}

// outcome returns the status and error kind of the request.
func (o *Operation) outcome(ctx context.Context, result mcp.Result, err error) (audit.Status, string) {
	o.mu.Lock()
	ended, status := o.ended, o.status
	o.mu.Unlock()
	found, kind := StatusOf(ctx, result, err)
	if ended == 1 && err != nil {
		found = status // A server's error may look like an error of the bridge.
	}
	return found, kind
}

// Record writes the entry of a tool call into the answer's trailer, or into the log if the answer
// has no trailer.
func (o *Operation) Record(c audit.Call, p *mcp.CallToolParamsRaw) {
	c.Method, c.Action, c.ProtocolVersion = methods.CallTool, o.action, audit.Name(o.version)
	c.Server, c.Tool = audit.Name(c.Server), audit.Name(c.Tool)
	if p != nil {
		c.ParamKeys, c.BytesIn = audit.Keys(p.Arguments), int64(len(p.Arguments))
	}
	o.mu.Lock()
	o.recents++
	o.mu.Unlock()
	c.ID = rand.Text()
	if !o.recorder.add(c) && !o.late.add(c) && !o.keptLate(c) {
		o.audit.logCall(c)
	}
}

// keptLate keeps a call whose client left before the answer, until the client fetches the answer
// on another stream. It returns false if the ingress did not ask for such calls.
func (o *Operation) keptLate(c audit.Call) bool {
	return o.recorder != nil && o.recorder.asked && o.audit.records.late.add(o.session, c)
}

// InProgress returns the number of current requests whose calls are reported with their answers.
func (a *Trail) InProgress() int {
	a.records.mu.Lock()
	defer a.records.mu.Unlock()
	return len(a.records.open)
}

// logCall writes the entry of a call to the bridge's own log.
func (a *Trail) logCall(c audit.Call) {
	a.log.Info("tool called",
		"server", c.Server, "tool", c.Tool, "action", c.Action, "paramKeys", c.ParamKeys,
		"status", c.Status, "errorType", c.ErrorType, "latencyMs", c.LatencyMS,
		"bytesIn", c.BytesIn, "bytesOut", c.BytesOut, "cached", c.Cached, "retries", c.Retries,
		"protocolVersion", c.ProtocolVersion)
}

// StatusOf returns the status of a request, and the kind of its error: a code of the bridge, or
// the number of a JSON-RPC error.
func StatusOf(ctx context.Context, result mcp.Result, err error) (status audit.Status, kind string) {
	var none *fault.Unanswered
	var rpc *jsonrpc.Error
	switch {
	case err == nil:
		return statusOfResult(result), ""
	case errors.Is(err, fault.ErrTimeout):
		return audit.Timeout, "upstream_timeout"
	case errors.Is(err, context.Canceled), ctx.Err() != nil:
		return audit.Cancelled, "cancelled"
	case errors.As(err, &none):
		if fault.DeliveryOf(ctx, none.Err) == fault.Missed || errors.As(err, new(*fault.CircuitOpen)) ||
			errors.As(err, new(*fault.Unavailable)) || errors.As(err, new(*fault.Starting)) {
			return audit.UpstreamError, "upstream_unavailable"
		}
		return audit.UpstreamError, "upstream_error"
	case errors.As(err, &rpc):
		return statusOfError(rpc)
	}
	return audit.ProtocolError, "internal_error"
}

// refusals are the error codes of requests that the bridge itself refused.
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
	case *message.Result:
		failed, asks = r.IsError(), r.NeedsInput()
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

// SizeOf returns the size of a result in bytes of JSON, without metadata.
func SizeOf(result mcp.Result) int64 {
	r, ok := result.(*message.Result)
	if !ok || r == nil {
		return 0
	}
	size := len("{}")
	for name, value := range r.Fields {
		size += len(name) + len(value) + len(`"":,`)
	}
	return int64(size)
}
