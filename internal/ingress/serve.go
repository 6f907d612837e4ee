// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"
)

const (
	// readHeaderTimeout ends connections that open and say nothing.
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
// readBody sets the deadline that bodies need, and openCalls ends what a client
// does not read.
func (s *Server) HTTPServer() *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           s.public,
		Protocols:         protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams, SendPingTimeout: pingAfter, PingTimeout: pingTimeout, WriteByteTimeout: s.calls.writeTimeout},
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       cmp.Or(s.config.IdleTimeout, clientIdle),
		MaxHeaderBytes:    maxHeader,
		// OPTIONS * has no more to say than any other unknown path.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
}

// Drain ends streams on which clients only listen, so that they go on elsewhere,
// and whatever is left shortly before the DrainTimeout is over. It is called
// once, when connections are no longer accepted.
func (s *Server) Drain() { s.calls.drain() }
