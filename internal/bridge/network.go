// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/netguard"
)

const (
	// dialTimeout and handshakeTimeout bound reaching a server. They add up to
	// less than a person waits before trying again.
	dialTimeout      = 5 * time.Second
	handshakeTimeout = 5 * time.Second
	// idleTimeout is shorter than the minute after which common load balancers
	// drop an idle connection without a word.
	idleTimeout = 50 * time.Second
	// streamPatience is how long a server may take to begin its event stream.
	// Some gateways hold the stream's headers back until there is an event,
	// which would hold up the connection for ever.
	streamPatience = 5 * time.Second
	// maxRedirects is enough for a trailing slash and a change of scheme.
	maxRedirects = 2
)

// errNotPublic says that the guard refused an address. Users read it, so it
// names neither the address nor what resolved to it.
var errNotPublic = errors.New("the server's address is not public and the installation does not allow it")

// errPlain says that secrets would go over the public Internet for everybody on
// the way to read.
var errPlain = errors.New("the server's address is public and its URL is not https")

// outlets are the network below all upstream connections. They connect to what
// an Egress permits and to nothing else: the address is judged when it is
// dialled, so it does not matter how it is written, what a name resolves to the
// second time and where a redirect leads.
type outlets struct {
	any *http.Transport
	// private is for secrets that are sent without encryption. It has its own
	// connections: those of any may lead to public addresses.
	private *http.Transport
}

func newOutlets(e config.Egress) *outlets {
	rules, err := netguard.New(e.Allow, e.Deny, e.Unrestricted)
	if err != nil {
		rules = netguard.Rules{} // config.Validate lets none such through.
	}
	return &outlets{
		any:     newGuardedTransport(rules, nil, http.ProxyFromEnvironment),
		private: newPrivateTransport(rules, nil, http.ProxyFromEnvironment),
	}
}

func (o *outlets) close() {
	o.any.CloseIdleConnections()
	o.private.CloseIdleConnections()
}

// newGuardedTransport returns a network with the resolver, nil for the system's,
// and the choice of a proxy.
func newGuardedTransport(rules netguard.Rules, resolver *net.Resolver, proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	return newJudgedTransport(func(a netip.Addr) error {
		if !rules.Permits(a) {
			return errNotPublic
		}
		return nil
	}, resolver, guardedProxy(rules, proxy))
}

// newPrivateTransport is newGuardedTransport for requests with secrets that are
// not encrypted. A proxy is asked for addresses alone: where a name leads only
// the proxy knows.
func newPrivateTransport(rules netguard.Rules, resolver *net.Resolver, proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	judge := func(a netip.Addr) error {
		switch {
		case !rules.Permits(a):
			return errNotPublic
		case !rules.PermitsPlain(a):
			return errPlain
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
			return nil, errPlain
		}
		return through, nil
	})
}

func newJudgedTransport(judge func(netip.Addr) error, resolver *net.Resolver, proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second, Resolver: resolver}
	dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(address)
		if err != nil {
			return errNotPublic
		}
		return judge(a.Addr())
	}
	// There is no bound on the time to an answer: a tool may work for minutes.
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

// guardedProxy lets the proxies of the environment be used: whoever sets one for
// an installation has its connections go where the proxy decides. The proxy's
// own address must be permitted as any other. What is behind it only the proxy
// can judge, except that it is asked for no address that the rules refuse.
func guardedProxy(rules netguard.Rules, proxy func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(r *http.Request) (*url.URL, error) {
		through, err := proxy(r)
		if err != nil || through == nil {
			return nil, err
		}
		if !rules.PermitsHost(r.URL.Hostname()) {
			return nil, errNotPublic
		}
		return through, nil
	}
}

// discreet is an exit for requests with secrets: those that are not encrypted go
// to no public address.
type discreet struct{ *exit }

// RoundTrip implements http.RoundTripper.
func (d discreet) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "https" {
		return d.exit.RoundTrip(r)
	}
	return d.exit.current.Load().private.RoundTrip(r)
}

// towards returns the network to a server. What is granted a secret is sent it.
func (e *exit) towards(s config.Server) http.RoundTripper {
	credential := func(h config.Header) bool { return strings.EqualFold(h.Name, "Authorization") }
	if s.OAuth != nil || len(s.Secrets) > 0 || slices.ContainsFunc(s.Headers, credential) {
		return discreet{e}
	}
	return e
}

// newClient returns the HTTP client of one server's connections.
func newClient(next http.RoundTripper) *http.Client {
	return &http.Client{Transport: &tap{next: next}, CheckRedirect: sameHost}
}

// sameHost refuses redirects to another host, and from https to http: a request
// carries what the user meant for one server.
func sameHost(r *http.Request, via []*http.Request) error {
	first := originOf(via[0].URL.String())
	if len(via) > maxRedirects || !first.holds(r.URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

// confined refuses requests to elsewhere than a server: over HTTP+SSE the server
// itself says where messages for it go.
type confined struct {
	next   http.RoundTripper
	origin origin
}

var errElsewhere = errors.New("the server wants its messages sent to another server, which is refused")

// RoundTrip implements http.RoundTripper.
func (c *confined) RoundTrip(r *http.Request) (*http.Response, error) {
	if !c.origin.holds(r.URL) {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, errElsewhere
	}
	resp, err := c.next.RoundTrip(r)
	if err == nil && r.Method == http.MethodGet && resp.StatusCode == http.StatusOK {
		resp.Body = newEventBody(resp.Body, func(message []byte) []byte { return message })
	}
	return resp, err
}

// patience answers for a server that does not begin its event stream in time,
// by saying that it has none.
type patience struct {
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (p *patience) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		return p.next.RoundTrip(r)
	}
	ctx, cancel := context.WithCancel(r.Context())
	var late atomic.Bool
	timer := time.AfterFunc(streamPatience, func() {
		late.Store(true)
		cancel()
	})
	resp, err := p.next.RoundTrip(r.WithContext(ctx))
	if !timer.Stop() && late.Load() && r.Context().Err() == nil {
		if err == nil {
			_ = resp.Body.Close()
		}
		cancel()
		return noStream(r), nil
	}
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &cancelledBody{resp.Body, cancel}
	return resp, nil
}

func noStream(r *http.Request) *http.Response {
	return &http.Response{
		StatusCode: http.StatusMethodNotAllowed,
		Status:     "405 Method Not Allowed",
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     http.Header{},
		Body:       http.NoBody,
		Request:    r,
	}
}

// cancelledBody releases its request's context when it is closed.
type cancelledBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *cancelledBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// follow returns a context with the values of parent that also ends when
// trigger does. Requests to a server must not see the values of a client's
// request: the SDK keeps ids there.
func follow(parent, trigger context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(trigger, func() { cancel(context.Cause(trigger)) })
	return ctx, func() {
		stop()
		cancel(errDone)
	}
}

var errDone = errors.New("done")
