// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/hostedbridge/hostedbridge/internal/route"
)

const (
	// restEvery is how often a resting stream looks whether its bridge runs. What
	// comes on it then is not what anybody waits for.
	restEvery = time.Second
	// maxResting is the default of Config.MaxResting. A stream takes some 20 KB.
	maxResting = 2048
	// useGrain is how often bytes on a stream are noted as use.
	useGrain = time.Second

	headerSession   = "Mcp-Session-Id"
	headerLastEvent = "Last-Event-Id"
)

// listensOnly reports whether a request opens a stream for whatever the bridge
// may have to say, which keeps a bridge awake only while something comes. What
// the client asks for beside it is use by itself, or busy by the bridge's word.
func listensOnly(c *gin.Context, endpoint string) bool {
	switch {
	case c.Request.Method == http.MethodGet && endpoint == endpointMCP:
		return c.GetHeader(headerSession) != "" && !asksForTheRest(c.GetHeader(headerLastEvent))
	case c.Request.Method == http.MethodGet:
		return true
	case endpoint != endpointMCP:
		return false
	}
	messages := messagesOf(c)
	return len(messages) == 1 && messages[0].Method == methodListen
}

// asksForTheRest reports whether a stream goes on with the answer to a call, by
// the id of the last event that came. Those of a stream that is no answer have
// nothing before the underscore.
func asksForTheRest(lastEvent string) bool { return lastEvent != "" && lastEvent[0] != '_' }

// rests reports whether a stream that only listens does not even wake its
// bridge, since its client opens it again by itself whenever it ends. That of
// the transport of 2024-11-05 does: it is its session.
func rests(listens bool, endpoint string) bool { return listens && endpoint == endpointMCP }

// rest answers a stream whose bridge sleeps or is suspended in the bridge's
// place: it says nothing until the bridge is meant to run because of something
// else. Began is whether the client has its answer's header, before and after.
//
// That a bridge is suspended calls are told, and a stream is not: of the clients
// that open it again some end their session where they cannot.
func (s *Server) rest(c *gin.Context, p principal, began bool) (nowBegan bool, err error) {
	ctx := c.Request.Context()
	b, err := s.hold.lookup(p, time.Now())
	if err != nil {
		return began, err
	}
	s.calls.watch(recordOf(ctx).call, p, b.BridgeUID) // Nobody has, where it was suspended.
	if !idle(b) {
		return began, nil
	}
	if !s.resting.enter(p.user) {
		return began, errTooManyHeld
	}
	s.wakeMetrics.resting.Inc()
	defer func() {
		s.wakeMetrics.resting.Dec()
		s.resting.leave(p.user)
	}()
	if !began {
		h := c.Writer.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no")
		c.Writer.WriteHeader(http.StatusOK)
		c.Writer.WriteHeaderNow()
		c.Writer.Flush()
	}
	look := time.NewTicker(restEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return true, ctx.Err()
		case <-look.C:
		}
		if b, err := s.hold.lookup(p, time.Now()); err != nil || !idle(b) {
			return true, err
		}
	}
}

// idle reports whether a bridge is not meant to run.
func idle(b route.Backend) bool { return b.State == route.Sleeping || b.State == route.Suspended }

// goOn writes a bridge's answer behind a header that the client has already. One
// that is no stream ends it: the client opens another and is told why.
func goOn(w gin.ResponseWriter, res *http.Response) {
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return
	}
	buf := passBuffers.Get().(*[passBuffer]byte)
	defer passBuffers.Put(buf)
	passOn(w, res.Body, buf[:], w.Flush)
}

// listened is the body of a stream on which a client only listens. What comes on
// it is use of the bridge, but for comments, which only keep it open.
type listened struct {
	io.ReadCloser
	used func(at time.Time)
	last atomic.Int64
}

// Read implements io.Reader.
func (l *listened) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if n > 0 && p[0] != ':' && p[0] != '\n' {
		if now := time.Now(); now.UnixNano()-l.last.Load() >= int64(useGrain) {
			l.last.Store(now.UnixNano())
			l.used(now)
		}
	}
	return n, err
}

// use notes that the request uses its bridge, until used. One that only listens
// is use when it begins.
func (s *Server) use(b *route.Backend, listens bool) {
	if listens {
		s.activity.Called(*b, time.Now())
		return
	}
	s.activity.Began(*b, time.Now())
}

// used is after use, when the answer has ended.
func (s *Server) used(b *route.Backend, listens bool) {
	if !listens {
		s.activity.Ended(*b, time.Now())
	}
}

// asleep reports whether p's bridge sleeps, for who is about to wake it.
func (h *hold) asleep(p principal) bool {
	b, err := h.lookup(p, time.Now())
	return err == nil && b.State == route.Sleeping
}

// wake has p's bridge woken if it sleeps.
func (h *hold) wake(ctx context.Context, p principal, b route.Backend) {
	h.wakes.begin(ctx, b, func() bool { return h.asleep(p) })
}
