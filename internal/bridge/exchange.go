// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// exchange is one client's request on its way to a server and back.
type exchange struct {
	// ctx is that of the client's request: what is sent with it reaches the
	// client on the stream of that request.
	ctx context.Context
	// toClient sends a message to the client.
	toClient func(ctx context.Context, method string, params mcp.Params) (mcp.Result, error)
	// method is that of the request.
	method string
	// serial tells the exchange from the link's others.
	serial string
	// token is the progress token as the client chose it, and alias the one
	// that the server sees instead, where they differ.
	token any
	alias string
	// filter drops log messages below level, for a server that cannot be told
	// the level of one request.
	filter bool
	level  string
	// header holds what of the client's header goes to the server: Mcp-Param-*
	// with the call of a tool.
	header http.Header
	// hops is the way that the request came: the bridges it has passed, as the
	// header says it.
	hops string
	// trace is the W3C trace context under which the server is called, empty for
	// none.
	trace string
	// current, where it is set, returns what the request says with which the
	// client waits now: it may not be the one that began the exchange.
	current func() wishes
	// ask, where it is set, answers what the server asks during the exchange.
	ask func(ctx context.Context, method string, params mcp.Params) (mcp.Result, error)
	// session is the legacy client's, nil where there is none.
	session *session
	// outbox holds what came for the client on a connection that it shares.
	outbox outbox
	// suffices says that nothing is wanted of the answer but what the exchange
	// keeps of it.
	suffices bool
	// number is the id of the request that was sent, and plainly says that it has
	// a plain answer. Only who sends the request and reads its answer uses them.
	number  string
	plainly bool

	mu     sync.Mutex
	result json.RawMessage
	ends   []func() // to be called when nothing is expected any more
	// sent says that the request was written to the network, and refused that
	// the server answered that it does not know the session.
	sent, refused bool
}

// wishes are what a request says of the messages that come before its answer.
type wishes struct {
	ctx   context.Context // nil where no request waits
	token any             // of its progress, nil for none
	level string          // of log messages, empty for none
}

// now returns what the client wishes that waits.
func (x *exchange) now() wishes {
	if x.current != nil {
		return x.current()
	}
	return wishes{x.ctx, x.token, x.level}
}

// exchangeKey is the context key of the exchange that an HTTP request belongs
// to.
type exchangeKey struct{}

// paramHeaders returns the headers of h that repeat arguments of a tool. An
// intermediary passes them on, whether it knows the tool or not.
func paramHeaders(h http.Header) http.Header {
	var found http.Header
	for name, values := range h {
		if strings.HasPrefix(name, "Mcp-Param-") {
			if found == nil {
				found = http.Header{}
			}
			found[name] = slices.Clone(values)
		}
	}
	return found
}

// metaExchange is the key in the metadata of a server's request under which the
// tap notes the exchange's serial. It does not leave the bridge.
const metaExchange = "hostedbridge.dev/exchange"

// noExchange is noted of a request that belongs to no exchange, and
// severalExchanges of one that may belong to those of several clients.
const (
	noExchange       = "none"
	severalExchanges = "several"
)

// tag returns the server's request with a note of the exchange, or unchanged
// where it has an unexpected shape.
func (x *exchange) tag(message []byte) []byte {
	var m struct {
		Params json.RawMessage `json:"params"`
	}
	if json.Unmarshal(message, &m) != nil {
		return message
	}
	params, err := withMeta(m.Params, metaExchange, x.serial)
	if err != nil {
		return message
	}
	tagged, err := withField(message, "params", params)
	if err != nil {
		return message
	}
	return tagged
}

// sending notes that the request is on its way, so that it may take effect.
func (x *exchange) sending() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent, x.refused = true, false
}

// refuse notes that the server did not take the request.
func (x *exchange) refuse() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.refused = true
}

// harmless reports whether the request cannot have taken effect, so that it may
// be sent again.
func (x *exchange) harmless() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return !x.sent || x.refused
}

// answered keeps the result as the server sent it.
func (x *exchange) answered(result json.RawMessage) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.result = slices.Clone(result)
}

// takeResult returns what the server answered, nil for nothing or an error.
func (x *exchange) takeResult() json.RawMessage {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.result
}

// onEnd has f called when nothing is expected of the exchange any more.
func (x *exchange) onEnd(f func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ends = append(x.ends, f)
}

// settle waits until the client has what came before the answer, and ends what
// waits for more.
func (x *exchange) settle(ctx context.Context) {
	x.mu.Lock()
	ends := x.ends
	x.ends = nil
	x.mu.Unlock()
	for _, end := range ends {
		end()
	}
	x.outbox.flush(ctx)
}

// mayAsk reports whether a server may ask its client something to answer a
// request of method.
func mayAsk(method string) bool {
	switch method {
	case methodCallTool, methodGetPrompt, methodReadResource:
		return true
	}
	return false
}

// answers reports whether the exchange's client can answer what a server asks.
func (x *exchange) answers(method string, params json.RawMessage) bool {
	if x.ask != nil {
		return true
	}
	return x.session != nil && declares(x.session.who.caps, method, params)
}

// declares reports whether a client said that it answers requests of method.
func declares(caps *mcp.ClientCapabilities, method string, params json.RawMessage) bool {
	if caps == nil {
		return false
	}
	switch method {
	case methodSample:
		return caps.Sampling != nil
	case methodRoots:
		return caps.RootsV2 != nil
	case methodElicit:
		return caps.Elicitation != nil && elicits(caps.Elicitation, params)
	}
	return false
}

// elicits reports whether a client elicits in the mode of the request. A client
// that names no modes has that of forms.
func elicits(caps *mcp.ElicitationCapabilities, params json.RawMessage) bool {
	var p struct {
		Mode string `json:"mode"`
	}
	_ = json.Unmarshal(params, &p) // Another type is no mode that anybody knows.
	if p.Mode == "url" {
		return caps.URL != nil
	}
	return caps.Form != nil || caps.URL == nil
}

// question puts what the server asks to the exchange's client.
func (x *exchange) question(ctx context.Context, method string, params mcp.Params) (mcp.Result, error) {
	if c, ok := x.ctx.Value(callKey{}).(*call); ok {
		c.asked.Store(true) // That a client cannot answer is an answer too.
	}
	if x.ask != nil {
		return x.ask(ctx, method, params)
	}
	raw, err := json.Marshal(params)
	if err != nil || !x.answers(method, raw) {
		return nil, methodNotFound(method)
	}
	// The end of the client's request is not that of the question; the server
	// withdraws it if it no longer wants to know.
	ctx, cancel := follow(context.WithoutCancel(x.ctx), ctx)
	defer cancel()
	result, err := x.toClient(ctx, method, params)
	if err != nil {
		return nil, rpcError(err, "client")
	}
	return result, nil
}

// notify passes a progress or log notification on to the client. That it
// cannot be delivered, because the client went away, is not a failure of the
// request.
func (x *exchange) notify(method string, raw json.RawMessage) {
	if method == noteMessage && x.filter && !x.wants(raw) {
		return
	}
	now := x.now()
	if method == noteProgress && x.alias != "" {
		if now.token == nil {
			return
		}
		restored, err := withField(raw, metaProgressToken, now.token)
		if err != nil {
			return
		}
		raw = restored
	}
	_, _ = x.toClient(now.ctx, method, &rawParams{raw: raw})
}

// levels are the log levels, least severe first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// wants reports whether the client asked for log messages as severe as this.
func (x *exchange) wants(raw json.RawMessage) bool {
	var m struct {
		Level string `json:"level"`
	}
	level := x.now().level
	if level == "" || json.Unmarshal(raw, &m) != nil {
		return false
	}
	return slices.Index(levels, m.Level) >= slices.Index(levels, level)
}
