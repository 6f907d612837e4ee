// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stateless

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	sent "github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// asSent parses JSON as the SDK does: names are case-sensitive, and the last of several equal
// names counts.
var asSent = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// message is a JSON-RPC message of a client.
type message struct {
	id   jsontext.Value // as received; nil for a notification
	name string         // of the method
	raw  jsontext.Value // the parameters; nil for none
	// answer says that the message is a response, which nothing waits for.
	answer bool
}

var (
	errEmptyBatch = errors.New("empty batch")
	errBatch      = errors.New("a batch")
	errNotObject  = errors.New("not a JSON-RPC message")
)

// parse parses a body with one message.
func parse(body []byte) (message, error) {
	switch start := bytes.TrimLeft(body, " \t\r\n"); {
	case bytes.HasPrefix(start, []byte("[")):
		return message{}, batch(body)
	case !bytes.HasPrefix(start, []byte("{")):
		return message{}, errNotObject
	}
	var m struct {
		Version string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Method  jsontext.Value `json:"method"`
		Params  jsontext.Value `json:"params"`
	}
	if err := json.Unmarshal(body, &m, asSent); err != nil {
		return message{}, errNotObject
	}
	if m.Version != "2.0" {
		return message{}, fmt.Errorf("invalid message version tag %q; expected %q", m.Version, "2.0")
	}
	parsed := message{raw: m.Params, answer: m.Method == nil}
	switch m.ID.Kind() {
	case '"', '0':
		parsed.id = m.ID
	case 'n', jsontext.KindInvalid:
	default:
		return message{}, errors.New("an id is a text or a number")
	}
	if parsed.answer && parsed.id == nil {
		return message{}, errNotObject
	}
	if parsed.answer {
		return parsed, nil
	}
	if err := json.Unmarshal(m.Method, &parsed.name, asSent); err != nil {
		return message{}, errors.New("a method is a text")
	}
	return parsed, nil
}

// batch returns the error for a body that is a list.
func batch(body []byte) error {
	var messages []jsontext.Value
	switch err := json.Unmarshal(body, &messages, asSent); {
	case err != nil:
		return errNotObject
	case len(messages) == 0:
		return errEmptyBatch
	}
	return errBatch
}

// check returns the row of m's method, or an error if clients cannot send such a message.
func (m message) check() (*methods.Method, error) {
	known := methods.Of(m.name)
	switch {
	case !known.FromClient():
		return nil, &unsupportedError{m.name}
	case known.Notification && m.id != nil:
		return nil, fmt.Errorf("invalid request: unexpected id for %q", m.name)
	case !known.Notification && m.id == nil:
		return nil, fmt.Errorf("invalid request: missing id for %q", m.name)
	case !known.OptionalParams && len(m.raw) == 0:
		return nil, errors.New(`invalid request: missing required "params"`)
	}
	return known, nil
}

// unsupportedError says that a method does not exist.
type unsupportedError struct{ method string }

// Error implements error.
func (e *unsupportedError) Error() string {
	return fmt.Sprintf("JSON RPC not handled: %q unsupported", e.method)
}

// decode returns the parameters of a request, or nil if the method's parameters are not read.
func (m message) decode() (mcp.Params, error) {
	return sent.DecodeParams(m.name, []byte(m.raw))
}

// metadata describes the request and its client.
type metadata struct {
	Version      jsontext.Value `json:"io.modelcontextprotocol/protocolVersion"`
	Client       jsontext.Value `json:"io.modelcontextprotocol/clientInfo"`
	Capabilities jsontext.Value `json:"io.modelcontextprotocol/clientCapabilities"`
}

// metadata returns the metadata of the request. It is empty if the metadata is missing or invalid.
func (m message) metadata() metadata {
	var p struct {
		Meta metadata `json:"_meta"`
	}
	if m.raw.Kind() != '{' || json.Unmarshal(m.raw, &p, asSent) != nil {
		return metadata{}
	}
	return p.Meta
}

// version returns the protocol version of the request, or an empty string.
func (d metadata) version() string {
	var version string
	if json.Unmarshal(d.Version, &version, asSent) != nil {
		return ""
	}
	return version
}

// check returns an error if the metadata does not describe the client completely.
func (d metadata) check() error {
	if d.Client != nil && json.Unmarshal(d.Client, new(mcp.Implementation), asSent) != nil || d.Client.Kind() == 'n' {
		return invalidParams("invalid _meta field %q", mcp.MetaKeyClientInfo)
	}
	if d.Capabilities.Kind() != '{' || json.Unmarshal(d.Capabilities, new(mcp.ClientCapabilities), asSent) != nil {
		return invalidParams("missing or invalid _meta field %q", mcp.MetaKeyClientCapabilities)
	}
	return nil
}

func invalidParams(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}
