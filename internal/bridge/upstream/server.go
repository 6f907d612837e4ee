// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/budget"
	"github.com/hostedbridge/hostedbridge/internal/bridge/credential"
	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/fault"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/outputs"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// SharedBySessions reports whether legacy sessions also use the shared connection.
func (u *Server) SharedBySessions() bool { return u.Config.Kind() == bridgeconfig.Stdio }

// refusal returns the error of a server that g does not let connect.
func (u *Server) refusal(g *credential.Grant) *fault.Unavailable {
	e := &fault.Unavailable{Server: u.Config.Name, Reason: g.Fault}
	if g.Unconnected {
		e.ConnectURL = u.Config.ConnectURL
	}
	return e
}

// UseSecrets replaces the secrets of u. If the part that u may use has changed, u opens new
// connections; the previous ones close after their calls in flight. Otherwise nothing happens.
func (u *Server) UseSecrets(ctx context.Context, set *secret.Set) {
	next := credential.New(ctx, u.Config, set, u.transport)
	u.mu.Lock()
	before := u.grant
	if next.Waiting == before.Waiting && sameGrant(u, before.View, next.View) {
		// The values are equal, and the previous ones are about to be wiped.
		before.View = next.View
		u.mu.Unlock()
		next.Cut(fault.ErrStale)
		return
	}
	u.grant = next
	u.Availability.reason, u.Availability.expired = "", false // They are about the previous secrets.
	stale := u.links
	u.links = map[*Conn]bool{}
	// Before a connection can use the new grant.
	for l := range stale {
		l.Life.Retire()
	}
	var notes []string
	switch {
	case next.Fault != "":
		notes = u.Lists.withdraw(next.Fault)
	case before.Fault != "":
		u.Availability.begin(time.Now())
	}
	u.mu.Unlock()
	before.Expire(u.Timing.Grace)
	switch {
	case next.Fault != "":
		u.Log.Warn("server is out of service", "error", next.Fault)
	case !before.Waiting:
		u.Log.Info("the server's secrets changed, connecting with the new ones")
	}
	for _, note := range notes {
		u.Changed(u, note)
	}
}

// sameGrant reports whether the secrets of a server are unchanged. Tokens that the bridge itself
// has stored do not count as a change.
func sameGrant(u *Server, before, after secret.View) bool {
	if before.Equal(after) {
		return true
	}
	if u.Login == nil || u.Config.OAuth.Token == "" {
		return false
	}
	for _, name := range u.Config.Secrets {
		was, had := before.Lookup(name)
		is, has := after.Lookup(name)
		if before.Unreadable(name) != after.Unreadable(name) || had != has {
			return false
		}
		if was != is && (name != u.Config.OAuth.Token || !u.Login.Stored(is)) {
			return false
		}
	}
	return true
}

// Granted returns the current grant of u.
func (u *Server) Granted() *credential.Grant {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.grant
}

// addConn adds a connection that ends with its grant. It returns false if the grant has already
// ended.
func (u *Server) addConn(l *Conn) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if l.grant != u.grant {
		return false
	}
	if !inflight.Closed(l.Life.gone) { // else it is already lost, and nothing would remove it again
		u.links[l] = true
	}
	return true
}

// removeConn removes a closed connection.
func (u *Server) removeConn(l *Conn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.links, l)
}

// ReadListsSoon makes the bridge read the lists again soon.
func (u *Server) ReadListsSoon() {
	u.Changing.Do("lists", u.Timing.Pace, u.Over, func() {
		select {
		case u.Connector.refresh <- struct{}{}:
		default:
		}
	})
}

// SameConfig reports whether two parts of a configuration are equal. A nil list equals an empty
// one.
func SameConfig(x, y any) bool {
	a, errA := json.Marshal(x)
	b, errB := json.Marshal(y)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// Inherit copies the subscriptions of clients without a session, and the lists until the server
// has sent its own: changing a timeout should not remove the tools while the server reconnects. u
// must not be in use yet.
func (u *Server) Inherit(old *Server) {
	old.mu.Lock()
	defer old.mu.Unlock()
	u.Subscriptions.watching = old.Subscriptions.ofOthers()
	withdrawn := u.Config.Fault != ""
	if !old.grant.Waiting && old.grant.Fault == "" && (u.grant.Usable() || withdrawn) && SameConfig(sameServer(old.Config), sameServer(u.Config)) {
		u.Lists.Lists, u.Lists.introduction = maps.Clone(old.Lists.Lists), old.Lists.introduction
		if u.Lists.compareTools(u.Lists.Lists[methods.ListTools]) != "" {
			u.Lists.Lists, u.Lists.introduction = map[string][]Item{}, ""
		}
	}
	if withdrawn {
		u.Lists.withdraw(u.Config.Fault) // Its names still lead to it, which says why it does not answer.
	}
}

// sameServer returns the part of a server's configuration that identifies the server.
func sameServer(s bridgeconfig.Server) bridgeconfig.Server {
	return bridgeconfig.Server{Name: s.Name, Transport: s.Kind(), URL: s.URL, Program: s.Program}
}

// Dismiss ends the use of u for good. Its connections close when no calls are in flight, at the
// latest after grace.
func (u *Server) Dismiss(ctx context.Context, grace time.Duration) {
	last := credential.Removed(ctx)
	u.mu.Lock()
	before, links := u.grant, u.links
	u.grant, u.links = last, map[*Conn]bool{}
	for l := range links {
		l.Life.Retire()
	}
	u.mu.Unlock()
	u.Connector.publish(nil, true) // so that no request waits for this server
	before.Expire(grace)
}

// State returns in one word whether there is a connection, or would be one if it were needed.
func (u *Server) State(s health.Status) string {
	switch {
	case u.Peek().Alive():
		return "connected"
	case s == health.Healthy:
		return "idle"
	case u.Starting() != nil:
		return "starting"
	}
	return "disconnected"
}

// Options are the settings of a server's connections that are not part of its configuration.
type Options struct {
	Timing Timing
	// Network is the transport below the connections.
	Network http.RoundTripper
	Log     *slog.Logger
	// Login is the login of a server with OAuth, else nil. Several servers may share it.
	Login *credential.Login
	// Secrets are the user's secrets, nil until they arrive.
	Secrets *secret.Set
	// Owner handles the messages on the shared connection.
	Owner RequestHandler
	// HopID is the bridge's id in lists of hops.
	HopID string
	// Runs starts the server's program, if it has one.
	Runs credential.Runner
	// Memory is for the messages of all servers.
	Memory *budget.Budget
	// Closing counts the closing connections of all servers: a server may leave the configuration
	// before its connections are closed.
	Closing *sync.WaitGroup
	// Changed is called after the lists changed.
	Changed func(u *Server, note string)
	// Resumed is called after the shared connection was opened.
	Resumed func(u *Server)
	// Settled is called after the shared connection was opened or closed, or could not be opened.
	Settled func()
	// Observed is called after the server was found available or not.
	Observed func()
}

// Server is one server: its shared connection, its lists and its health.
type Server struct {
	Options
	Config bridgeconfig.Server
	// transport is the network below the connections, with the login.
	transport http.RoundTripper
	// Over is closed when the bridge ends.
	Over <-chan struct{}

	Changing inflight.Throttle // limits how often changed lists are read
	// Outputs are the output schemas of the tools.
	Outputs outputs.Outputs

	asks *inflight.AskLimit

	mu    sync.Mutex
	grant *credential.Grant
	links map[*Conn]bool // the connections of the current grant

	// mu guards all parts of the server.
	Connector     Connector
	Lists         Lists
	Availability  Availability
	Subscriptions Subscriptions
}

// New returns the connections to a server. They end with life.
func New(life context.Context, s bridgeconfig.Server, o Options) *Server {
	o.Timing.Connect = connectTimeout(s, o.Timing.Connect)
	o.Log = o.Log.With("server", s.Name)
	u := &Server{Options: o, Config: s, Over: life.Done(), links: map[*Conn]bool{}}
	u.Connector = Connector{server: u, kick: make(chan struct{}, 1), refresh: make(chan struct{}, 1), settled: make(chan struct{})}
	u.asks = inflight.NewAskLimit()
	u.Lists.server, u.Lists.Lists = u, map[string][]Item{}
	u.Lists.changes.Store(1)
	u.Availability = Availability{server: u}
	u.Subscriptions = Subscriptions{server: u, watching: map[string]*subscription{}, followers: map[message.Client]map[string]bool{}}
	u.transport = o.Network
	if o.Login != nil {
		// Requests to the server carry the login's token.
		u.transport = &egress.OriginTransport{Server: o.Login.Transport(u.transport), Others: u.transport, Origin: egress.OriginOf(s.URL)}
	}
	u.grant = credential.New(life, s, o.Secrets, u.transport)
	u.Availability.begin(time.Now())
	return u
}

// Connections returns the number of connections to the server.
func (u *Server) Connections() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.links)
}

// Dial opens one connection for another client than the bridge itself.
func (u *Server) Dial(ctx context.Context, who ClientIdentity, p RequestHandler) (*Conn, error) {
	l, err := Dial(ctx, u, u.Granted(), who, p)
	if errors.Is(err, fault.ErrStale) {
		// The secrets have just changed; they do not change twice in a row.
		l, err = Dial(ctx, u, u.Granted(), who, p)
	}
	return l, err
}

// Shared returns the shared connection of a server in service. It waits a limited time for a
// server that is not connected.
func (u *Server) Shared(ctx context.Context) (*Conn, error) {
	l, err := u.joined(ctx)
	if err == nil {
		err = u.Availability.ToolsMismatch()
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// joined is like Shared, but also works for a server whose tools differ from the audited ones.
func (u *Server) joined(ctx context.Context) (*Conn, error) {
	timer := time.NewTimer(u.Timing.Wait)
	defer timer.Stop()
	first := -1
	for {
		now := u.Connector.look(&first)
		if now.link != nil || now.failure != nil {
			return now.link, now.failure
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
			return nil, now.away
		case <-now.settled:
		}
	}
}

// Peek returns the shared connection, or nil.
func (u *Server) Peek() *Conn {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.Connector.link
}

// Starting returns the error of a server that is starting: one that is in service, and to which no
// attempt to connect has ended since it is configured or has its secrets. It is nil for others.
func (u *Server) Starting() *fault.Starting {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.Availability.starting(time.Now())
}
