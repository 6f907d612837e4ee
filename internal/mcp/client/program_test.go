// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// program is a server on one stream. It notes what it is sent.
type program struct {
	// version is that of the protocol.
	version string
	// on answers messages by their method. What is not in it gets an empty answer.
	on map[string]func(p *program, m rpc.Message)
	// broken, if set, is the error of each write.
	broken error

	notes

	once sync.Once
	out  chan read
	gone chan struct{}
}

// read is what the client reads.
type read struct {
	m   rpc.Message
	err error
}

// start begins the program.
func (p *program) start(context.Context) (client.Stream, error) {
	p.out, p.gone = make(chan read, 1000), make(chan struct{})
	return p, nil
}

// dial opens a connection to the program until the test ends. change may be nil.
func (p *program) dial(t *testing.T, r client.Receiver, change func(*client.Options)) (*client.Session, error) {
	t.Helper()
	o := options(r)
	o.Room = nil // There are no bodies.
	if change != nil {
		change(&o)
	}
	s, err := client.Dialer(p.start).Dial(t.Context(), o)
	if err == nil {
		t.Cleanup(s.Close)
	}
	return s, err
}

// connect is dial where it must succeed.
func (p *program) connect(t *testing.T, r client.Receiver) *client.Session {
	t.Helper()
	return must.Value(p.dial(t, r, nil))(t)
}

// say sends a message to the client.
func (p *program) say(format string, args ...any) {
	m, ok := rpc.Read(fmt.Appendf(nil, format, args...))
	if !ok {
		panic("no message")
	}
	p.out <- read{m, nil}
}

// result answers a request.
func (p *program) result(m rpc.Message, result string) {
	p.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// end ends the stream.
func (p *program) end(err error) { p.out <- read{rpc.Message{}, err} }

// Read implements client.Stream.
func (p *program) Read() (rpc.Message, error) {
	select {
	case r := <-p.out:
		return r.m, r.err
	case <-p.gone:
		return rpc.Message{}, io.ErrClosedPipe
	}
}

// Write implements client.Stream.
func (p *program) Write(_ context.Context, _ http.Header, text []byte) error {
	if p.broken != nil {
		return p.broken
	}
	p.add("%s", text)
	m, _ := rpc.Read(text)
	switch answer, ok := p.on[m.Method]; {
	case ok:
		if answer != nil {
			answer(p, m)
		}
	case m.ID == nil, !m.Request:
	case m.Method == methods.Discover && p.version == "2026-07-28":
		p.result(m, discovery)
	case m.Method == methods.Discover:
		p.say("%s", strings.Replace(unknown, "$ID", string(m.ID), 1))
	case m.Method == methods.Initialize:
		p.result(m, fmt.Sprintf(introduction, p.version))
	default:
		p.result(m, "{}")
	}
	return nil
}

// Close implements client.Stream.
func (p *program) Close() error {
	p.once.Do(func() { close(p.gone) })
	return nil
}

// closed reports whether the client closed the stream.
func (p *program) closed() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// methods returns the methods of the messages that the program was sent.
func (p *program) methods() []string {
	var all []string
	for _, line := range p.all() {
		m, _ := rpc.Read([]byte(line))
		all = append(all, m.Method)
	}
	return all
}
