// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/eventstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// options are those of a client that says little, with as much memory as it needs.
func options(r client.Receiver) client.Options {
	return client.Options{
		Info: &mcp.Implementation{Name: "c", Version: "2"}, Receiver: r,
		Room: func(context.Context, client.Observer, io.Closer) (eventstream.Room, func()) { return room{}, func() {} },
	}
}

// room is memory for messages, or the lack of it.
type room struct{ refuse error }

func (o room) Take(int) error { return o.refuse }
func (o room) Received(int)   {}
func (o room) Refusal(m *rpc.Oversize, err error) []byte {
	return m.Refusal(err.Error(), `{"code":"busy"}`)
}

// notes are lines that several goroutines write.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

func (n *notes) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.lines)
}

// receiver notes what comes outside of answers.
type receiver struct {
	notes

	// asked, if set, is called for each request.
	asked func(s *client.Session, m rpc.Message)
}

// Asked implements client.Receiver.
func (r *receiver) Asked(_ context.Context, s *client.Session, of client.Observer, m rpc.Message) {
	r.add("%sasked %s %s%s", nameOf(of), m.ID, m.Method, string(m.Params))
	if r.asked != nil {
		r.asked(s, m)
	}
}

// Notified implements client.Receiver.
func (r *receiver) Notified(_ context.Context, of client.Observer, m rpc.Message) {
	r.add("%snotified %s%s", nameOf(of), m.Method, string(m.Params))
}

// nameOf says whose answer a message is in.
func nameOf(of client.Observer) string {
	if o, ok := of.(*observer); ok {
		return o.name + " "
	}
	return ""
}

// observer notes what becomes of a request.
type observer struct {
	notes

	name string
	// takes is the method of notifications that belong to the request, and refuses why its result is not
	// taken.
	takes   string
	refuses error
	// words, if set, replace those of a cancellation.
	words string
	// answered, if set, is called with the answer.
	answered func(ctx context.Context)
}

func (o *observer) Sending() { o.add("sending") }
func (o *observer) Sent()    { o.add("sent") }
func (o *observer) Refused() { o.add("refused") }

func (o *observer) Answered(ctx context.Context, result json.RawMessage) error {
	o.add("answered %s", string(result)) // empty for nil
	if o.answered != nil {
		o.answered(ctx)
	}
	return o.refuses
}

func (o *observer) Notified(method string, params json.RawMessage) bool {
	if method == o.takes {
		o.add("notified %s%s", method, params)
	}
	return method == o.takes
}

func (o *observer) Withdrawal(sent json.RawMessage) json.RawMessage {
	if o.words != "" {
		return json.RawMessage(o.words)
	}
	return sent
}

// said is the JSON-RPC error in an error, else its text, and empty for none.
func said(err error) string {
	if failure, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return string(jsondoc.EncodeExact(failure))
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// invalid is the error in place of an answer with a fault.
func invalid(fault string) string { return said(rpc.InvalidAnswer(fault)) }
