// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package programs has servers of the MCP SDK take the place of programs in tests.
package programs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// Over returns the way to the program at the other end of an SDK's transport.
func Over(t mcp.Transport) client.Dialer {
	return func(ctx context.Context) (client.Stream, error) {
		c, err := t.Connect(ctx)
		if err != nil {
			return nil, err
		}
		return Stream(c), nil
	}
}

// Stream returns an SDK's connection as a stream.
func Stream(c mcp.Connection) client.Stream { return stream{c} }

type stream struct{ mcp.Connection }

// Read implements client.Stream.
func (s stream) Read() (rpc.Message, error) {
	m, err := s.Connection.Read(context.Background())
	if err != nil {
		return rpc.Message{}, err
	}
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return rpc.Message{}, err
	}
	read, ok := rpc.Read(text)
	if !ok {
		return rpc.Message{}, fmt.Errorf("the program sent %.200q", text)
	}
	return read, nil
}

// Write implements client.Stream.
func (s stream) Write(ctx context.Context, _ http.Header, text []byte) error {
	m, err := jsonrpc.DecodeMessage(text)
	if err != nil {
		return err
	}
	return s.Connection.Write(ctx, m)
}

// Lines returns the stream of a program that reads a message from each line of w, and writes one to each
// line of r. Other lines are an error.
func Lines(r io.ReadCloser, w io.WriteCloser) client.Stream {
	return &lines{in: bufio.NewReader(r), r: r, w: w}
}

type lines struct {
	in *bufio.Reader
	r  io.Closer

	mu sync.Mutex
	w  io.WriteCloser
}

// Read implements client.Stream.
func (l *lines) Read() (rpc.Message, error) {
	line, err := l.in.ReadBytes('\n')
	if err != nil {
		return rpc.Message{}, err
	}
	m, ok := rpc.Read(line)
	if !ok {
		return rpc.Message{}, fmt.Errorf("the program wrote %.200q", line)
	}
	return m, nil
}

// Write implements client.Stream.
func (l *lines) Write(_ context.Context, _ http.Header, text []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.w.Write(append(text, '\n'))
	return err
}

// Close implements client.Stream.
func (l *lines) Close() error { return errors.Join(l.w.Close(), l.r.Close()) }
