// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/credential"
	"github.com/hostedbridge/hostedbridge/internal/bridge/egress"
	"github.com/hostedbridge/hostedbridge/internal/bridge/inflight"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// serverSet holds the configured servers.
type serverSet struct {
	life     *life
	timing   upstream.Timing
	network  *egress.Network
	logins   *credential.Logins
	closing  sync.WaitGroup // closing connections to servers
	granting sync.Mutex     // held while the secrets or the configuration are replaced

	mu       sync.Mutex          // guards what follows
	settings bridgeconfig.Config // the current configuration
	// configuration is the digest of settings.
	configuration string
	upstreams     []*upstream.Server // replaced as a whole, never changed
	lifecycles    map[*upstream.Server]*lifecycle
	secrets       *secret.Set
	used          map[string]time.Time // when a server was last used, by name

	starts starts
}

// servers returns the upstreams in the order of the configuration. The slice must not be changed.
func (v *serverSet) servers() []*upstream.Server {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.upstreams
}

// config returns the current configuration.
func (v *serverSet) config() bridgeconfig.Config {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.settings
}

// current returns the configuration and its upstreams, which must not be changed.
func (v *serverSet) current() (bridgeconfig.Config, []*upstream.Server) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.settings, v.upstreams
}

// state returns the upstreams, when each was last used, by name, and the revision of the secrets.
func (v *serverSet) state() (upstreams []*upstream.Server, used map[string]time.Time, revision string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.upstreams, maps.Clone(v.used), v.secrets.Revision()
}

// useSecrets replaces the secrets, and returns those of before.
func (v *serverSet) useSecrets(set *secret.Set) (before *secret.Set) {
	v.mu.Lock()
	defer v.mu.Unlock()
	before, v.secrets = v.secrets, set
	return before
}

// transparent reports whether messages pass unchanged.
func (v *serverSet) transparent() bool { return v.only() != nil }

// only returns the one server of a transparent bridge, else nil.
func (v *serverSet) only() *upstream.Server {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.upstreams) == 1 && v.settings.Single() && v.settings.Mode != bridgeconfig.Router {
		return v.upstreams[0]
	}
	return nil
}

// routerMode reports whether clients see one tool instead of the tools of all servers.
func (v *serverSet) routerMode() bool { return v.config().Mode == bridgeconfig.Router }

// namesDependOnOrder reports whether a name may depend on which servers are already connected:
// this is the case if only the order tells equal names apart.
func (v *serverSet) namesDependOnOrder() bool {
	return v.config().ToolPrefix == bridgeconfig.PrefixNever
}

// lifecycle is the state of a configured server in use.
type lifecycle struct {
	end  context.CancelFunc // ends the upstream's run
	busy int                // number of requests in flight to it
	over bool               // whether it was removed from the configuration
	idle chan struct{}      // closed when it is removed and not busy
}

// settle closes idle if no more requests are in flight. The caller holds serverSet.mu.
func (l *lifecycle) settle() {
	if l.over && l.busy == 0 && !inflight.Closed(l.idle) {
		close(l.idle)
	}
}

// runServer connects u in the background until its life or ctx ends.
func (v *serverSet) runServer(ctx context.Context, u *upstream.Server) {
	ctx, end := context.WithCancel(ctx)
	v.mu.Lock()
	v.lifecycles[u] = &lifecycle{end: end, idle: make(chan struct{})}
	v.mu.Unlock()
	v.life.run(func() {
		defer end()
		u.Connector.Run(ctx)
	})
}

// enter counts a request as in flight to u until leave is called. It returns false if u is no
// longer configured.
func (v *serverSet) enter(u *upstream.Server, method string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	l := v.lifecycles[u]
	if l == nil || l.over {
		return false
	}
	l.busy++
	if methods.Of(method).Names != methods.Nothing {
		v.used[u.Config.Name] = time.Now()
	}
	return true
}

// leave ends the count that enter started.
func (v *serverSet) leave(u *upstream.Server) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if l := v.lifecycles[u]; l != nil {
		l.busy--
		l.settle()
	}
}

// successor returns the server that now replaces u, or nil.
func (v *serverSet) successor(u *upstream.Server) *upstream.Server {
	for _, other := range v.servers() {
		if other != u && other.Config.Name == u.Config.Name {
			return other
		}
	}
	return nil
}
