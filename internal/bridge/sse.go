// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"crypto/rand"
	"mime"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// sse serves the transport of 2024-11-05 at /u/{userID}/sse: one stream from the
// bridge to the client, whose first event names the address for the client's
// messages. Its sessions end with the stream; there is nothing by which they
// could be restored. It is of the legacy era only.
type sse struct {
	bridge *Bridge

	mu   sync.Mutex
	open map[string]*mcp.SSEServerTransport
}

func newSSE(b *Bridge) http.Handler {
	return &sse{bridge: b, open: map[string]*mcp.SSEServerTransport{}}
}

// ServeHTTP implements http.Handler.
func (s *sse) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("sessionid")
	switch {
	case r.Method == http.MethodGet:
		s.stream(w, r)
	case r.Method == http.MethodPost && id != "":
		s.post(w, r, id)
	default:
		// Clients that try the newer transport first POST here without a session,
		// and some of them take only this answer for a reason to GET.
		w.Header().Set("Allow", "GET")
		http.Error(w, "Method Not Allowed: open a stream with GET first", http.StatusMethodNotAllowed)
	}
}

// post takes a message of the client. Its answer comes on the stream.
func (s *sse) post(w http.ResponseWriter, r *http.Request, id string) {
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != "application/json" {
		http.Error(w, "Content-Type must be 'application/json'", http.StatusUnsupportedMediaType)
		return
	}
	s.mu.Lock()
	transport := s.open[id]
	s.mu.Unlock()
	if transport == nil {
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	if asksToTell(r) {
		w.Header().Set(audit.TrailerName, audit.Later)
	}
	transport.ServeHTTP(w, r)
}

// stream opens a session that lasts as long as the client reads.
func (s *sse) stream(w http.ResponseWriter, r *http.Request) {
	if s.bridge.ctx.Err() != nil {
		http.Error(w, "the bridge is shutting down", http.StatusServiceUnavailable)
		return
	}
	var late *recorder
	if asksToTell(r) {
		late = &recorder{most: maxLateCalls}
		w = &telling{w, late.take, late.add}
	}
	out := newStream(w)
	defer out.end()
	out.Header().Set("Content-Type", "text/event-stream")
	out.Header().Set("Cache-Control", "no-cache, no-transform")
	out.Header().Set("Connection", "keep-alive")
	id := rand.Text()
	transport := &mcp.SSEServerTransport{
		Endpoint:            r.URL.Path + "?sessionid=" + id,
		Response:            out,
		MaxRequestBodyBytes: maxBody,
	}
	s.mu.Lock()
	s.open[id] = transport
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.open, id)
		s.mu.Unlock()
	}()
	line := carrier{counts: true, legacyOnly: true, hops: hopsOf(r.Context(), r.Header, nil), late: late}
	// The client can go on hearing nothing; what went wrong shows in its
	// messages.
	_ = s.bridge.carryOn(r.Context(), transport, line)
}

// ServeTransport serves one client over t, in either era, until the client
// leaves or ctx or the bridge ends. It returns an error if t cannot be connected
// or broke.
func (b *Bridge) ServeTransport(ctx context.Context, t mcp.Transport) error {
	return b.carryOn(ctx, t, carrier{counts: true})
}

// carryOn serves one client over t until one side ends it. What is in progress
// then cannot be answered any more and is cancelled.
func (b *Bridge) carryOn(ctx context.Context, t mcp.Transport, c carrier) error {
	kept := &keptTransport{Transport: t}
	session, err := b.server.Connect(context.WithValue(ctx, carrierKey{}, c), kept, nil)
	if err != nil {
		return err
	}
	gone := make(chan struct{})
	var broken error
	go func() {
		broken = session.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return broken
	case <-ctx.Done():
	case <-b.ctx.Done():
	}
	// The SDK's session would wait for what is in progress.
	_ = kept.connection.Close()
	_ = session.Close()
	<-gone
	return nil
}

// keptTransport is a transport of which one has the connection.
type keptTransport struct {
	mcp.Transport
	connection mcp.Connection
}

// Connect implements mcp.Transport.
func (k *keptTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := k.Transport.Connect(ctx)
	k.connection = c
	return c, err
}

// SupportsProtocolVersion implements mcp.ProtocolVersionSupporter.
func (k *keptTransport) SupportsProtocolVersion(version string) bool {
	s, ok := k.Transport.(mcp.ProtocolVersionSupporter)
	return !ok || s.SupportsProtocolVersion(version)
}
