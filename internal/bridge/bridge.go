// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/health"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
)

const (
	// sessionTimeout ends a session that sent no request for that long. An open
	// event stream does not count, so it must outlast a client that only
	// listens; a day of working at a screen has no longer gaps.
	sessionTimeout = 2 * time.Hour
	// replayBytes bounds what is kept for clients whose stream broke and that
	// ask for the rest, over all sessions.
	replayBytes = 4 << 20
)

// implementation is how the bridge names itself where it speaks for itself.
var implementation = &mcp.Implementation{Name: "hosted-bridge", Version: "0.1.0"}

// quiet is the SDK's logger. What it says names sessions and tools and repeats
// what the bridge logs itself.
var quiet = slog.New(slog.DiscardHandler)

// Bridge is one user's bridge.
type Bridge struct {
	config  config.Config
	log     *slog.Logger
	options Options
	server  *mcp.Server

	ctx     context.Context // the bridge's life; requests to servers descend from it
	cancel  context.CancelFunc
	network *http.Transport
	done    sync.WaitGroup
	calls   calls

	// toClient sends a message to a client as it is.
	toClient mcp.MethodHandler

	granting sync.Mutex // held while the secrets are replaced

	mu        sync.Mutex
	upstreams []*upstream // replaced as a whole, never changed
	secrets   *secret.Set
	sessions  map[*mcp.ServerSession]*session
	catalog   *catalog
	headed    map[string]bool // tools registered for their argument headers
}

// Options are what a bridge is given besides its configuration.
type Options struct {
	// Log is required.
	Log *slog.Logger
	// SaveSecret stores a secret of the user, such as tokens that were
	// refreshed. Where it is nil they live as long as the process.
	SaveSecret func(ctx context.Context, name string, value []byte) error

	timing *timing // tests shorten it
}

// New returns a bridge that connects to its servers in the background until
// Close is called or ctx ends.
func New(ctx context.Context, c config.Config, o Options) *Bridge {
	log, t := o.Log, defaultTiming
	if o.timing != nil {
		t = *o.timing
	}
	b := &Bridge{
		config:   c,
		log:      log,
		options:  o,
		sessions: map[*mcp.ServerSession]*session{},
		catalog:  &catalog{},
		headed:   map[string]bool{},
	}
	ctx, b.cancel = context.WithCancel(ctx)
	b.ctx = ctx
	b.network = newTransport(c.Egress)
	b.server = b.newServer()
	for _, s := range c.Servers {
		u := newUpstream(s, b.network, t, log)
		u.grant = newGrant(ctx, s, nil, u.transport)
		u.over = ctx.Done()
		u.owner = &standIn{bridge: b, upstream: u}
		u.changed = b.listsChanged
		u.resumed = func() { b.resume(u) }
		b.upstreams = append(b.upstreams, u)
	}
	for _, u := range b.upstreams {
		b.done.Go(func() { u.run(b.ctx) })
	}
	return b
}

// servers returns the upstreams in the order of configuration. The slice must
// not be changed.
func (b *Bridge) servers() []*upstream {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.upstreams
}

func (b *Bridge) newServer() *mcp.Server {
	s := mcp.NewServer(implementation, &mcp.ServerOptions{
		Logger:             quiet,
		Capabilities:       allCapabilities(),
		CompletionHandler:  func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) { return nil, errNoSession },
		SubscribeHandler:   b.watch,
		UnsubscribeHandler: b.unwatch,
	})
	s.AddSendingMiddleware(b.send)
	s.AddReceivingMiddleware(b.receive)
	return s
}

// allCapabilities is what a bridge may offer while it does not know its
// servers.
func allCapabilities() *mcp.ServerCapabilities {
	return &mcp.ServerCapabilities{
		Completions: &mcp.CompletionCapabilities{},
		Logging:     &mcp.LoggingCapabilities{},
		Prompts:     &mcp.PromptCapabilities{ListChanged: true},
		Resources:   &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true},
		Tools:       &mcp.ToolCapabilities{ListChanged: true},
	}
}

// send keeps the way to a client. With one server, its own notifications reach
// a session on the session's connection, so the SDK's are dropped.
func (b *Bridge) send(next mcp.MethodHandler) mcp.MethodHandler {
	b.toClient = next
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if _, isChange := changeOf[method]; isChange && b.transparent() && eraOf(req) == legacy {
			return nil, nil
		}
		return next(ctx, method, req)
	}
}

// transparent reports whether everything passes unchanged.
func (b *Bridge) transparent() bool { return b.only() != nil }

// only returns the one server of a transparent bridge, else nil.
func (b *Bridge) only() *upstream {
	if upstreams := b.servers(); len(upstreams) == 1 {
		return upstreams[0]
	}
	return nil
}

// Handler returns the handler of the bridge's two paths, /u/{userID}/mcp and
// /health. Everything else is 404.
func (b *Bridge) Handler() http.Handler {
	endpoint := newEndpoint(b.server, &b.calls)
	path := "/u/" + b.config.UserID + "/mcp"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case path:
			endpoint.ServeHTTP(w, r)
		case "/health":
			b.serveHealth(w, r)
		default:
			http.NotFound(w, r)
		}
	})
}

// UseSecrets gives the servers what they are granted of set, which the bridge
// takes over. Only those for which something changes are connected to anew.
// Until the first call, servers that are granted secrets wait.
func (b *Bridge) UseSecrets(set *secret.Set) {
	b.granting.Lock()
	defer b.granting.Unlock()
	if b.ctx.Err() != nil {
		set.Wipe()
		return
	}
	for _, u := range b.servers() {
		u.regrant(b.ctx, set)
	}
	b.mu.Lock()
	before := b.secrets
	b.secrets = set
	b.mu.Unlock()
	before.Wipe()
}

// Health returns what is known of the servers. It asks none of them.
func (b *Bridge) Health() health.Report {
	upstreams := b.servers()
	servers := make(map[string]health.Server, len(upstreams))
	for _, u := range upstreams {
		servers[u.server.Name] = u.report()
	}
	report := health.Summarize(servers)
	b.mu.Lock()
	defer b.mu.Unlock()
	report.SecretsRevision = b.secrets.Revision()
	return report
}

// Drain waits until no client waits for an answer or ctx ends, and returns how
// many still wait. Clients that only listen are cut off by Close.
func (b *Bridge) Drain(ctx context.Context) int { return b.calls.wait(ctx) }

// Close ends all sessions and connections and waits until they are gone.
func (b *Bridge) Close() {
	b.granting.Lock()
	b.cancel()
	b.granting.Unlock()
	var closing sync.WaitGroup
	for s := range b.server.Sessions() {
		closing.Go(func() { _ = s.Close() })
	}
	closing.Wait()
	b.done.Wait()
	for _, u := range b.servers() {
		u.closing.Wait()
	}
	b.network.CloseIdleConnections()
	b.secrets.Wipe()
}

// open records a new legacy session until its client leaves.
func (b *Bridge) open(ss *mcp.ServerSession, who identity) *session {
	s := &session{bridge: b, client: ss, who: who, uplinks: map[*upstream]*uplink{}}
	b.mu.Lock()
	b.sessions[ss] = s
	b.mu.Unlock()
	b.done.Go(func() {
		_ = ss.Wait()
		b.mu.Lock()
		delete(b.sessions, ss)
		b.mu.Unlock()
		s.end()
	})
	return s
}

// resume has the sessions connect to u anew that wait for its resources: their
// clients may send no request for hours that would have them do so.
func (b *Bridge) resume(u *upstream) {
	b.mu.Lock()
	sessions := slices.Collect(maps.Values(b.sessions))
	b.mu.Unlock()
	for _, s := range sessions {
		b.done.Go(func() { s.resume(u) })
	}
}

func (b *Bridge) session(ss *mcp.ServerSession) *session {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sessions[ss]
}
