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
	r.Out.URL = &url.URL{Scheme: "https", Host: "bridge", Path: "/u/" + string(x.principal.user) + "/mcp"}
	// Out and not In: there the headers that Connection names are gone.
	r.Out.Header = forwardedHeader(r.Out.Header)
	r.Out.Header.Set("X-Request-Id", recordOf(r.In.Context()).id)
	r.Out.Body = nil
	r.Out.TransferEncoding, r.Out.Trailer = nil, nil
}

// forward sends the request to the principal's bridge and its answer back.
func (s *Server) forward(c *gin.Context) error {
	r := c.Request
	if _, repeated := repeatedHeader(r.Header); repeated {
		return errRepeatedHeader
	}
	ctx := r.Context()
	x := &exchange{principal: principalOf(c), body: bodyOf(c), deadline: time.Now().Add(s.config.Wait)}
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
