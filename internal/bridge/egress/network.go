// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/netguard"
)

const (
	// dialTimeout and handshakeTimeout limit the time to connect to a server. Their sum is shorter
	// than the time after which a person tries again.
	dialTimeout      = 5 * time.Second
	handshakeTimeout = 5 * time.Second
	// idleTimeout is shorter than the minute after which common load balancers silently drop an
	// idle connection.
	idleTimeout = 50 * time.Second
	// maxRedirects is enough for a trailing slash and a change of scheme.
	maxRedirects = 2
)

// ErrNotPublic says that the guard refused an address. Users read it, so it contains neither the
// address nor the host name.
var ErrNotPublic = errors.New("the server's address is not public and the installation does not allow it")

// ErrPlain says that secrets would cross the public Internet unencrypted.
var ErrPlain = errors.New("the server's address is public and its URL is not https")

// transports are the network below all upstream connections. They connect only to addresses that
// an Egress permits. The address is checked when it is dialled, so neither its notation, nor a
// second DNS answer, nor a redirect can bypass the check.
type transports struct {
	any *http.Transport
	// private serves requests with unencrypted secrets. It has its own connections, because
	// connections of any may lead to public addresses.
	private *http.Transport
}

func newTransports(e bridgeconfig.Egress) *transports {
	rules, err := netguard.New(e.Allow, e.Deny, e.Unrestricted)
	if err != nil {
		rules = netguard.Rules{} // bridgeconfig.Validate refuses such rules.
	}
	return &transports{
		any:     newGuardedTransport(rules, nil, http.ProxyFromEnvironment),
		private: newPrivateTransport(rules, nil, http.ProxyFromEnvironment),
	}
}

func (o *transports) close() {
	o.any.CloseIdleConnections()
	o.private.CloseIdleConnections()
}

// newGuardedTransport returns a network with the resolver (nil for the system's) and the proxy
// function.
func newGuardedTransport(rules netguard.Rules, resolver *net.Resolver, proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	return newJudgedTransport(func(a netip.Addr) error {
		if !rules.Permits(a) {
			return ErrNotPublic
		}
		return nil
	}, resolver, guardedProxy(rules, proxy))
}

// newPrivateTransport is newGuardedTransport for requests with unencrypted secrets. Through a
// proxy it permits only IP addresses, because only the proxy knows how a name resolves.
func newPrivateTransport(rules netguard.Rules, resolver *net.Resolver, proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	judge := func(a netip.Addr) error {
		switch {
		case !rules.Permits(a):
			return ErrNotPublic
		case !rules.PermitsPlain(a):
			return ErrPlain
		}
		return nil
	}
	guarded := guardedProxy(rules, proxy)
	return newJudgedTransport(judge, resolver, func(r *http.Request) (*url.URL, error) {
		through, err := guarded(r)
		if err != nil || through == nil {
			return nil, err
		}
		if a, err := netip.ParseAddr(r.URL.Hostname()); err != nil || judge(a) != nil {
			return nil, ErrPlain
		}
		return through, nil
	})
}

func newJudgedTransport(judge func(netip.Addr) error, resolver *net.Resolver, proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second, Resolver: resolver}
	dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(address)
		if err != nil {
			return ErrNotPublic
		}
		return judge(a.Addr())
	}
	// The time to an answer is not limited: a tool may work for minutes.
	return &http.Transport{
		Proxy:               proxy,
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        64,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     idleTimeout,
		TLSHandshakeTimeout: handshakeTimeout,
	}
}

// guardedProxy permits the proxies of the environment: an administrator who sets a proxy lets it
// decide where connections go. The proxy's own address must be permitted like any other. Only the
// proxy can check the target, but addresses that the rules refuse are never sent to it.
func guardedProxy(rules netguard.Rules, proxy func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(r *http.Request) (*url.URL, error) {
		through, err := proxy(r)
		if err != nil || through == nil {
			return nil, err
		}
		if !rules.PermitsHost(r.URL.Hostname()) {
			return nil, ErrNotPublic
		}
		return through, nil
	}
}

// ConfidentialNetwork is a network for requests with secrets: it refuses unencrypted requests to
// public addresses.
type ConfidentialNetwork struct{ *Network }

// RoundTrip implements http.RoundTripper.
func (d ConfidentialNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "https" {
		return d.Network.RoundTrip(r)
	}
	return d.Network.current.Load().private.RoundTrip(r)
}

// Towards returns the network to a server. A server with secrets gets the confidential network.
func (e *Network) Towards(s bridgeconfig.Server) http.RoundTripper {
	credential := func(h bridgeconfig.Header) bool { return strings.EqualFold(h.Name, "Authorization") }
	if s.OAuth != nil || len(s.Secrets) > 0 || slices.ContainsFunc(s.Headers, credential) {
		return ConfidentialNetwork{e}
	}
	return e
}

// CheckRedirect refuses redirects to another host, and from https to http: the user meant the
// request's data for one server.
func CheckRedirect(r *http.Request, via []*http.Request) error {
	first := OriginOf(via[0].URL.String())
	if len(via) > maxRedirects || !first.Contains(r.URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

// ConfinedTransport refuses requests to other origins than the server's: over HTTP+SSE the server
// itself chooses the URL for messages.
type ConfinedTransport struct {
	Next   http.RoundTripper
	Origin Origin
}

// ErrElsewhere says that a server chose a URL of another origin for its messages.
var ErrElsewhere = errors.New("the server wants its messages sent to another server, which is refused")

// RoundTrip implements http.RoundTripper.
func (c *ConfinedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !c.Origin.Contains(r.URL) {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, ErrElsewhere
	}
	return c.Next.RoundTrip(r)
}

// FollowContext returns a context with the values of parent that also ends when trigger ends.
// Requests to a server must not carry the values of a client's request.
func FollowContext(parent, trigger context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(trigger, func() { cancel(context.Cause(trigger)) })
	return ctx, func() {
		stop()
		cancel(ErrDone)
	}
}

// ErrDone ends a context that is no longer needed.
var ErrDone = errors.New("done")

// Network is where connections leave the bridge. Its rules can be replaced; new rules apply to new
// connections.
type Network struct {
	current atomic.Pointer[transports]
}

// NewNetwork returns a network that permits what the rules allow.
func NewNetwork(rules bridgeconfig.Egress) *Network {
	e := &Network{}
	e.current.Store(newTransports(rules))
	return e
}

// RoundTrip implements http.RoundTripper.
func (e *Network) RoundTrip(r *http.Request) (*http.Response, error) {
	return e.current.Load().any.RoundTrip(r)
}

// UseRules replaces the rules. Requests in flight finish under the previous rules, and their
// connections are not reused.
func (e *Network) UseRules(rules bridgeconfig.Egress) {
	e.current.Swap(newTransports(rules)).close()
}

// Close closes all idle connections.
func (e *Network) Close() { e.current.Load().close() }
