// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stateless

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// answer is the answer to one request: an event stream with notifications before the result, or
// one JSON object for an error that has an HTTP status.
type answer struct {
	id     jsontext.Value
	method string

	mu    sync.Mutex
	w     http.ResponseWriter
	begun bool // whether something was written
	over  bool
}

// errOver says that the request was already answered, so nothing more can be sent with its answer.
// errAsks says that a client without a session cannot be asked.
var (
	errOver = errors.New("the request was answered")
	errAsks = errors.New("a client without a session cannot be asked")
)

// send sends a message to the client in the answer to its request.
func (a *answer) send(_ context.Context, method string, params mcp.Params) (mcp.Result, error) {
	if methods.Of(method).IsQuestion() {
		return nil, errAsks
	}
	return nil, a.notify(method, params)
}

// notification is the wire format of a notification.
type notification struct {
	Version string     `json:"jsonrpc"`
	Method  string     `json:"method"`
	Params  mcp.Params `json:"params,omitempty"`
}

// notify sends a notification before the result.
func (a *answer) notify(method string, params mcp.Params) error {
	event, err := jsondoc.Marshal(notification{"2.0", method, params})
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return errOver
	}
	if err := a.event(event); err != nil {
		return err
	}
	// The result may take long.
	return http.NewResponseController(a.w).Flush()
}

// open begins the event stream. The caller holds a.mu.
func (a *answer) open() {
	if !a.begun {
		a.w.Header().Set("Content-Type", "text/event-stream")
	}
	a.begun = true
}

// event writes a message as an event and flushes it. The caller holds a.mu.
func (a *answer) event(message []byte) error {
	a.open()
	const before, after = "event: message\ndata: ", "\n\n"
	event := make([]byte, 0, len(before)+len(message)+len(after))
	_, err := a.w.Write(append(append(append(event, before...), message...), after...))
	return err
}

// response is the wire format of an answer.
type response struct {
	Version string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id,omitempty"`
	Result  mcp.Result     `json:"result,omitempty"`
	Error   *jsonrpc.Error `json:"error,omitempty"`
}

// end writes the outcome of the request.
func (a *answer) end(result mcp.Result, failed error) error {
	fault := wireError(failed, a.method)
	if fault != nil {
		result = nil
	}
	if large, ok := result.(largeResult); ok && large.Size() > minLarge {
		return a.endLarge(large)
	}
	message, err := jsondoc.Marshal(response{"2.0", a.id, result, fault})
	if err != nil {
		fault = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the result could not be encoded"}
		if message, err = jsondoc.Marshal(response{"2.0", a.id, nil, fault}); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	status := statusOf(fault)
	if status == http.StatusOK || a.begun {
		return a.event(message)
	}
	a.begun = true
	a.w.Header().Set("Content-Type", "application/json")
	a.w.WriteHeader(status)
	_, err = a.w.Write(message)
	return err
}

// close has later notifications refused: a server may send them after the handler has returned,
// and writing to w would then panic.
func (a *answer) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
}

// largeResult is a result that can be written without copies.
type largeResult interface {
	Size() int
	Write(w io.Writer) error
}

// minLarge is the size in bytes from which a result is written without copies.
const minLarge = 64 << 10

// endLarge writes a large result.
func (a *answer) endLarge(result largeResult) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	a.open()
	if _, err := fmt.Fprintf(a.w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", a.id); err != nil {
		return err
	}
	if err := result.Write(a.w); err != nil {
		return err
	}
	_, err := io.WriteString(a.w, "}\n\n")
	return err
}

// wireError returns err as the client gets it, or nil.
func wireError(err error, method string) *jsonrpc.Error {
	fault := rpc.ErrorOf(err)
	if fault != nil && fault.Code == jsonrpc.CodeMethodNotFound {
		return &jsonrpc.Error{Code: fault.Code, Message: fmt.Sprintf("method not found: %q", method)}
	}
	return fault
}

// statusOf returns the HTTP status of an error: 200 unless the protocol requires another one.
func statusOf(fault *jsonrpc.Error) int {
	if fault == nil {
		return http.StatusOK
	}
	switch fault.Code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case jsonrpc.CodeInvalidParams, mcp.CodeUnsupportedProtocolVersion, mcp.CodeMissingRequiredClientCapabilities:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// deny answers a request whose headers do not match its body.
func deny(w http.ResponseWriter, m message, err error) {
	fault, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		fault = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	write(w, max(statusOf(fault), http.StatusBadRequest), response{Version: "2.0", ID: m.id, Error: fault})
}

// write writes an answer that is not an event.
func write(w http.ResponseWriter, status int, m response) {
	content, err := jsondoc.Marshal(m)
	if err != nil {
		panic(err) // an id and an error always encode
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(content) // The client has left.
}

// notFound returns the error for an unknown method, with the text of err.
func notFound(err error) *jsonrpc.Error {
	e := &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound}
	if err != nil {
		e.Message = err.Error()
	}
	return e
}
