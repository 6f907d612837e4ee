// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/trace"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/bridge/budget"
	"github.com/hostedbridge/hostedbridge/internal/bridge/callaudit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/credential"
	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inputrequired"
	"github.com/hostedbridge/hostedbridge/internal/bridge/oauth"
	"github.com/hostedbridge/hostedbridge/internal/bridge/pipeline"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridge/serverlists"
	"github.com/hostedbridge/hostedbridge/internal/bridge/session"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stateless"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/bridge/suspects"
	"github.com/hostedbridge/hostedbridge/internal/bridge/toolrouter"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// Bridge is one user's bridge.
type Bridge struct {
	// config is the configuration at the start. Its UserID and BridgeUID never change.
	config  bridgeconfig.Config
	options Options

	life     *life
	memory   *budget.Budget
	audit    *callaudit.Trail
	pipeline *pipeline.Pipeline
	router   *toolrouter.Router

	// Each part knows those before it alone.
	set       serverSet
	status    statusTool
	directory directory
	clients   clientSet
	delivery  delivery
	handshake handshake

	standAlone *standAlone
}

// Options are the settings of a bridge that are not part of its configuration.
type Options struct {
	// Log is required.
	Log *slog.Logger
	// SaveSecret stores a secret of the user, such as refreshed tokens. If it is nil, refreshed
	// tokens are lost when the process ends.
	SaveSecret func(ctx context.Context, name string, value []byte) error
	// Turn makes processes that share the secrets refresh a login one after the other. Leave it
	// nil if no other process uses the secrets.
	Turn oauth.TurnFunc

	// Suspects, if set, records which server most likely ends the process if it ends now.
	Suspects *suspects.Watch

	// FetchBundle returns when the files of a program are there that the installation keeps. It is
	// nil where programs have their own.
	FetchBundle credential.FetchBundle

	// Tracer starts a span for each request of a client. If it is nil, the bridge creates no spans
	// and only passes on the client's trace.
	Tracer trace.Tracer

	// Memory is how many bytes the process may use, 0 if nothing limits it.
	Memory int64

	patience time.Duration // how long messages wait for memory; tests shorten it

	timing *upstream.Timing  // tests shorten it
	runs   credential.Runner // starts programs; tests replace it
}

// New returns a bridge that connects to its servers in the background until
// Close is called or ctx ends.
func New(ctx context.Context, c bridgeconfig.Config, o Options) *Bridge {
	t := upstream.DefaultTiming
	if o.timing != nil {
		t = *o.timing
	}
	ctx, cancel := context.WithCancel(ctx)
	b := &Bridge{config: c, options: o, life: &life{ctx: ctx, cancel: cancel}, memory: budget.New(o.Memory, cmp.Or(o.patience, budget.Patience))}
	network := egress.NewNetwork(c.Egress)
	authorization := egress.AuthorizationNetwork{Next: egress.ConfidentialNetwork{Network: network}}
	b.set.life, b.set.timing, b.set.settings, b.set.network = b.life, t, c, network
	b.set.logins = credential.NewLogins(o.SaveSecret, o.Turn, authorization)
	b.set.lifecycles, b.set.used = map[*upstream.Server]*lifecycle{}, map[string]time.Time{}
	b.set.configuration = digestOf(c)
	b.status.life, b.status.set, b.status.changed = b.life, &b.set, func() { b.listChanged(methods.ToolsChanged) }
	b.directory.set, b.directory.status, b.directory.registries = &b.set, &b.status, serverlists.NewRegistries()
	b.clients.life, b.clients.set, b.clients.directory = b.life, &b.set, &b.directory
	b.clients.sessions, b.clients.signing = map[*session.Session]*clientSession{}, session.NewSigning(c)
	b.clients.changes = map[string]bool{}
	b.clients.listeners = &stateless.Listeners{Subscribe: b.clients.subscribe, Outdated: b.set.outdated}
	b.delivery.set = &b.set
	b.handshake = handshake{o.Log, &b.set}
	b.audit = callaudit.NewTrail(o.Log, o.Tracer, b.memory, func(p *mcp.CallToolParamsRaw) string { return b.router.Action(p) })
	b.pipeline = pipeline.New(ctx, b.audit, b.set.servers, b.delivery.deliver)
	b.pipeline.Relisted = func() {
		b.directory.reload(methods.ToolsChanged)
		b.clients.changed(methods.ToolsChanged)
	}
	b.clients.observe = b.pipeline.Sending
	b.router = toolrouter.New(toolrouter.Host{
		Enabled: b.set.routerMode, Servers: b.set.servers, Catalog: b.directory.currentCatalog,
		AwaitStart: b.set.awaitStart, AwaitLists: b.set.awaitLists,
		Enter: b.set.enter, Leave: b.set.leave, Forward: b.pipeline.Forward, Forget: b.pipeline.Policies.Forget, Health: b.Health,
	})
	b.delivery.suspended = inputrequired.NewSuspendedCalls(ctx, b.life.run, b.clients.signing)
	b.standAlone = newStandAlone(b)
	b.delivery.pool = inputrequired.NewPool(ctx, b.life.run)
	for _, s := range c.Servers {
		b.set.upstreams = append(b.set.upstreams, b.newServerOf(s))
	}
	b.directory.reload("")
	for _, u := range b.set.upstreams {
		b.set.runServer(ctx, u)
	}
	b.status.check()
	return b
}

// newServerOf returns the upstream of a server. runServer starts it.
func (b *Bridge) newServerOf(s bridgeconfig.Server) *upstream.Server {
	b.set.mu.Lock()
	secrets := b.set.secrets
	b.set.mu.Unlock()
	runs := b.options.runs
	if runs == nil {
		runs = credential.RunProgram
	}
	if fetch := b.options.FetchBundle; fetch != nil {
		runs = runs.AfterFetch(fetch)
	}
	watch := b.options.Suspects
	counted := func(p *bridgeconfig.Program, l stdio.Launch, log *slog.Logger) client.Dialer {
		return watch.Program(s.Name, runs(p, l, log))
	}
	return upstream.New(b.life.ctx, s, upstream.Options{
		Timing: b.set.timing, Network: watch.Network(s.Name, b.set.network.Towards(s)), Log: b.options.Log,
		Login: b.set.logins.For(s.OAuth), Secrets: secrets, Owner: &sharedHandler{&b.set, &b.clients, b.pipeline.Policies.Updated}, HopID: b.hopID(), Runs: counted,
		Memory:  b.memory,
		Closing: &b.set.closing, Changed: func(_ *upstream.Server, note string) { b.listChanged(note) }, Resumed: b.clients.resume,
		Settled: func() { b.set.starts.announce(true); b.status.check() }, Observed: b.status.check,
	})
}

// listChanged reads the changed list of a server, and tells clients.
func (b *Bridge) listChanged(note string) {
	if b.directory.reload(note) {
		b.clients.listChanged(note)
	}
}

// Handler returns the handler of the bridge's paths: /u/{userID}/mcp,
// /u/{userID}/sse for clients of the transport of 2024-11-05, /health and /tools.
// Everything else is 404.
func (b *Bridge) Handler() http.Handler {
	endpoint, sse := session.NewEndpoint(b.host(), b.standAlone), session.NewSSE(b.host())
	user := "/u/" + b.config.UserID
	return b.audit.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !b.roomFor(w, r) {
			return
		}
		switch r.URL.Path {
		case user + "/mcp":
			if !b.set.declines(w, r) {
				endpoint.ServeHTTP(w, r)
			}
		case user + "/sse":
			sse.ServeHTTP(w, r)
		case "/health":
			b.serveHealth(w, r)
		case "/tools":
			b.directory.serveTools(w, r)
		default:
			http.NotFound(w, r)
		}
	}))
}

// UseSecrets gives each server the secrets of set that it may use. The bridge takes ownership of
// set. Only servers whose secrets changed are reconnected. Servers that need secrets wait until
// the first call.
func (b *Bridge) UseSecrets(set *secret.Set) {
	b.set.granting.Lock()
	defer b.set.granting.Unlock()
	if b.life.ctx.Err() != nil {
		set.Wipe()
		return
	}
	// Logins first, so that no new connection starts with the tokens of a previous login.
	b.set.logins.Use(set)
	for _, u := range b.set.servers() {
		u.UseSecrets(b.life.ctx, set)
	}
	b.set.useSecrets(set).Wipe()
	b.status.check()
}

// Health returns the last known state of the servers. It sends them no request.
func (b *Bridge) Health() health.Report {
	upstreams, used, revision := b.set.state()
	c := b.directory.currentCatalog()
	servers := make(map[string]health.Server, len(upstreams))
	for _, u := range upstreams {
		s := u.Availability.Report()
		s.Transport, s.UnfitResults = string(u.Config.Kind()), u.Outputs.Unfit()
		s.Tools = min(s.Tools, len(u.Lists.Offered(methods.ListTools)))
		if at, ok := used[u.Config.Name]; ok {
			s.LastUsed = &at
		}
		servers[u.Config.Name] = s
	}
	report := health.Summarize(servers)
	report.SecretsRevision = revision
	report.Renamed = c.Renamed
	report.Busy = b.clients.calls.InFlight() + b.delivery.suspended.Len()
	return report
}

// Served returns the number of client calls since the start.
func (b *Bridge) Served() uint64 { return b.clients.calls.Served() }

// Drain waits until all calls have their answers or ctx ends, and returns the number of unfinished
// calls. Streams on which clients only listen do not count; Close ends them.
func (b *Bridge) Drain(ctx context.Context) int { return b.clients.calls.Wait(ctx) }

// Close ends all sessions and connections and waits until they are gone.
func (b *Bridge) Close() {
	b.set.granting.Lock()
	b.life.end()
	b.set.granting.Unlock()
	b.life.done.Wait()
	b.set.closing.Wait()
	b.set.logins.Wipe() // Wipe may first store tokens that are not stored yet.
	b.set.network.Close()
	b.set.secrets.Wipe()
}

// UseSessionKeys sets the keys that sign session ids. The first key signs; all keys verify.
// Sessions survive a restart of the process only after this was called. Each key has at least 32
// bytes.
func (b *Bridge) UseSessionKeys(keys [][]byte) {
	if len(keys) > 0 {
		b.clients.signing.Use(keys)
	}
}

// ServeStdio serves one client of either era over a pair of pipes, one message a line, until the client
// leaves, ctx ends or the bridge closes. It returns an error if a pipe breaks.
func (b *Bridge) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return b.host().ServeStdio(ctx, in, out)
}

// serveHealth answers GET /health.
func (b *Bridge) serveHealth(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(jsondoc.EncodeExact(b.Health()))
}

// host returns the functions of the bridge that client sessions use.
func (b *Bridge) host() session.Host {
	return session.Host{
		Life: b.life.ctx, Signing: b.clients.signing, Calls: &b.clients.calls, Audit: b.audit,
		Run: b.life.run, Restored: b.clients.restored, Answer: b.inSession, Alone: b.standAlone.handler.Ask,
	}
}
