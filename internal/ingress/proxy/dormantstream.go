// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/inflight"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

const (
	// dormantInterval is how often a dormant stream checks whether its bridge runs.
	// No client waits for what comes on it then.
	dormantInterval = time.Second
	// maxDormant is the default of Options.MaxDormant. A stream takes some 20 KB.
	maxDormant = 2048
	// useInterval is how often bytes on a stream are noted as use.
	useInterval = time.Second

	headerSession   = "Mcp-Session-Id"
	headerLastEvent = "Last-Event-Id"
)

// listensOnly reports whether x opens a stream for whatever the bridge may have to
// say, which keeps a bridge awake only while something comes. What the client asks
// for beside it is use by itself, or busy by the bridge's word.
func (x *Request) listensOnly() bool {
	switch {
	case x.Method == http.MethodGet && !x.SSE:
		return x.Header.Get(headerSession) != "" && !resumesAnswer(x.Header.Get(headerLastEvent))
	case x.Method == http.MethodGet:
		return true
	case x.SSE:
		return false
	}
	return len(x.Messages) == 1 && methods.Of(x.Messages[0].Method).Stream
}

// resumesAnswer reports whether a stream continues the answer to a call, by the id
// of the last event that came. Those of a stream that is no answer have nothing
// before the underscore.
func resumesAnswer(lastEvent string) bool { return lastEvent != "" && lastEvent[0] != '_' }

// staysDormant reports whether x does not even wake its bridge: a stream that only
// listens, since its client opens it again by itself whenever it ends. That of the
// transport of 2024-11-05 does wake it: it is its session.
func (x *Request) staysDormant(listens bool) bool { return listens && !x.SSE }

// awaitUse answers a stream whose bridge sleeps or is suspended in the bridge's
// place: it sends nothing until the bridge is meant to run because of something
// else. Began is whether the client has its answer's header, before and after.
//
// Calls are told that a bridge is suspended, and a stream is not: some of the
// clients that open it again end their session where they cannot.
func (p *Proxy) awaitUse(ctx context.Context, x *Request, began bool) (nowBegan bool, err error) {
	user := x.Principal.User
	b, err := p.Bridge(x.Principal)
	if err != nil {
		return began, err
	}
	// A suspended bridge was not watched before.
	p.Tracker.Watch(x.Call, inflight.Guard{Principal: x.Principal, Bridge: b.BridgeUID})
	if !idle(b) {
		return began, nil
	}
	if !p.dormant.Take(user) {
		return began, problems.TooManyHeld
	}
	p.metrics.dormant.Inc()
	defer func() {
		p.metrics.dormant.Dec()
		p.dormant.Give(user)
	}()
	if !began {
		beginStream(x.Writer)
	}
	check := time.NewTicker(dormantInterval)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return true, ctx.Err()
		case <-check.C:
		}
		if b, err := p.Bridge(x.Principal); err != nil || !idle(b) {
			return true, err
		}
	}
}

// beginStream sends the header of an event stream.
func beginStream(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	flushing(w).Flush()
}

// idle reports whether a bridge is not meant to run.
func idle(b route.Backend) bool { return b.State == route.Sleeping || b.State == route.Suspended }

// listenedBody is the body of a stream on which a client only listens. What comes
// on it is use of the bridge, but for comments, which only keep it open.
type listenedBody struct {
	io.ReadCloser
	used func(at time.Time)
	last atomic.Int64
}

// Read implements io.Reader.
func (l *listenedBody) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if n > 0 && p[0] != ':' && p[0] != '\n' {
		if now := time.Now(); now.UnixNano()-l.last.Load() >= int64(useInterval) {
			l.last.Store(now.UnixNano())
			l.used(now)
		}
	}
	return n, err
}
