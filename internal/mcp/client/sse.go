// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"

	"github.com/hostedbridge/hostedbridge/internal/mcp/eventstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// SSE is a server over HTTP+SSE, the transport of version 2024-11-05: its messages come on one event stream,
// and each message to it is a POST to the address that the stream names first.
type SSE struct {
	URL    string
	Client *http.Client
	// Header is that of each request.
	Header http.Header
}

// Dial is a Dialer.
func (h SSE) Dial(ctx context.Context) (Stream, error) {
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	s, err := h.dial(life)
	if err != nil || !stop() {
		end(nil)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	s.end = end
	return s, nil
}

// dial opens the stream, and reads the address for messages.
func (h SSE) dial(ctx context.Context) (*sseStream, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL, http.NoBody)
	if err != nil {
		return nil, err
	}
	maps.Copy(r.Header, h.Header)
	r.Header.Set("Accept", "text/event-stream")
	resp, err := h.Client.Do(r)
	if err != nil {
		return nil, err
	}
	if !succeeded(resp) {
		return nil, statusError(resp, nil, false)
	}
	s := &sseStream{SSE: h, body: resp.Body, in: eventstream.NewReader(resp.Body, eventstream.MaxMessage, nil)}
	first, err := s.in.Next()
	if err == nil && first.Name != "endpoint" {
		err = fmt.Errorf("its first event is %.40q and not %q", first.Name, "endpoint")
	}
	if err == nil {
		s.address, err = r.URL.Parse(string(first.Data))
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("the server's stream does not say where messages go: %w", err)
	}
	return s, nil
}

// sseStream is a Stream over HTTP+SSE.
type sseStream struct {
	SSE
	address *url.URL
	body    io.Closer
	in      *eventstream.Reader
	end     context.CancelCauseFunc
	ahead   []json.RawMessage // messages of an array that are not read yet
}

// Read implements Stream. What is no message is passed over.
func (s *sseStream) Read() (rpc.Message, error) {
	for {
		if len(s.ahead) > 0 {
			m, ok := rpc.Read(s.ahead[0])
			s.ahead = s.ahead[1:]
			if !ok {
				return rpc.Message{Fault: "it is an array with a member that is no object"}, nil
			}
			return m, nil
		}
		e, err := s.in.Next()
		if err != nil && !(errors.Is(err, io.EOF) && len(e.Data) > 0) {
			return rpc.Message{}, err
		}
		if !isMessage(e) {
			continue
		}
		if each, ok := rpc.Batch(e.Data); ok {
			if len(each) == 0 {
				return rpc.Message{Fault: "it is an empty array"}, nil
			}
			s.ahead = each
			continue
		}
		m, ok := rpc.Read(e.Data)
		if !ok {
			return rpc.Message{}, errors.New("the server's stream has an event that is no message")
		}
		return m, nil
	}
}

// Write implements Stream.
func (s *sseStream) Write(ctx context.Context, header http.Header, text []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address.String(), bytes.NewReader(text))
	if err != nil {
		return err
	}
	maps.Copy(r.Header, s.Header)
	maps.Copy(r.Header, header)
	r.Header.Set("Content-Type", "application/json")
	resp, err := s.Client.Do(r)
	if err != nil {
		return err
	}
	if !succeeded(resp) {
		m, _ := rpc.Read(text)
		return statusError(resp, m.ID, true)
	}
	return resp.Body.Close()
}

// Close implements Stream.
func (s *sseStream) Close() error {
	s.end(nil)
	return s.body.Close()
}
