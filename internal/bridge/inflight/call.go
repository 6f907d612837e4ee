// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/budget"
	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// Call is one client's request on its way to a server and back.
type Call struct {
	// Ctx is the context of the client's request: messages sent with it reach the client on the
	// stream of that request.
	Ctx context.Context
	// ToClient sends a message to the client.
	ToClient message.Send
	// Method is that of the request.
	Method string
	// Serial identifies the call among the calls of the connection.
	Serial   string
	Progress progressToken
	Log      LogFilter
	// Header holds the client's headers that go to the server: Mcp-Param-* for a tool call.
	Header http.Header
	// Hops are the bridges that the request has passed, as in its header.
	Hops string
	// Trace is the W3C trace context of the request to the server; empty if there is no trace.
	Trace string
	// Current, if set, returns the options of the request that the client waits for now. It may be
	// a later request than the one that started the call.
	Current func() message.RequestOptions
	// Ask, if set, answers the server's questions during the call.
	Ask func(ctx context.Context, method string, params *message.Params) (mcp.Result, error)
	// OnQuestion, if set, is called when the server asks a question.
	OnQuestion func()
	// Client is the legacy client, nil for a modern client.
	Client message.Client
	// Outbox holds messages for the client on a shared connection.
	Outbox   Queue
	Delivery deliveryState
}

// progressToken maps the progress token of a request.
type progressToken struct {
	// Token is the client's progress token. alias is the token that the server sees instead, if it
	// differs.
	Token any
	Alias string
}

// LogFilter drops log messages below level if filter is set, for servers that do not know the log
// level of a single request.
type LogFilter struct {
	Filter bool
	Level  string
}

// deliveryState says how far a request has come.
type deliveryState struct {
	// Memory is what the call and its answer may take.
	Memory *budget.Share
	// Withdrawn, if set, says with which words the client cancelled the call.
	Withdrawn *message.Withdrawal
	// OneStream says that all messages of the connection come on one stream, on which the length of an answer
	// is known when it is there.
	OneStream bool

	mu     sync.Mutex
	result json.RawMessage
	// failure is why the bridge did not take the answer.
	failure error
	// sent says that the request was written to the network. refused says that the server does not
	// know the session.
	sent, refused bool
}

// now returns the current options of the waiting client.
func (x *Call) now() message.RequestOptions {
	if x.Current != nil {
		return x.Current()
	}
	return message.RequestOptions{Ctx: x.Ctx, Token: x.Progress.Token, Level: x.Log.Level}
}

// NoExchange marks a request that belongs to no call. SeveralExchanges marks a request that may
// belong to the calls of several clients, RefusedExchange one that the bridge refuses because its
// server asks too much at once.
const (
	NoExchange       = "none"
	SeveralExchanges = "several"
	RefusedExchange  = "refused"
)

// Sending implements client.Observer.
func (x *Call) Sending() {
	d := &x.Delivery
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent, d.refused = true, false
}

// Sent implements client.Observer.
func (x *Call) Sent() { x.Delivery.Memory.Sent() }

// Refused implements client.Observer.
func (x *Call) Refused() {
	d := &x.Delivery
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refused = true
}

// Answered implements client.Observer.
func (x *Call) Answered(ctx context.Context, result json.RawMessage) error {
	if result != nil && x.Delivery.OneStream {
		if err := x.Delivery.Memory.Count(ctx, len(result)); err != nil {
			x.Delivery.Fail(err)
			return err
		}
	}
	d := &x.Delivery
	d.mu.Lock()
	defer d.mu.Unlock()
	d.result = result
	return nil
}

// Notified implements client.Observer.
func (x *Call) Notified(method string, params json.RawMessage) bool {
	if !methods.Of(method).OfCall {
		return false
	}
	x.Notify(method, params)
	return true
}

// Withdrawal implements client.Observer: a server is told of a cancellation in the client's words.
func (x *Call) Withdrawal(sent json.RawMessage) json.RawMessage {
	if x.Delivery.Withdrawn == nil {
		return sent
	}
	return x.Delivery.Withdrawn.Merge(sent)
}

// NotDelivered reports whether the request cannot have taken effect, so that it may
// be sent again.
func (d *deliveryState) NotDelivered() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.sent || d.refused
}

// Fail records why the bridge did not take the answer.
func (d *deliveryState) Fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failure = err
}

// Failure returns why the bridge did not take the answer, nil if it did.
func (d *deliveryState) Failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failure
}

// SetResult keeps the result as the server sent it. The caller does not change it afterwards.
func (d *deliveryState) SetResult(result json.RawMessage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.result = result
}

// Result returns the server's result, nil before it and if it is an error.
func (d *deliveryState) Result() json.RawMessage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.result
}

// Settle waits until the client has all messages from before the answer.
func (x *Call) Settle(ctx context.Context) { x.Outbox.flush(ctx) }

// answers reports whether the call's client can answer the server's question.
func (x *Call) answers(method string, params json.RawMessage) bool {
	if x.Ask != nil {
		return true
	}
	return x.Client != nil && message.Declares(x.Client.Capabilities(), method, params)
}

// Question passes the server's question to the call's client.
func (x *Call) Question(ctx context.Context, method string, params *message.Params) (mcp.Result, error) {
	if x.OnQuestion != nil {
		x.OnQuestion() // "The client cannot answer" is an answer too.
	}
	if x.Ask != nil {
		return x.Ask(ctx, method, params)
	}
	if !x.answers(method, params.Raw) {
		return nil, fault.MethodNotFound(method)
	}
	// The question does not end with the client's request; the server cancels it when it no longer
	// needs the answer.
	ctx, cancel := egress.FollowContext(context.WithoutCancel(x.Ctx), ctx)
	defer cancel()
	result, err := x.ToClient(message.WithWithdrawal(ctx, params.Withdrawn), method, params.OnWire())
	if err != nil {
		return nil, fault.ToRPC(err, "client")
	}
	return result, nil
}

// Notify passes a progress or log notification to the client. If the client disconnected, the
// request does not fail.
func (x *Call) Notify(method string, raw json.RawMessage) {
	if method == methods.LogMessage && x.Log.Filter && !x.Wants(raw) {
		return
	}
	now := x.now()
	if method == methods.Progress && x.Progress.Alias != "" {
		if now.Token == nil {
			return
		}
		restored, err := message.WithField(raw, message.MetaProgressToken, now.Token)
		if err != nil {
			return
		}
		raw = restored
	}
	_, _ = x.ToClient(now.Ctx, method, (&message.Params{Raw: raw}).OnWire())
}

// Wants reports whether the client asked for log messages of this severity.
func (x *Call) Wants(raw json.RawMessage) bool {
	var m struct {
		Level string `json:"level"`
	}
	level := x.now().Level
	if level == "" || json.Unmarshal(raw, &m) != nil {
		return false
	}
	return slices.Index(message.LogLevels, m.Level) >= slices.Index(message.LogLevels, level)
}

// Closed reports whether c is closed.
func Closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Follow stores the client's progress token. On a shared connection the server gets another token.
// A client that can be asked always gets one: it may request progress only when it returns with an
// answer.
func (x *Call) Follow(params mcp.Params, shared bool) {
	meta := params.GetMeta()
	if meta == nil && x.Ask != nil {
		meta = map[string]any{}
		params.SetMeta(meta)
	}
	if meta[message.MetaProgressToken] == nil && x.Ask == nil {
		return
	}
	x.Progress.Token = meta[message.MetaProgressToken]
	if shared {
		x.Progress.Alias = "hb-" + x.Serial
		meta[message.MetaProgressToken] = x.Progress.Alias
	}
}
