// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/bridge/credential"
	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/eventstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// Finish converts the server's answer to the client's era.
func (l *Conn) Finish(q *message.Request, x *inflight.Call) (mcp.Result, error) {
	result, err := message.ParseResult(x.Delivery.Result())
	if err != nil {
		return nil, err
	}
	switch {
	case q.Era == message.Modern:
		if methods.Of(q.Method).IsList() {
			if l.Era == message.Legacy {
				delete(result.Fields, "ttlMs") // SDKs write 0 in versions that do not have it.
			}
			result.LetKeep(l.Upstream.Lists.watched())
		}
		result.ForModern(q.Method, l.session.Info)
	case l.Era == message.Modern:
		result.ForLegacy(q.Method)
	}
	return result, nil
}

// isBridge reports whether the server is a bridge with several servers, which uses its own name. A
// bridge with a single server uses that server's name, and passes list requests on with their
// hops.
func (l *Conn) isBridge() bool {
	info := l.session.Info
	return info != nil && info.Name == message.Implementation.Name
}

// RequestHandler handles the messages that a server sends outside of answers.
type RequestHandler interface {
	// HandleRequest answers a request of the server.
	HandleRequest(ctx context.Context, l *Conn, method string, params *message.Params) (mcp.Result, error)
	// HandleNotification handles a notification that belongs to no call.
	HandleNotification(l *Conn, method string, params *message.Params)
}

// ClientIdentity is how the bridge presents itself to a server.
type ClientIdentity struct {
	Info         *mcp.Implementation
	Capabilities *mcp.ClientCapabilities
	// Watch subscribes to the list changes of a modern server.
	Watch bool
	// Hops are the bridges that the client's request has passed, as in its header.
	Hops string
}

// Conn is one connection to a server.
type Conn struct {
	Upstream *Server
	grant    *credential.Grant
	session  *client.Session
	peer     RequestHandler
	Era      message.Era

	// way is the list of hops that the server gets.
	way   inflight.BridgePath
	asked *inflight.Asked
	// Shared says that legacy sessions also use the connection, because a program has only one.
	Shared bool

	// mu guards all parts of the connection.
	mu       sync.Mutex
	Life     Lifetime
	Calls    calls
	Audience Audience
	Tools    ToolsCheck
	notes    noteQueue
	// listening are the resources to which a modern server was asked to listen, by URI.
	listening map[string]func()
}

// Dial connects to the server. ctx limits the attempt, not the connection.
func Dial(ctx context.Context, u *Server, g *credential.Grant, who ClientIdentity, p RequestHandler) (*Conn, error) {
	if !g.Usable() {
		return nil, u.refusal(g)
	}
	if p := u.Config.Pending; p != nil {
		return nil, &fault.Starting{Server: u.Config.Name, Reason: p.Reason, For: time.Since(p.Since)}
	}
	l := newConn(u, g, p, who)
	session, err := l.open(ctx, who)
	if err != nil {
		l.asked.Close()
		if tooLarge(err) {
			err = errLargeIntroduction
		}
		return nil, l.guard(fmt.Errorf("connect to server %q: %w", u.Config.Name, explain(err, l.redactor())))
	}
	l.session = session
	if session.Modern() {
		l.Era = message.Modern
	}
	go func() {
		<-session.Done()
		l.Life.ended = session.Err()
		close(l.Life.gone)
		l.asked.Close()
		u.removeConn(l)
	}()
	close(l.notes.ready)
	if pinned := u.Config.ProtocolVersion; pinned != "" && pinned != session.Version {
		l.Life.Close()
		return nil, fmt.Errorf("the server speaks protocol version %.40q and not %s, which its configuration asks for", session.Version, pinned)
	}
	if !u.addConn(l) {
		l.Life.Close()
		return nil, fault.ErrStale
	}
	return l, nil
}

// newConn returns a connection that is not open yet.
func newConn(u *Server, g *credential.Grant, p RequestHandler, who ClientIdentity) *Conn {
	l := &Conn{Upstream: u, grant: g, peer: p, way: inflight.BridgePath{Own: u.HopID, Came: who.Hops}, Shared: u.SharedBySessions()}
	l.Life = Lifetime{conn: l, gone: make(chan struct{}), retired: make(chan struct{}), idle: make(chan struct{})}
	l.Calls = calls{conn: l, used: time.Now()}
	l.Audience.conn, l.Tools.conn = l, l
	l.notes = noteQueue{conn: l, ready: make(chan struct{})}
	l.asked = inflight.NewAsked(u.asks)
	return l
}

// oneStream reports whether all messages come on one stream.
func (l *Conn) oneStream() bool { return l.Upstream.Config.Kind() != bridgeconfig.StreamableHTTP }

// open connects by the transport of the server.
func (l *Conn) open(ctx context.Context, who ClientIdentity) (*client.Session, error) {
	u, g := l.Upstream, l.grant
	o := client.Options{
		Version: u.Connector.Version(), Info: who.Info, Capabilities: message.EncodeCapabilities(who.Capabilities), Watch: who.Watch,
		MaxIntroduction: MaxIntroduction, Receiver: l,
		Room: func(ctx context.Context, of client.Observer, body io.Closer) (eventstream.Room, func()) {
			return inflight.Room(ctx, callOf(of), u.Memory, body)
		},
	}
	o.OpenBy, _ = ctx.Deadline()
	header, hops := http.Header{}, l.way.Hops(nil)
	if hops != "" {
		header.Set(message.HeaderHops, hops)
	}
	switch u.Config.Kind() {
	case bridgeconfig.Stdio:
		o.Silence = u.Timing.silence(u.Timing.Connect)
		if hops != "" {
			o.Meta = map[string]any{message.MetaHops: hops}
		}
		return g.Program(u.Runs, u.Config.Program, u.Log).Dial(ctx, o)
	case bridgeconfig.SSE:
		confined := &egress.ConfinedTransport{Next: g.Network, Origin: egress.OriginOf(u.Config.URL)}
		sse := client.SSE{URL: u.Config.URL, Client: &http.Client{Transport: confined, CheckRedirect: egress.CheckRedirect}, Header: header}
		return client.Dialer(sse.Dial).Dial(ctx, o)
	}
	return client.HTTP{
		URL: u.Config.URL, Client: &http.Client{Transport: g.Network, CheckRedirect: egress.CheckRedirect}, Header: header,
		NoListening: u.Config.NoListening,
	}.Dial(ctx, o)
}

// MaxIntroduction bounds the answer to the first request of a connection, in bytes: the server's
// name, its capabilities and its instructions. Each session of a client has a copy of them, and a
// model has to read them all.
const MaxIntroduction = 1 << 20

var errLargeIntroduction = &fault.TooMuch{
	Text: fmt.Sprintf("the server introduces itself with more than %d MiB of name, capabilities and instructions", MaxIntroduction>>20),
}

// tooLarge reports whether err says that an answer was too large.
func tooLarge(err error) bool {
	refusal, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && bytes.Contains(refusal.Data, []byte(`"`+rpc.CodeAnswerTooLarge+`"`))
}

// Call sends a request and returns the server's answer, as it was sent. params are encoded as JSON; nil
// stands for none. x is the call of a client, or of the bridge itself.
func (l *Conn) Call(ctx context.Context, method string, params any, x *inflight.Call) (json.RawMessage, error) {
	if hops := l.way.Hops(x); hops != "" && l.Upstream.Config.Kind() == bridgeconfig.Stdio {
		params = withHops(params, hops)
	}
	raw, err := encodeParams(params)
	if err != nil {
		return nil, err
	}
	q := client.Request{Method: method, Params: raw, Header: l.headerOf(x)}
	if x != nil {
		x.Delivery.OneStream = l.oneStream()
		q.Observer = x
	}
	result, err := l.session.Call(ctx, q)
	if x != nil {
		x.Settle(ctx)
	}
	return result, l.guard(explain(err, l.redactor()))
}

// withHops returns the parameters with hops in their metadata.
func withHops(params any, hops string) mcp.Params {
	p, ok := params.(mcp.Params)
	if !ok {
		p = &message.Outgoing{}
	}
	meta := maps.Clone(p.GetMeta())
	if meta == nil {
		meta = map[string]any{}
	}
	meta[message.MetaHops] = hops
	p.SetMeta(meta)
	return p
}

// Notify sends a notification of a client. params are encoded as JSON; nil stands for none.
func (l *Conn) Notify(ctx context.Context, method string, params any) error {
	raw, err := encodeParams(params)
	if err != nil {
		return err
	}
	return l.guard(explain(l.session.Notify(ctx, method, raw), l.redactor()))
}

// encodeParams returns parameters as JSON, nil for none.
func encodeParams(params any) (json.RawMessage, error) {
	var raw json.RawMessage
	var err error
	switch p := params.(type) {
	case nil:
	case json.Marshaler:
		raw, err = p.MarshalJSON()
	default:
		raw, err = jsondoc.Marshal(params)
	}
	if err != nil {
		return nil, fmt.Errorf("encode the parameters: %w", err)
	}
	return raw, nil
}

// headerOf returns the headers of a request of x, which may be nil, over HTTP.
func (l *Conn) headerOf(x *inflight.Call) http.Header {
	header := http.Header{}
	if x == nil {
		return header
	}
	if x.Hops != "" {
		header.Set(message.HeaderHops, l.way.Hops(x))
	}
	if x.Trace != "" {
		header.Set(message.HeaderTrace, x.Trace)
	}
	if l.Era == message.Modern {
		maps.Copy(header, x.Header)
	}
	return header
}

// explain returns the error of a request with what the server said by an HTTP status. hide is applied to
// it before it is cut or quoted, since a part of a secret is not found.
func explain(err error, hide secret.Redactor) error {
	status, ok := errors.AsType[*client.StatusError](err)
	if !ok || !status.Transient() {
		return err
	}
	return &fault.Refused{Status: status.Status, Said: hide.Redact(status.Words), RetryAfter: status.RetryAfter, Err: err}
}

// Subscribe subscribes to a resource, or unsubscribes.
func (l *Conn) Subscribe(ctx context.Context, uri string, on bool) error {
	if l.Era == message.Legacy {
		method := methods.Subscribe
		if !on {
			method = methods.Unsubscribe
		}
		_, err := l.Call(ctx, method, &mcp.SubscribeParams{URI: uri}, nil)
		return err
	}
	l.mu.Lock()
	stop, listens := l.listening[uri]
	if !on {
		delete(l.listening, uri)
	}
	l.mu.Unlock()
	if listens && !on {
		stop()
	}
	if listens || !on {
		return nil
	}
	stop, err := l.session.Listen(ctx, map[string]any{"resourceSubscriptions": []string{uri}})
	if err != nil {
		return l.guard(explain(err, l.redactor()))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listening == nil {
		l.listening = map[string]func(){}
	}
	l.listening[uri] = stop
	return nil
}

// guard marks an error of the server with the redactor of its secrets. A connection whose session
// has ended takes no more calls.
func (l *Conn) guard(err error) error {
	if err == nil {
		return nil
	}
	if status, ok := errors.AsType[*client.StatusError](err); ok && status.Ended && l.session != nil {
		l.Life.Retire()
	}
	guarded := &fault.Guarded{Err: err, Hide: l.redactor(), Generation: l.grant.Generation}
	if l.Upstream != nil {
		guarded.ConnectURL = l.Upstream.Config.ConnectURL
	}
	return guarded
}

// query sends a request of the bridge itself and returns the result.
func (l *Conn) query(ctx context.Context, method string, params mcp.Params) (*message.Result, error) {
	memory := l.Upstream.Memory.Share()
	defer memory.Close()
	x := &inflight.Call{Ctx: ctx, ToClient: discard}
	x.Delivery.Memory = &memory
	if l.Era == message.Modern {
		params.SetMeta(l.session.Introduction())
	}
	raw, err := l.Call(ctx, method, params, x)
	if err != nil {
		return nil, err
	}
	return message.ParseResult(raw)
}

// discard drops the notifications for the bridge's own requests.
func discard(context.Context, string, mcp.Params) (mcp.Result, error) { return nil, nil }

// Alive reports whether the connection exists and is not closed.
func (l *Conn) Alive() bool { return l != nil && !l.Life.Dead() }

// ServerInfo is the server's description of itself, nil if it sent none.
func (l *Conn) ServerInfo() *mcp.Implementation { return l.session.Info }

// Instructions are the server's instructions for models.
func (l *Conn) Instructions() string { return l.session.Instructions }

// GraceContext ends when the calls in flight must have ended after a change of the server's
// secrets.
func (l *Conn) GraceContext() context.Context { return l.grant.Grace }

// CutOff reports whether the calls of the connection were cut off, because its secrets changed.
func (l *Conn) CutOff() bool { return errors.Is(context.Cause(l.grant.Grace), fault.ErrStale) }

// Capabilities returns the server's capabilities. It is never nil.
func (l *Conn) Capabilities() *mcp.ServerCapabilities { return l.session.Capabilities }

// ProtocolVersion is the negotiated version.
func (l *Conn) ProtocolVersion() string { return l.session.Version }

// redactor returns the redactor of the connection's secrets.
func (l *Conn) redactor() secret.Redactor {
	u := l.Upstream
	if u == nil || u.Login == nil {
		return l.grant.Redactor
	}
	return u.Login.Redactor(l.grant.Redactor)
}
