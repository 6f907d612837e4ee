// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
)

// copyBuffer is the proxy's own default size, 32 KiB.
const copyBuffer = 32 << 10

// newProxy returns the one proxy. What belongs to a request is in its
// exchange.
func newProxy(d *delivery, log *slog.Logger) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:       rewrite,
		Transport:     d,
		FlushInterval: -1, // events leave as they come
		BufferPool:    &buffers{},
		// Its only messages are of answers that broke off, which the access
		// log has as aborted.
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ModifyResponse: func(res *http.Response) error {
			keepAnswerHeader(res.Header)
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, r *http.Request, err error) {
			exchangeOf(r.Context()).err = err
		},
	}
}

// rewrite makes the outbound request from constants, the principal and the
// allow-listed header. The host is a placeholder that delivery fills for each
// attempt.
func rewrite(r *httputil.ProxyRequest) {
	x := exchangeOf(r.In.Context())
	r.Out.URL = &url.URL{Scheme: "https", Host: "bridge", Path: "/u/" + string(x.principal.user) + x.endpoint, RawQuery: x.query}
	// Out and not In: there the headers that Connection names are gone.
	r.Out.Header = forwardedHeader(r.Out.Header)
	r.Out.Header.Set("X-Request-Id", recordOf(r.In.Context()).id)
	r.Out.Body = nil
	r.Out.TransferEncoding, r.Out.Trailer = nil, nil
}

// forward sends the request to the principal's bridge and its answer back.
func (s *Server) forward(c *gin.Context) error { return s.forwardTo(c, "/mcp") }

// forwardSSE is forward for the transport of 2024-11-05.
func (s *Server) forwardSSE(c *gin.Context) error { return s.forwardTo(c, ssePath) }

// checkSession refuses a message that names no session. Without any query it may
// be the attempt of a newer client to find out which transport there is here: it
// goes on to the older one after a 405.
func (s *Server) checkSession(c *gin.Context) error {
	switch u := c.Request.URL; {
	case u.ForceQuery:
		return errSessionInvalid
	case u.RawQuery == "":
		c.Header("Allow", http.MethodGet)
		return errMethodNotAllowed
	}
	return nil
}

func (s *Server) forwardTo(c *gin.Context, endpoint string) error {
	r := c.Request
	if err := checkHeader(r.Header); err != nil {
		return err
	}
	ctx := r.Context()
	x := &exchange{principal: principalOf(c), endpoint: endpoint, body: bodyOf(c), deadline: time.Now().Add(s.config.Wait)}
	if r.Method == http.MethodPost {
		x.query = r.URL.RawQuery
	}
	backend, err := s.hold.backend(ctx, x.principal, x.deadline)
	if err != nil {
		return err
	}
	x.backend = backend
	s.activity.Called(backend, time.Now())
	s.proxy.ServeHTTP(c.Writer, r.WithContext(contextWithExchange(ctx, x)))
	return x.err
}

// buffers is the proxy's buffer pool.
type buffers struct{ pool sync.Pool }

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if v, ok := b.pool.Get().(*[copyBuffer]byte); ok {
		return v[:]
	}
	return make([]byte, copyBuffer)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(buf []byte) {
	b.pool.Put((*[copyBuffer]byte)(buf))
}
