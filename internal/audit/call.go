// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package audit is the audit trail: what a bridge reports to the ingress of its
// tool calls, the entries that the ingress writes, and the chain of lines that
// contains them. Its types have names, sizes and outcomes, and no field that
// can hold an argument or a result.
//
// The package is pure.
package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Status is how a tool call ended.
type Status string

// The statuses.
const (
	Success Status = "success"
	// ToolError is a result that says isError.
	ToolError Status = "tool_error"
	// ProtocolError is a JSON-RPC error, of the server or of the bridge.
	ProtocolError Status = "protocol_error"
	Denied        Status = "denied"
	RateLimited   Status = "rate_limited"
	// UpstreamError says that the server was not reached or gave no answer.
	UpstreamError Status = "upstream_error"
	Timeout       Status = "timeout"
	Cancelled     Status = "cancelled"
	// InputRequired is an answer that asks for something before there is a
	// result.
	InputRequired Status = "input_required"
)

var statuses = [...]Status{Success, ToolError, ProtocolError, Denied, RateLimited, UpstreamError, Timeout, Cancelled, InputRequired}

// Statuses are all statuses.
func Statuses() []Status { return slices.Clone(statuses[:]) }

// Call is one tool call.
type Call struct {
	// ID is the bridge's own name for the call, empty if it gives none. An
	// entry has its own id instead.
	ID string `json:"id,omitempty"`
	// Server is the server that the call went to, as the configuration names
	// it. Empty where it went to none.
	Server string `json:"server,omitempty"`
	// Credential is whose secrets the server was called with, if they are not the user's:
	// shared/ and the name of a SharedServer.
	Credential string `json:"credential,omitempty"`
	// Tool is the tool's name at the server; without a server, as the client
	// named it.
	Tool   string `json:"tool"`
	Method string `json:"method"`
	// Action is what the router's tool was asked to do, empty for other tools.
	Action string `json:"action,omitempty"`
	// ParamKeys are the names of the arguments.
	ParamKeys []string `json:"paramKeys,omitempty"`
	Status    Status   `json:"status"`
	// ErrorType is a code of the bridge or the number of a JSON-RPC error.
	ErrorType string `json:"errorType,omitempty"`
	LatencyMS int64  `json:"latencyMs"`
	// BytesIn and BytesOut are the sizes of arguments and result as JSON.
	BytesIn  int64 `json:"bytesIn"`
	BytesOut int64 `json:"bytesOut"`
	// Cached says that the answer was kept from an earlier call.
	Cached bool `json:"cached,omitempty"`
	// Retries counts the attempts after the first.
	Retries int `json:"retries,omitempty"`
	// ProtocolVersion is the client's.
	ProtocolVersion string `json:"protocolVersion,omitempty"`
}

// The bounds of a call, in characters but for the number of keys. They are
// above what the protocol recommends for names, 128, and keep one call below
// the size of a trailer.
const (
	maxName = 128
	maxKey  = 64
	maxKeys = 32
)

// plain reports whether c may stand in a key.
func plain(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-'
}

// inName reports whether c may stand in a name. Servers' names have spaces,
// and methods' slashes.
func inName(c rune) bool { return plain(c) || c == '/' || c == ' ' }

// Name returns s as it may stand in a Call: characters that may not are
// replaced by an underscore, and what is too long is cut.
func Name(s string) string {
	if within := s[:min(len(s), maxName)]; isName(within) {
		return within
	}
	var b strings.Builder
	for _, c := range s {
		if b.Len() == maxName {
			break
		}
		if !inName(c) {
			c = '_'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// Keys returns the names of an object's fields as they may stand in a Call, in
// order. A name with other characters than letters, digits, underscore, full
// stop and hyphen might be a value, and is left out, as is one that is too
// long.
func Keys(object json.RawMessage) []string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return nil
	}
	return KeysOf(slices.Collect(maps.Keys(fields)))
}

// KeysOf is Keys for an object whose fields have these names. It takes names for
// its own.
func KeysOf(names []string) []string {
	names = slices.DeleteFunc(names, invalidKey)
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), maxKeys)]
}

func validKey(s string) bool {
	if s == "" || len(s) > maxKey {
		return false
	}
	for i := range len(s) {
		if !plain(rune(s[i])) {
			return false
		}
	}
	return true
}

func invalidKey(s string) bool { return !validKey(s) }

func validName(s string) bool { return len(s) <= maxName && isName(s) }

// isName reports whether s is of characters of names, none of which is longer
// than a byte.
func isName(s string) bool {
	for i := range len(s) {
		if !inName(rune(s[i])) {
			return false
		}
	}
	return true
}

var errNumber = errors.New("a number is negative")

// validate reports what keeps c from being one that Name and Keys can give.
func (c Call) validate() error {
	for _, s := range [...]struct{ field, value string }{
		{"id", c.ID}, {"server", c.Server}, {"credential", c.Credential}, {"tool", c.Tool}, {"method", c.Method}, {"action", c.Action},
		{"errorType", c.ErrorType}, {"protocolVersion", c.ProtocolVersion},
	} {
		if !validName(s.value) {
			return fmt.Errorf("%s is not a name", s.field)
		}
	}
	if !slices.Contains(statuses[:], c.Status) {
		return errors.New("status is unknown")
	}
	if len(c.ParamKeys) > maxKeys || slices.ContainsFunc(c.ParamKeys, invalidKey) {
		return errors.New("paramKeys are too many or no names")
	}
	if min(c.LatencyMS, c.BytesIn, c.BytesOut, int64(c.Retries)) < 0 {
		return errNumber
	}
	return nil
}

// bounded returns c as it may stand in a trailer, whatever it was made of.
func (c Call) bounded() Call {
	c.ID, c.Server, c.Tool, c.Method = Name(c.ID), Name(c.Server), Name(c.Tool), Name(c.Method)
	c.Credential = Name(c.Credential)
	c.Action, c.ErrorType, c.ProtocolVersion = Name(c.Action), Name(c.ErrorType), Name(c.ProtocolVersion)
	if slices.ContainsFunc(c.ParamKeys, invalidKey) {
		c.ParamKeys = slices.DeleteFunc(slices.Clone(c.ParamKeys), invalidKey)
	}
	c.ParamKeys = c.ParamKeys[:min(len(c.ParamKeys), maxKeys)]
	if !slices.Contains(statuses[:], c.Status) {
		c.Status = ProtocolError
	}
	c.LatencyMS, c.BytesIn, c.BytesOut, c.Retries = max(c.LatencyMS, 0), max(c.BytesIn, 0), max(c.BytesOut, 0), max(c.Retries, 0)
	return c
}
