// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/credential"
	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/oversize"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
)

// emptyResult stands for a result that is not needed any more.
var emptyResult = json.RawMessage("{}")

// Finish converts the server's answer to the client's era.
func (l *Conn) Finish(q *message.Request, x *inflight.Call) (mcp.Result, error) {
	result, err := message.ParseResult(x.Delivery.Result())
	if err != nil {
		return nil, err
	}
	x.Delivery.SetResult(emptyResult) // There is an answer; its content is in result now.
	switch {
	case q.Era == message.Modern:
		if methods.Of(q.Method).IsList() {
			if l.Era == message.Legacy {
				delete(result.Fields, "ttlMs") // SDKs write 0 in versions that do not have it.
			}
			result.LetKeep(l.Upstream.Lists.watched())
		}
		result.ForModern(q.Method, l.session.InitializeResult().ServerInfo)
	case l.Era == message.Modern:
		result.ForLegacy(q.Method)
	}
	return result, nil
}

// isBridge reports whether the server is a bridge with several servers, which uses its own name. A
// bridge with a single server uses that server's name, and passes list requests on with their
// hops.
func (l *Conn) isBridge() bool {
	info := l.session.InitializeResult().ServerInfo
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
	session  *mcp.ClientSession
	peer     RequestHandler
	Era      message.Era

	// send sends a message unchanged, without the SDK's caches and additions.
	send mcp.MethodHandler
	// meta describes this connection's client in every modern request.
	meta mcp.Meta
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
	client := mcp.NewClient(who.Info, l.options(who))
	client.AddSendingMiddleware(l.capture)
	client.AddReceivingMiddleware(l.receive)
	message.SendExtensions(client)
	version := u.Connector.Version()
	ctx = context.WithValue(ctx, inflight.BridgePathKey{}, l.way)
	openBy, _ := ctx.Deadline()
	session, err := client.Connect(ctx, l.transport(openBy), &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		l.asked.Close()
		if tooLarge(err) {
			err = errLargeIntroduction
		}
		return nil, l.guard(fmt.Errorf("connect to server %q: %w", u.Config.Name, err))
	}
	l.session = session
	agreed := session.InitializeResult().ProtocolVersion
	if agreed >= message.FirstModernVersion {
		l.Era = message.Modern
	}
	go func() {
		l.Life.ended = session.Wait()
		close(l.Life.gone)
		l.asked.Close()
		u.removeConn(l)
	}()
	if pinned := u.Config.ProtocolVersion; pinned != "" && pinned != agreed {
		l.Life.Close()
		return nil, fmt.Errorf("the server speaks protocol version %.40q and not %s, which its configuration asks for", agreed, pinned)
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
	l.asked = inflight.NewAsked(u.asks)
	return l
}

// options are the options of the SDK's client.
func (l *Conn) options(who ClientIdentity) *mcp.ClientOptions {
	caps := who.Capabilities
	if caps == nil {
		caps = &mcp.ClientCapabilities{}
	}
	opts := &mcp.ClientOptions{
		Logger:         message.DiscardLog,
		Capabilities:   caps,
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	}
	if who.Watch {
		// The SDK subscribes a modern server's changes for which there is a handler. The handlers
		// are empty, because receive handles the changes.
		opts.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) {}
		opts.PromptListChangedHandler = func(context.Context, *mcp.PromptListChangedRequest) {}
		opts.ResourceListChangedHandler = func(context.Context, *mcp.ResourceListChangedRequest) {}
	}
	return opts
}

// transport returns the transport to the server, to which the connection must be open by a time.
func (l *Conn) transport(openBy time.Time) mcp.Transport {
	u, g := l.Upstream, l.grant
	observer := &inflight.HTTPObserver{Next: g.Network, Questions: &l.asked.Questions, OpenBy: openBy}
	switch u.Config.Kind() {
	case mcpserver.Stdio:
		return &streamTransport{next: g.Program(u.Runs, u.Config.Program, u.Log), link: l, patience: u.Timing.silence(u.Timing.Connect), hops: true}
	case mcpserver.SSE:
		observer.OneStream = true
		confined := &egress.ConfinedTransport{Next: observer, Origin: egress.OriginOf(u.Config.URL)}
		client := &http.Client{Transport: confined, CheckRedirect: egress.CheckRedirect}
		// The observer limits the size of an event, which ends one call. The SDK's limit would end
		// all calls.
		return &streamTransport{next: &mcp.SSEClientTransport{Endpoint: u.Config.URL, HTTPClient: client, MaxEventSize: -1}, link: l}
	}
	observer.Asked, observer.Memory = l.asked, u.Memory
	return &mcp.StreamableClientTransport{
		Endpoint: u.Config.URL, HTTPClient: &http.Client{Transport: observer, CheckRedirect: egress.CheckRedirect},
		DisableStandaloneSSE: u.Config.NoListening,
	}
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
	rpc, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && bytes.Contains(rpc.Data, []byte(`"`+oversize.Code+`"`))
}

// capture stores the SDK's function to send a message, and the SDK's description of this client
// for modern servers.
func (l *Conn) capture(next mcp.MethodHandler) mcp.MethodHandler {
	l.send = func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		refusal := &inflight.Refusal{}
		ctx = context.WithValue(ctx, inflight.RefusalKey{}, refusal)
		result, err := next(context.WithValue(ctx, inflight.BridgePathKey{}, l.way), method, req)
		if x, ok := ctx.Value(inflight.CallKey{}).(*inflight.Call); ok {
			x.Settle(ctx)
		}
		return result, refusal.Explain(err, l.redactor())
	}
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if methods.Of(method).Introduces {
			ctx = context.WithValue(ctx, inflight.MaxAnswerKey{}, MaxIntroduction)
		}
		if method == methods.Discover {
			l.meta = maps.Clone(mcp.Meta(req.GetParams().GetMeta()))
		}
		return l.send(ctx, method, req)
	}
}

// receive handles messages of the server that the observer did not handle.
func (l *Conn) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		m := methods.Of(method)
		if m.Notification {
			defer l.asked.LeaveNote()
		}
		switch {
		case m.IsQuestion():
			if req.GetParams().GetMeta()[message.MetaCall] == inflight.RefusedExchange {
				return nil, fault.TooManyQuestions(inflight.MaxQuestions)
			}
			// A question without an answer would keep the connection open.
			ctx, cancel := egress.FollowContext(ctx, l.grant.Grace)
			defer cancel()
			params := message.Unpack(req.GetParams())
			if message.HidesFraction(params.ID) {
				return nil, message.ErrFractionalID
			}
			params.Withdrawn = l.asked.Questions.Withdrawal(params.ID)
			return l.peer.HandleRequest(ctx, l, method, params)
		case method == methods.Progress:
			params := message.Unpack(req.GetParams())
			if l.Calls.progress(params.Raw) {
				return nil, nil
			}
			l.peer.HandleNotification(l, method, params)
		case m.ToClients():
			l.Tools.noteChange(method)
			l.peer.HandleNotification(l, method, message.Unpack(req.GetParams()))
		}
		return next(ctx, method, req)
	}
}

// Call sends a request and returns the server's answer. If the observer saw the result, it is
// returned as the server wrote it.
func (l *Conn) Call(ctx context.Context, method string, params mcp.Params) (mcp.Result, error) {
	result, err := l.send(ctx, method, &mcp.ClientRequest[mcp.Params]{Session: l.session, Params: params})
	return result, l.guard(err)
}

// Subscribe subscribes to a resource, or unsubscribes.
func (l *Conn) Subscribe(ctx context.Context, uri string, on bool) error {
	if !on {
		return l.guard(l.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri}))
	}
	err := l.guard(l.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}))
	if l.Era == message.Modern && l.Life.Dead() {
		// When a session closes, the SDK ends its existing subscriptions. A subscription made just
		// after that would never end.
		_ = l.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri})
		return l.guard(mcp.ErrConnectionClosed)
	}
	return err
}

// guard marks an error of the server with the redactor of its secrets. A connection whose session
// has ended takes no more calls.
func (l *Conn) guard(err error) error {
	if err == nil {
		return nil
	}
	if _, ended := errors.AsType[*fault.SessionEnded](err); ended && l.session != nil {
		l.Life.Retire()
	}
	guarded := &fault.Guarded{Err: err, Hide: l.redactor(), Generation: l.grant.Generation}
	if l.Upstream != nil {
		guarded.ConnectURL = l.Upstream.Config.ConnectURL
	}
	return guarded
}

// query sends a request of the bridge itself and returns the raw result.
func (l *Conn) query(ctx context.Context, method string, params mcp.Params) (*message.Result, error) {
	memory := l.Upstream.Memory.Share()
	defer memory.Close()
	x := &inflight.Call{Ctx: ctx, ToClient: discard}
	x.Delivery.Memory = &memory
	if l.Era == message.Modern {
		params.SetMeta(maps.Clone(l.meta))
	}
	if _, err := l.Call(context.WithValue(ctx, inflight.CallKey{}, x), method, params); err != nil && x.Delivery.Result() == nil {
		return nil, err
	}
	return message.ParseResult(x.Delivery.Result())
}

// discard drops the notifications for the bridge's own requests.
func discard(context.Context, string, mcp.Params) (mcp.Result, error) { return nil, nil }

// Alive reports whether the connection exists and is not closed.
func (l *Conn) Alive() bool { return l != nil && !l.Life.Dead() }

// ServerInfo is the server's description of itself, nil if it sent none.
func (l *Conn) ServerInfo() *mcp.Implementation { return l.session.InitializeResult().ServerInfo }

// Instructions are the server's instructions for models.
func (l *Conn) Instructions() string { return l.session.InitializeResult().Instructions }

// GraceContext ends when the calls in flight must have ended after a change of the server's
// secrets.
func (l *Conn) GraceContext() context.Context { return l.grant.Grace }

// Capabilities returns the server's capabilities. It is never nil.
func (l *Conn) Capabilities() *mcp.ServerCapabilities {
	if caps := l.session.InitializeResult().Capabilities; caps != nil {
		return caps
	}
	return &mcp.ServerCapabilities{}
}

// ProtocolVersion is the negotiated version.
func (l *Conn) ProtocolVersion() string { return l.session.InitializeResult().ProtocolVersion }

// redactor returns the redactor of the connection's secrets.
func (l *Conn) redactor() secret.Redactor {
	u := l.Upstream
	if u == nil || u.Login == nil {
		return l.grant.Redactor
	}
	return u.Login.Redactor(l.grant.Redactor)
}
