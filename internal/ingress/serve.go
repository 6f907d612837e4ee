// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
)

const (
	// readHeaderTimeout ends connections that open and send nothing.
	readHeaderTimeout = 10 * time.Second
	// maxHeader is 32 KiB: some proxies add cookies and traces of their own,
	// and no client of MCP comes near.
	maxHeader = 32 << 10
	// clientIdle is the default of Config.IdleTimeout, longer than the 60 s after
	// which common load balancers close.
	clientIdle = 75 * time.Second
	// maxStreams is per HTTP/2 connection, which a load balancer may share
	// among many users.
	maxStreams = 1000
	// pingAfter and pingTimeout find HTTP/2 clients that vanished while an
	// answer streams.
	pingAfter   = 30 * time.Second
	pingTimeout = 15 * time.Second
)

// HTTPServer returns the server of the public surface, HTTP/1.1 and HTTP/2
// without TLS. It has no read and no write timeout: both would end streams.
// readBody sets the deadline that bodies need, and inflight.Tracker ends what a client
// does not read.
func (s *Server) HTTPServer() *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           s,
		Protocols:         protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams, SendPingTimeout: pingAfter, PingTimeout: pingTimeout, WriteByteTimeout: s.tracker.WriteTimeout()},
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       cmp.Or(s.config.IdleTimeout, clientIdle),
		MaxHeaderBytes:    maxHeader,
		// OPTIONS * has no more to say than any other unknown path.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.observer.log.Handler(), slog.LevelWarn),
	}
}

// Drain ends streams on which clients only listen, so that they go on elsewhere,
// and whatever is left shortly before the DrainTimeout is over. It is called
// once, when connections are no longer accepted.
func (s *Server) Drain() { s.tracker.Drain() }

// ServeHTTP serves one request: it gives it an id, and when it has ended, however
// it did, counts and logs it.
func (s *Server) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	if hr.Method == http.MethodPost && s.paths.routeOf(hr.RequestURI) == routeSSE {
		s.serveMessage(w, hr)
		return
	}
	s.serveRequest(w, hr)
}

func (s *Server) serveRequest(w http.ResponseWriter, hr *http.Request) {
	r := s.begin(w, hr)
	s.serveBegun(r) //nolint:contextcheck // A request has a context of its own.
	s.linger.drain(w, r)
}

// serveBegun serves a request to its end.
func (s *Server) serveBegun(r *request) {
	completed := false
	defer func() { s.end(r, completed) }()
	s.serve(r)
	if r.taken.stranger.Holds() {
		s.router.deliver(r)
	}
	completed = true
}

// begin returns the request that hr is.
func (s *Server) begin(w http.ResponseWriter, hr *http.Request) *request {
	r := &request{id: newRequestID(), route: s.paths.routeOf(hr.RequestURI), start: time.Now(), source: authn.Source(hr, s.config.TrustedProxies)}
	r.encodeProblem = s.paths.encoderOf(r.route)
	ctx, cancel := context.WithCancelCause(hr.Context())
	r.http, r.w = hr.WithContext(ctx), r
	r.showProblem = s.paths.strangerPage(r) //nolint:contextcheck // The request has it.
	r.Begin(w, cancel)
	r.Opens = hr.Method == http.MethodGet && r.route == routeMCP
	r.Session = r.route == routeSSE
	setBaseHeader(w.Header(), r.id)
	s.setDeadlines(w, hr)
	if len(hr.TransferEncoding) > 0 {
		// A body in chunks may have come with a length too, which net/http
		// does not tell: a proxy that went by that has another idea of where the next
		// request begins, so that none may follow.
		w.Header().Set("Connection", "close")
	}
	s.observer.begin()
	s.tracker.Open(&r.Call)
	return r
}

// end is after everything else of a request. completed is whether its handler
// returned.
func (s *Server) end(r *request, completed bool) {
	r.know()
	s.tracker.End(&r.Call)
	r.Cancel()
	s.observer.end(r, completed)
}

// serve answers a request. A panic is an internal error.
func (s *Server) serve(r *request) {
	defer func() {
		if v := recover(); v != nil {
			s.answerPanic(r, v)
		}
	}()
	s.router.bounds.countStranger(r)
	if err := s.paths.check(r); err != nil {
		writeProblem(r, err, nil)
		return
	}
	answered, err := s.access.cors(r)
	if err != nil {
		writeProblem(r, err, nil)
		return
	}
	if !answered {
		s.handler.ServeHTTP(r, r.http)
	}
}

// setDeadlines gives a body its time to come, whether or not a step reads it: before an
// answer leaves, net/http itself reads what is unread. The write deadline of an
// earlier refusal on the connection is taken off. Writers without deadlines are
// those of tests.
func (s *Server) setDeadlines(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	if r.ContentLength != 0 {
		_ = control.SetReadDeadline(time.Now().Add(s.config.BodyTimeout))
	}
	_ = control.SetWriteDeadline(time.Time{})
}

// newRequestID returns an id to find a request by. A caller's own id is not
// taken over: it could point at somebody else's request.
func newRequestID() string {
	return strconv.FormatUint(rand.Uint64()|1<<63, 16) //nolint:gosec // It guards nothing.
}

// setBaseHeader sets what every answer carries. All users share one origin,
// so nothing served here may be taken for a document or run as one.
func setBaseHeader(h http.Header, requestID string) {
	values := [...]string{"default-src 'none'; sandbox", "nosniff", requestID}
	h["Content-Security-Policy"], h["X-Content-Type-Options"], h["X-Request-Id"] = values[:1:1], values[1:2:2], values[2:]
}
