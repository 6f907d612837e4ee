// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/bridge/token"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// Askable returns the capabilities that a modern client declared for questions. It returns nil if
// there are none, or if the protocol has no way to ask.
func (q *Request) Askable() *mcp.ClientCapabilities {
	if !methods.Of(q.Method).Asks || q.Era != Modern {
		return nil
	}
	raw, err := json.Marshal(q.Meta[MetaClientCaps])
	if err != nil {
		return nil
	}
	declared, ok := ParseClientCapabilities(raw)
	if !ok || declared.Elicitation == nil && declared.Sampling == nil && declared.RootsV2 == nil {
		return nil
	}
	caps := &mcp.ClientCapabilities{Elicitation: declared.Elicitation, Sampling: declared.Sampling}
	if declared.RootsV2 != nil {
		caps.RootsV2 = &mcp.RootCapabilities{} // A modern client sends no notification of changed roots.
	}
	return caps
}

// A program runs once for all clients, so legacy sessions share its one connection with modern
// clients. This file separates the clients of the one connection: questions of the program go to
// the client of their call, and notifications to the clients that want them.

// AllClientCapabilities are the capabilities that the bridge declares on a connection that clients
// of all kinds share. If a client lacks one, the server gets an error when it asks.
func AllClientCapabilities() *mcp.ClientCapabilities {
	return &mcp.ClientCapabilities{
		RootsV2: &mcp.RootCapabilities{},
		Sampling: &mcp.SamplingCapabilities{
			Tools:   &mcp.SamplingToolsCapabilities{},
			Context: &mcp.SamplingContextCapabilities{},
		},
		Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{},
			URL:  &mcp.URLElicitationCapabilities{},
		},
	}
}

// OpensPages reports whether a client can open a page for its user.
func OpensPages(caps *mcp.ClientCapabilities) bool {
	return caps != nil && caps.Elicitation != nil && caps.Elicitation.URL != nil
}

// RequestOptions are the options of a request for the messages before its answer.
type RequestOptions struct {
	Ctx   context.Context // nil if no request waits
	Token any             // for progress; nil for none
	Level string          // of log messages; empty for none
}

// ToolOf returns the name of the called tool, empty for other requests.
func ToolOf(q *Request) string {
	if p, ok := q.Params.(*mcp.CallToolParamsRaw); ok {
		return p.Name
	}
	return ""
}

// Continues reports whether the request contains answers to a server's earlier questions.
func (q *Request) Continues() bool {
	state, responses := q.Input()
	return state != "" || len(responses) > 0
}

// ClientKind returns the properties of a client that can change a server's answer: its era, and
// the questions that it can answer. A server that would ask a question answers differently if the
// client cannot be asked.
func (q *Request) ClientKind() string {
	kind, caps := "legacy", (*mcp.ClientCapabilities)(nil)
	if q.Era == Modern {
		kind, caps = "modern", q.Askable()
	} else if q.Session != nil {
		caps = q.Session.Capabilities()
	}
	if caps == nil {
		return kind
	}
	declared, err := json.Marshal(EncodeCapabilities(caps))
	if err != nil {
		panic(err) // it was parsed from JSON
	}
	return kind + string(declared)
}

// InputNeeded returns the questions of a server that needs input before it answers. result is as
// the server sent it.
func InputNeeded(result json.RawMessage) (requests map[string]InputRequest, state string, asks bool, err error) {
	fields := objectOf(result)
	if !(&Result{Fields: fields}).NeedsInput() {
		return nil, "", false, nil
	}
	if raw, ok := fields["inputRequests"]; ok {
		if err := json.Unmarshal(raw, &requests); err != nil {
			return nil, "", true, fmt.Errorf("read inputRequests: %w", err)
		}
	}
	_ = json.Unmarshal(fields["requestState"], &state) // A state of another type is ignored.
	return requests, state, true, nil
}

// Options returns the options of a modern request for the messages before its answer.
func (q *Request) Options(ctx context.Context) RequestOptions {
	level, _ := q.Meta[MetaLogLevel].(string)
	return RequestOptions{ctx, q.Meta[MetaProgressToken], level}
}

// InputRequest is a server's question as the client gets it.
type InputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// AnswersMethod reports whether a client's answer has the form of one to a request of method.
func AnswersMethod(method string, answer json.RawMessage) bool {
	_, ok := objectOf(answer)[methods.Of(method).Answer]
	return ok && methods.Of(method).IsQuestion()
}

// Input returns the state and the answers that the request contains for an earlier question.
func (q *Request) Input() (state string, responses map[string]json.RawMessage) {
	switch p := q.Params.(type) {
	case *mcp.CallToolParamsRaw:
		state = p.RequestState
	case *mcp.GetPromptParams:
		state = p.RequestState
	case *mcp.ReadResourceParams:
		state = p.RequestState
	}
	return state, q.Responses
}

// Digest identifies the operation that the request asks the server for. It does not depend on how
// the JSON is written.
func (q *Request) Digest(server string) [32]byte {
	var arguments any
	switch p := q.Params.(type) {
	case *mcp.CallToolParamsRaw:
		_ = jsondoc.DecodeExact(p.Arguments, &arguments) // The SDK refuses invalid JSON before.
	case *mcp.GetPromptParams:
		arguments = p.Arguments
	}
	var name string
	if _, text := NameIn(q.Method, q.Params); text != nil {
		name = *text
	}
	written, err := json.Marshal(arguments)
	if err != nil {
		panic(err) // it was parsed from JSON
	}
	return token.Digest([]byte(q.Method), []byte(server), []byte(name), written)
}

// Reply returns an answer that the router's tool itself gives.
func (q *Request) Reply(v any, failed bool) (mcp.Result, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	result := q.ReplyText(string(raw))
	result.Set("structuredContent", json.RawMessage(raw))
	if failed {
		result.Set("isError", true)
	}
	return result, nil
}

// ReplyText returns a text as the answer of a tool of the bridge itself.
func (q *Request) ReplyText(text string) *Result {
	result := EmptyResult()
	result.Set("content", []map[string]string{textBlock(text)})
	if q.Era == Modern {
		result.ForModern(q.Method, Implementation)
	}
	return result
}

func textBlock(text string) map[string]string {
	return map[string]string{"type": "text", "text": text}
}

// Send sends a message to a client, and returns the client's answer to a question.
type Send func(ctx context.Context, method string, params mcp.Params) (mcp.Result, error)

// Request is one request of a client.
type Request struct {
	// ID is the id as the client sent it, nil in a session.
	ID     json.RawMessage
	Method string
	Params mcp.Params
	// Sent is the request as the client sent it, nil for a request of the bridge itself.
	Sent *Sent
	Meta map[string]any // metadata of the received params
	// Responses are the client's answers to a server's earlier questions.
	Responses map[string]json.RawMessage
	// Send sends a message to the client before the answer. It is nil for a request of the bridge itself.
	Send   Send
	Era    Era
	Header http.Header
	// Record names what the calls of the request are noted in (callaudit), empty for none.
	Record string
	// Hops are the bridges that the request has passed.
	Hops string
	// Session is the client's session, nil for a modern request.
	Session Client
	// Invited says that the client already asked its user to log in.
	Invited bool
	// Waited says that the request has waited for a server that starts, for as long as it may.
	Waited bool
	// Routed says that the request came by the router's tool, so that its client knows no schema of
	// the server's tool.
	Routed bool
}

// Client is a client with a session.
type Client interface {
	// ID is the id of the session, empty over one stream.
	ID() string
	// Version is the version of the protocol that the client has asked for.
	Version() string
	// Info is the client's description of itself.
	Info() *mcp.Implementation
	// Capabilities are the client capabilities that a server may use.
	Capabilities() *mcp.ClientCapabilities
	// LogLevel is the client's log level; empty if it set none.
	LogLevel() string
	// Send is a Send.
	Send(ctx context.Context, method string, params mcp.Params) (mcp.Result, error)
	// LoginID returns the id of the pending login request for a server. It stays the same until
	// the user has logged in.
	LoginID(server string) string
}

// ClaimsModern reports whether the request itself names a modern version.
func (q *Request) ClaimsModern() bool {
	version, ok := q.Meta[MetaProtocolVersion].(string)
	return ok && version >= FirstModernVersion
}

// EmptyResult is the result of methods without a result.
func EmptyResult() *Result { return &Result{Fields: map[string]json.RawMessage{}} }

// Quote returns s as a JSON string.
func Quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}

// SetTrace writes the trace context into the request's metadata.
func (q *Request) SetTrace(parent, state string) {
	if parent == "" {
		return
	}
	// A tool call through the router shares its metadata map with the client's request.
	q.Meta = maps.Clone(q.Meta)
	if q.Meta == nil {
		q.Meta = map[string]any{}
	}
	q.Meta[MetaTraceparent] = parent
	if state != "" {
		q.Meta[MetaTracestate] = state
	}
}

// Trace returns the trace context that is sent to the server.
func (q *Request) Trace() string {
	parent, _ := TraceContext(nil, q.Meta)
	return parent
}
