// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
)

// peer is where the messages go that a server sends of its own accord.
type peer interface {
	// request answers a request of the server.
	request(ctx context.Context, l *link, method string, params mcp.Params) (mcp.Result, error)
	// notify takes a notification that belongs to no exchange.
	notify(l *link, method string, params mcp.Params)
}

// identity is what the bridge says of itself when it connects to a server.
type identity struct {
	info *mcp.Implementation
	caps *mcp.ClientCapabilities
	// watch asks a modern server for its list changes.
	watch bool
	// hops is the way that the client's request came which has the bridge
	// connect, as its header says it.
	hops string
}

// link is one connection to a server.
type link struct {
	upstream *upstream
	grant    *grant
	session  *mcp.ClientSession
	peer     peer
	era      era
	gone     chan struct{} // closed when the connection is
	retired  chan struct{} // closed when it takes no more exchanges
	idle     chan struct{} // closed when it is retired and the last one has ended

	// send sends a message as it is, without the SDK's caches and additions.
	send mcp.MethodHandler
	// meta describes this connection's client in every modern request.
	meta mcp.Meta
	// way is what a server is told of the way that requests came.
	way way
	// shared says that legacy sessions use the connection too: of a program there
	// is only one.
	shared bool
	// ended is why the connection is gone, set before gone is closed.
	ended error
	// vetted is the state of the server's changes in which its tools were compared
	// on this connection, 0 for none. vetting is held while they are.
	vetted  atomic.Uint64
	vetting sync.Mutex

	mu        sync.Mutex
	members   map[*session]*outbox // the sessions that use a shared connection
	used      time.Time            // when the last exchange ended
	exchanges []*exchange          // in flight, newest last
	broken    bool                 // whether one ended without its answer
	serials   int
	level     string // the log level that a legacy server was asked for
}

// dial connects to the server. The context ends the attempt, not the link.
func dial(ctx context.Context, u *upstream, g *grant, who identity, p peer) (*link, error) {
	if !g.usable() {
		return nil, u.refusal(g)
	}
	l := &link{
		upstream: u, grant: g, peer: p,
		gone: make(chan struct{}), retired: make(chan struct{}), idle: make(chan struct{}),
		way: way{own: u.hop(), came: who.hops}, shared: u.shares(), used: time.Now(),
	}
	client := mcp.NewClient(who.info, l.options(who))
	client.AddSendingMiddleware(l.capture)
	client.AddReceivingMiddleware(l.receive)
	version := u.version()
	ctx = context.WithValue(ctx, wayKey{}, l.way)
	session, err := client.Connect(ctx, l.transport(), &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return nil, l.guard(fmt.Errorf("connect to server %q: %w", u.server.Name, err))
	}
	l.session = session
	agreed := session.InitializeResult().ProtocolVersion
	if agreed >= firstModernVersion {
		l.era = modern
	}
	go func() {
		l.ended = session.Wait()
		close(l.gone)
		u.lose(l)
	}()
	if pinned := u.server.ProtocolVersion; pinned != "" && pinned != agreed {
		l.close()
		return nil, fmt.Errorf("the server speaks protocol version %.40q and not %s, which its configuration asks for", agreed, pinned)
	}
	if !u.keep(l) {
		l.close()
		return nil, errStale
	}
	return l, nil
}

// options are those of the SDK's client.
func (l *link) options(who identity) *mcp.ClientOptions {
	caps := who.caps
	if caps == nil {
		caps = &mcp.ClientCapabilities{}
	}
	opts := &mcp.ClientOptions{
		Logger:         quiet,
		Capabilities:   caps,
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	}
	if who.watch {
		// A modern server is asked for the changes for which there is a
		// handler; receive does what is to be done.
		opts.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) {}
		opts.PromptListChangedHandler = func(context.Context, *mcp.PromptListChangedRequest) {}
		opts.ResourceListChangedHandler = func(context.Context, *mcp.ResourceListChangedRequest) {}
	}
	return opts
}

// transport returns the way to the server.
func (l *link) transport() mcp.Transport {
	u, g := l.upstream, l.grant
	switch u.server.Kind() {
	case config.Stdio:
		return &wire{next: g.program(u), link: l, patience: u.timing.connect / 3, hops: true}
	case config.SSE:
		client := &http.Client{Transport: &confined{next: g.client.Transport, origin: originOf(u.server.URL)}, CheckRedirect: sameHost}
		// The bound on an event is the tap's, which ends one call and not all.
		return &wire{next: &mcp.SSEClientTransport{Endpoint: u.server.URL, HTTPClient: client, MaxEventSize: -1}, link: l}
	}
	return &mcp.StreamableClientTransport{
		Endpoint: u.server.URL, HTTPClient: g.client, DisableStandaloneSSE: u.server.NoListening,
	}
}

// capture keeps the way to send a message, and how the SDK describes this
// client to a modern server.
func (l *link) capture(next mcp.MethodHandler) mcp.MethodHandler {
	l.send = func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(context.WithValue(ctx, wayKey{}, l.way), method, req)
		if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
			x.settle(ctx)
		}
		return result, err
	}
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == methodDiscover {
			l.meta = maps.Clone(mcp.Meta(req.GetParams().GetMeta()))
		}
		return l.send(ctx, method, req)
	}
}

// receive takes what the server sends and the tap did not see.
func (l *link) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case methodSample, methodElicit, methodRoots:
			// A question that nobody answers would keep the connection.
			ctx, cancel := follow(ctx, l.grant.rest)
			defer cancel()
			return l.peer.request(ctx, l, method, given(req.GetParams()))
		case noteProgress:
			if p, ok := req.GetParams().(*mcp.ProgressNotificationParams); ok && l.progress(p) {
				return nil, nil
			}
			l.peer.notify(l, method, given(req.GetParams()))
		case noteMessage, noteResourceUpdated, noteElicitDone, noteToolsChanged, notePromptsChanged, noteResourcesChanged:
			l.noteChange(method)
			l.peer.notify(l, method, given(req.GetParams()))
		}
		return next(ctx, method, req)
	}
}

// progress passes on progress that did not come with the answer to its request.
func (l *link) progress(p *mcp.ProgressNotificationParams) bool {
	l.mu.Lock()
	var found *exchange
	for _, x := range l.exchanges {
		if x.alias != "" && p.ProgressToken == any(x.alias) {
			found = x
		}
	}
	l.mu.Unlock()
	if found == nil {
		return false
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return false
	}
	found.notify(noteProgress, raw)
	return true
}

// origin returns the exchange that a server's request belongs to: the one in
// whose answer it came, else the newest in flight where all are of one client,
// else nil. It takes the note of it out of params.
func (l *link) origin(params mcp.Params) *exchange {
	x, _ := l.whose(params)
	return x
}

// whose is origin. It reports besides whether there is none because there are
// calls of several clients.
func (l *link) whose(params mcp.Params) (x *exchange, several bool) {
	meta := params.GetMeta()
	serial := meta[metaExchange]
	delete(meta, metaExchange)
	switch serial {
	case noExchange:
		return nil, false
	case severalExchanges:
		return nil, true
	}
	if x := l.numbered(serial); x != nil {
		return x, false
	}
	return l.sole()
}

// numbered returns the exchange in flight with a serial.
func (l *link) numbered(serial any) *exchange {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.exchanges {
		if serial == any(x.serial) {
			return x
		}
	}
	return nil
}

// begin counts x as in flight until the returned function is called. It reports
// false where the connection takes no more exchanges. On a connection that
// clients share, the server sees a progress token that no other client chose.
func (l *link) begin(x *exchange, params mcp.Params, shared bool) (end func(), ok bool) {
	level := ""
	if l.shared && x.session != nil {
		level = x.session.logLevel() // Not below: a session that joins holds its lock when it takes l.mu.
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if closed(l.retired) {
		return nil, false
	}
	l.serials++
	x.serial = strconv.Itoa(l.serials)
	x.follow(params, shared || l.shared)
	if l.shared && x.session != nil {
		// A client that set no level gets what the server says by itself, and
		// not what another client asked for.
		x.level = level
		x.filter = x.level != "" || l.level != ""
	}
	l.exchanges = append(l.exchanges, x)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.exchanges = slices.DeleteFunc(l.exchanges, func(other *exchange) bool { return other == x })
		l.broken = l.broken || x.takeResult() == nil
		l.used = time.Now()
		l.settle()
	}, true
}

// follow notes the client's progress token. On a connection that clients share
// the server sees another one. A client that may be asked gets one in any case:
// it may wish to hear of the progress only when it comes back with an answer.
func (x *exchange) follow(params mcp.Params, shared bool) {
	meta := params.GetMeta()
	if meta == nil && x.ask != nil {
		meta = map[string]any{}
		params.SetMeta(meta)
	}
	if meta[metaProgressToken] == nil && x.ask == nil {
		return
	}
	x.token = meta[metaProgressToken]
	if shared {
		x.alias = "hb-" + x.serial
		meta[metaProgressToken] = x.alias
	}
}

// settle tells that a retired connection has nothing more in flight. The caller
// holds l.mu.
func (l *link) settle() {
	if closed(l.retired) && len(l.exchanges) == 0 {
		close(l.idle)
	}
}

// call sends a request and returns the server's answer. The result is that of
// the wire where the tap saw it.
func (l *link) call(ctx context.Context, method string, params mcp.Params) (mcp.Result, error) {
	result, err := l.send(ctx, method, &mcp.ClientRequest[mcp.Params]{Session: l.session, Params: params})
	return result, l.guard(err)
}

// subscribe asks for the updates of a resource, or for no more of them.
func (l *link) subscribe(ctx context.Context, uri string, on bool) error {
	if !on {
		return l.guard(l.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri}))
	}
	err := l.guard(l.session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}))
	if l.era == modern && l.dead() {
		// The SDK ends the subscriptions that there are when a session is closed.
		// One that comes just after that would wait for ever.
		_ = l.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri})
		return l.guard(mcp.ErrConnectionClosed)
	}
	return err
}

// guard marks an error that came from the server with the secrets that it must
// not repeat.
func (l *link) guard(err error) error {
	if err == nil {
		return nil
	}
	guarded := &guardedError{err: err, hide: l.hides(), grant: l.grant}
	if l.upstream != nil {
		guarded.connect = l.upstream.server.ConnectURL
	}
	return guarded
}

// query sends a request of the bridge's own and returns the raw result.
func (l *link) query(ctx context.Context, method string, params mcp.Params) (*rawResult, error) {
	x := &exchange{ctx: ctx, toClient: discard}
	if l.era == modern {
		params.SetMeta(maps.Clone(l.meta))
	}
	if _, err := l.call(context.WithValue(ctx, exchangeKey{}, x), method, params); err != nil && x.takeResult() == nil {
		return nil, err
	}
	return parseResult(x.takeResult())
}

// discard is the client of the bridge's own requests, which wants no
// notifications.
func discard(context.Context, string, mcp.Params) (mcp.Result, error) { return nil, nil }

// hear asks a legacy server for log messages of at least level. Its session has
// one level, so the shared one gets the most talkative that a client wants, and
// each exchange drops what its own client does not.
func (l *link) hear(ctx context.Context, level string) {
	if l.capabilities().Logging == nil || !slices.Contains(levels, level) {
		return
	}
	l.mu.Lock()
	enough := l.level != "" && slices.Index(levels, l.level) <= slices.Index(levels, level)
	if !enough {
		l.level = level
	}
	l.mu.Unlock()
	if !enough {
		_, _ = l.call(ctx, methodSetLevel, &mcp.SetLoggingLevelParams{Level: mcp.LoggingLevel(level)})
	}
}

// close ends the connection. It does not wait for the server; the bridge's end
// does, for as long as the SDK lets a server take.
func (l *link) close() {
	l.upstream.closing.Go(func() { _ = l.session.Close() })
}

// retire has the connection take no more exchanges. It is closed when the last
// one has ended, and not before: on a connection that is being closed the SDK
// drops what the server says and does not answer what it asks, so that a call
// which needs to know something of the client would wait for ever.
func (l *link) retire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if closed(l.retired) {
		return
	}
	close(l.retired)
	l.settle()
	l.upstream.closing.Go(func() {
		select {
		case <-l.idle:
		case <-l.grant.rest.Done():
		}
		l.withdraw()
		_ = l.session.Close()
	})
}

// withdrawal is how long a connection stays for what the SDK has to say of
// cancelled calls: it does so in the background, and not at all once the
// connection is being closed. It need only begin in that time.
const withdrawal = 500 * time.Millisecond

// withdraw waits until the server can have been told of the calls that nobody
// waits for any more. Without that it would go on with them.
func (l *link) withdraw() {
	l.mu.Lock()
	told := !l.broken && len(l.exchanges) == 0
	l.mu.Unlock()
	if told {
		return
	}
	select {
	case <-time.After(withdrawal):
	case <-l.gone:
	}
}

// dead reports whether the connection is gone or takes no more exchanges.
func (l *link) dead() bool { return closed(l.gone) || closed(l.retired) }

// closed reports whether c is.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// alive reports whether there is a connection that is not gone.
func (l *link) alive() bool { return l != nil && !l.dead() }

// capabilities returns what the server said that it can do, never nil.
func (l *link) capabilities() *mcp.ServerCapabilities {
	if caps := l.session.InitializeResult().Capabilities; caps != nil {
		return caps
	}
	return &mcp.ServerCapabilities{}
}
