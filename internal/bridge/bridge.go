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
	"go.opentelemetry.io/otel/trace"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/health"
	"github.com/hostedbridge/hostedbridge/internal/bridge/oauth"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/version"
)

const (
	// sessionTimeout ends a session that sent no request for that long and has no
	// open event stream. Its id restores it, at the price of a new connection to
	// each server; a day of working at a screen has no longer gaps.
	sessionTimeout = 2 * time.Hour
	// replayBytes bounds what is kept for clients whose stream broke and that
	// ask for the rest, over all sessions.
	replayBytes = 4 << 20
)

// implementation is how the bridge names itself where it speaks for itself.
var implementation = &mcp.Implementation{Name: "hosted-bridge", Version: version.String()}

// quiet is the SDK's logger. What it says names sessions and tools and repeats
// what the bridge logs itself.
var quiet = slog.New(slog.DiscardHandler)

// Bridge is one user's bridge.
type Bridge struct {
	// config is what the bridge began with. Its UserID and BridgeUID stay.
	config  config.Config
	timing  timing
	log     *slog.Logger
	options Options
	server  *mcp.Server

	ctx     context.Context // the bridge's life; requests to servers descend from it
	cancel  context.CancelFunc
	network *exit
	logins  *logins
	done    sync.WaitGroup
	closing sync.WaitGroup // of connections to servers
	calls   calls
	// policies is the state of what is configured for the servers.
	policies policies

	// toClient sends a message to a client as it is.
	toClient mcp.MethodHandler
	// signing is that of what clients bring back.
	signing *signing
	// parking and capable are for modern clients that a legacy server may ask.
	parking *parking
	capable *capable

	granting sync.Mutex // held while the secrets or the configuration are replaced

	heading sync.Mutex      // held while tools are registered for their argument headers
	headed  map[string]bool // those that are

	mu        sync.Mutex
	settings  config.Config // as it is now
	upstreams []*upstream   // replaced as a whole, never changed
	lives     map[*upstream]*life
	secrets   *secret.Set
	sessions  map[*mcp.ServerSession]*session
	catalog   *catalog
	registers map[string]*register // of names, by list method
	used      map[string]time.Time // when a server was last used, by name
	recent    []string             // the servers of the last calls in mode Router, newest last
}

// Options are what a bridge is given besides its configuration.
type Options struct {
	// Log is required.
	Log *slog.Logger
	// SaveSecret stores a secret of the user, such as tokens that were
	// refreshed. Where it is nil they live as long as the process.
	SaveSecret func(ctx context.Context, name string, value []byte) error
	// Turn has processes that share the secrets refresh a login one after the
	// other. Where it is nil there are no others.
	Turn oauth.TurnFunc

	// Tracer begins the spans of what clients ask for. Where it is nil there are
	// none, and a trace that a client has begun is only passed on.
	Tracer trace.Tracer

	timing   *timing // tests shorten it
	runs     runner  // what runs programs, where tests replace it
	thorough bool    // all goes through the whole of the SDK: tests compare with that
}

// New returns a bridge that connects to its servers in the background until
// Close is called or ctx ends.
func New(ctx context.Context, c config.Config, o Options) *Bridge {
	t := defaultTiming
	if o.timing != nil {
		t = *o.timing
	}
	b := &Bridge{
		config:    c,
		settings:  c,
		timing:    t,
		log:       o.Log,
		options:   o,
		headed:    map[string]bool{},
		lives:     map[*upstream]*life{},
		sessions:  map[*mcp.ServerSession]*session{},
		registers: newRegisters(),
		used:      map[string]time.Time{},
	}
	ctx, b.cancel = context.WithCancel(ctx)
	b.ctx = ctx
	b.network = newExit(c.Egress)
	b.logins = newLogins(o, authorizing{discreet{b.network}})
	b.signing = newSigning(c)
	b.parking, b.capable = newParking(), newCapable(b)
	b.server = b.newServer()
	for _, s := range c.Servers {
		b.upstreams = append(b.upstreams, b.newServerOf(s))
	}
	b.mu.Lock()
	b.rebuild()
	b.mu.Unlock()
	for _, u := range b.upstreams {
		b.runServer(ctx, u)
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
	s.AddReceivingMiddleware(b.observe, b.receive)
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
	next = b.heed(next)
	b.toClient = next
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if _, isChange := changeOf[method]; isChange && b.transparent() && b.listens(req) {
			return nil, nil
		}
		return next(ctx, method, req)
	}
}

// listens reports whether the session hears of changes from a transparent
// bridge's server. One that began when there were several does not.
func (b *Bridge) listens(req mcp.Request) bool {
	ss, ok := req.GetSession().(*mcp.ServerSession)
	if !ok || eraOf(req) != legacy {
		return false
	}
	s := b.session(ss)
	return s == nil || s.who.watch
}

// transparent reports whether everything passes unchanged.
func (b *Bridge) transparent() bool { return b.only() != nil }

// only returns the one server of a transparent bridge, else nil.
func (b *Bridge) only() *upstream {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.upstreams) == 1 && b.settings.Mode != config.Router {
		return b.upstreams[0]
	}
	return nil
}

// Handler returns the handler of the bridge's paths: /u/{userID}/mcp,
// /u/{userID}/sse for clients of the transport of 2024-11-05, and /health.
// Everything else is 404.
func (b *Bridge) Handler() http.Handler {
	endpoint, sse := newEndpoint(b), newSSE(b)
	user := "/u/" + b.config.UserID
	return b.recorded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case user + "/mcp":
			endpoint.ServeHTTP(w, r)
		case user + "/sse":
			sse.ServeHTTP(w, r)
		case "/health":
			b.serveHealth(w, r)
		default:
			http.NotFound(w, r)
		}
	}))
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
	// First, so that no new connection begins with the tokens of a former login.
	b.logins.use(set)
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
	b.mu.Lock()
	upstreams, used, c, revision := b.upstreams, maps.Clone(b.used), b.catalog, b.secrets.Revision()
	b.mu.Unlock()
	servers := make(map[string]health.Server, len(upstreams))
	for _, u := range upstreams {
		s := u.report()
		s.Transport = string(u.server.Kind())
		s.Tools = min(s.Tools, len(u.offered(methodListTools)))
		if at, ok := used[u.server.Name]; ok {
			s.LastUsed = &at
		}
		servers[u.server.Name] = s
	}
	report := health.Summarize(servers)
	report.SecretsRevision = revision
	report.Renamed = c.renamed
	report.Busy = b.calls.inFlight() + b.parking.size()
	return report
}

// Served returns how many calls of clients have begun since the start.
func (b *Bridge) Served() uint64 { return b.calls.served() }

// Drain waits until no client waits for an answer or ctx ends, and returns how
// many still wait. Clients that only listen are cut off by Close.
func (b *Bridge) Drain(ctx context.Context) int { return b.calls.wait(ctx) }

// Close ends all sessions and connections and waits until they are gone.
func (b *Bridge) Close() {
	b.granting.Lock()
	b.mu.Lock()
	b.cancel()
	b.mu.Unlock()
	b.granting.Unlock()
	var closing sync.WaitGroup
	for s := range b.server.Sessions() {
		closing.Go(func() { _ = s.Close() })
	}
	closing.Wait()
	b.done.Wait()
	b.closing.Wait()
	b.logins.wipe() // which may store tokens first
	b.network.close()
	b.secrets.Wipe()
}

// open records a new legacy session until its client leaves. One that is opened
// while the bridge is closed, which Close may not see, ends at once.
func (b *Bridge) open(ss *mcp.ServerSession, who identity) *session {
	s := &session{bridge: b, client: ss, who: who, uplinks: map[*upstream]*uplink{}}
	stop := context.AfterFunc(b.ctx, func() { _ = ss.Close() })
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		s.ended = true
		return s
	}
	b.sessions[ss] = s
	b.done.Go(func() {
		_ = ss.Wait()
		stop()
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
		b.done.Go(func() {
			s.resume(u)
			s.loggedIn(u.server.Name)
		})
	}
}

func (b *Bridge) session(ss *mcp.ServerSession) *session {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sessions[ss]
}
