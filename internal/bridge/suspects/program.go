// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package suspects

import (
	"context"
	"net/http"
	"sync"

	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// Program returns next, the way to a server that is a program, with its messages counted.
func (w *Watch) Program(server string, next client.Dialer) client.Dialer {
	if w == nil {
		return next
	}
	traffic := w.of(server)
	return func(ctx context.Context) (client.Stream, error) {
		s, err := next(ctx)
		if err != nil {
			return nil, err
		}
		return &program{Stream: s, traffic: traffic, open: map[string]*exchange{}}, nil
	}
}

type program struct {
	client.Stream
	traffic *traffic

	mu   sync.Mutex
	open map[string]*exchange // by the id of the request
}

// Read implements client.Stream.
func (s *program) Read() (rpc.Message, error) {
	m, err := s.Stream.Read()
	s.traffic.pass(int64(len(m.Params) + len(m.Result)))
	if !m.Request {
		s.answered(string(m.ID))
	}
	return m, err
}

// Write implements client.Stream.
func (s *program) Write(ctx context.Context, header http.Header, text []byte) error {
	s.traffic.pass(int64(len(text)))
	if id, method := rpc.Head(text); id != nil && method != "" && !methods.Of(method).Stream {
		x := s.traffic.begin()
		s.mu.Lock()
		s.open[string(id)] = x
		s.mu.Unlock()
	}
	return s.Stream.Write(ctx, header, text)
}

// Close implements client.Stream.
func (s *program) Close() error {
	s.mu.Lock()
	open := s.open
	s.open = map[string]*exchange{}
	s.mu.Unlock()
	for _, x := range open {
		x.end()
	}
	return s.Stream.Close()
}

// answered ends the exchange of a request.
func (s *program) answered(id string) {
	s.mu.Lock()
	x := s.open[id]
	delete(s.open, id)
	s.mu.Unlock()
	if x != nil {
		x.end()
	}
}
