// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// forward sends the request to the principal's bridge and its answer back.
func (s *Server) forward(c *gin.Context) error { return s.forwardTo(c, endpointMCP) }

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
	p, listens := principalOf(c), listensOnly(c, endpoint)
	x := &exchange{
		principal: p, method: r.Method, path: "/u/" + string(p.user) + endpoint, header: r.Header,
		requestID: recordOf(r.Context()).id, body: bodyOf(c),
	}
	if r.Method == http.MethodPost {
		x.query = r.URL.RawQuery
	}
	if !rests(listens, endpoint) {
		return s.exchange(c, x, listens, false)
	}
	call := recordOf(r.Context()).call
	call.listening.Store(true)
	for began := false; ; {
		call.resting.Store(true)
		var err error
		if began, err = s.rest(c, p, began); err == nil {
			err = s.exchange(c, x, listens, began)
		}
		if !errors.Is(err, errSuspended) { // It was while the bridge was looked for.
			return unlessBegan(began, err)
		}
	}
}

// exchange brings x to its bridge and the answer back, whose header the client
// has already where it began.
func (s *Server) exchange(c *gin.Context, x *exchange, listens, began bool) error {
	ctx := c.Request.Context()
	x.deadline = time.Now().Add(s.config.Wait)
	backend, err := s.hold.backend(ctx, x.principal, x.deadline)
	if err != nil {
		return err
	}
	x.backend = backend
	s.use(&backend, listens)
	defer s.used(&backend, listens)
	res, err := s.delivery.deliver(ctx, x)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	recordOf(ctx).call.resting.Store(false)
	if listens {
		res.Body = &listened{ReadCloser: res.Body, used: func(at time.Time) { s.activity.Called(backend, at) }}
	}
	keepAnswerHeader(res.Header)
	if began {
		goOn(c.Writer, res)
		return nil
	}
	return pass(c.Writer, res)
}

// unlessBegan returns err for an answer that has not begun. One that has can
// only end: a stream that was kept open, whose client opens it again.
func unlessBegan(began bool, err error) error {
	if began {
		return nil
	}
	return err
}
