// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/jsonscan"
)

// CodeAnswerInvalid is the code in the data of an error that replaces a server's answer.
const CodeAnswerInvalid = "answer_invalid"

// Message is a JSON-RPC message as it was sent. Its parts are parts of the message's text.
type Message struct {
	ID, Params, Result json.RawMessage
	// Error is that of an answer, nil for none.
	Error  json.RawMessage
	Method string
	// Request says that the message has a method, so that it is no answer.
	Request bool
	// Fault says what is wrong with an answer; empty for a valid one, and for requests.
	Fault string
	// version is the member "jsonrpc", nil for none, and failure says whether there is the member "error".
	version json.RawMessage
	failure bool
}

// IsAnswer reports whether a message without a method was meant to be an answer. Programs also log
// JSON.
func (m Message) IsAnswer() bool {
	return !m.Request && m.version != nil && (m.Result != nil || m.failure || m.ID != nil)
}

// Versioned reports whether the message says that it is one of JSON-RPC.
func (m Message) Versioned() bool { return m.version != nil }

// IsVersion2 reports whether the message is of JSON-RPC 2.0.
func (m Message) IsVersion2() bool { return jsonscan.Text(m.version) == "2.0" }

// Read reads a message. It returns false for a text that is not one JSON object.
func Read(text []byte) (Message, bool) {
	r := jsonscan.Open(text)
	defer r.Close()
	if !r.IsObject() {
		return Message{}, false
	}
	parts := map[string]json.RawMessage{}
	twice := ""
	for name := range r.Members() {
		switch key := string(name); key {
		case "jsonrpc", "id", "method", "params", "result", "error":
			if _, ok := parts[key]; ok {
				twice = key
			}
			parts[key] = r.Raw()
		}
	}
	if !r.Valid() {
		return Message{}, false
	}
	if twice == "id" || isNull(parts["id"]) {
		delete(parts, "id")
	}
	m := Message{ID: parts["id"], Params: parts["params"], Result: parts["result"], version: parts["jsonrpc"], failure: parts["error"] != nil}
	if method, ok := parts["method"]; ok {
		m.Request = true
		m.Method = jsonscan.Text(method)
		return m, true
	}
	m.Fault = faultOf(parts, twice)
	if m.failure && !isNull(parts["error"]) {
		m.Error = parts["error"]
	}
	return m, true
}

// Head returns the id and the method of a message that begins with them, as Append writes it: nil and
// empty for those that stand behind its parameters or its result.
func Head(text []byte) (id json.RawMessage, method string) {
	r := jsonscan.Open(text)
	defer r.Close()
	for name := range r.Members() {
		switch string(name) {
		case "jsonrpc":
		case "id":
			id = r.Raw()
		case "method":
			return id, r.Text()
		default:
			return id, ""
		}
	}
	return id, ""
}

// Batch returns the messages of a batch. It returns false for a text that is no array.
func Batch(text []byte) ([]json.RawMessage, bool) {
	if !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("[")) {
		return nil, false
	}
	r := jsonscan.Open(text)
	defer r.Close()
	var each []json.RawMessage
	for range r.Items() {
		each = append(each, r.Raw())
	}
	return each, r.Valid()
}

// faultOf returns what is wrong with an answer.
func faultOf(parts map[string]json.RawMessage, twice string) string {
	version, hasVersion := parts["jsonrpc"]
	_, hasID := parts["id"]
	switch {
	case twice != "":
		return `it has the member "` + twice + `" twice`
	case !hasVersion:
		return `it has no "jsonrpc"`
	case jsonscan.Text(version) != "2.0":
		return `its "jsonrpc" is not "2.0"`
	}
	if fault := outcomeFault(parts); fault != "" {
		return fault
	}
	if !hasID {
		return "it has no id"
	}
	return ""
}

// outcomeFault returns what is wrong with the outcome of an answer. A null error beside a result,
// and a null result beside an error, count as missing: some servers write both members always.
func outcomeFault(parts map[string]json.RawMessage) string {
	result, hasResult := parts["result"]
	failure, hasError := parts["error"]
	switch {
	case hasResult && hasError && !isNull(result) && !isNull(failure):
		return "it has both a result and an error"
	case !hasResult && (!hasError || isNull(failure)):
		return "it has neither a result nor an error"
	}
	return ""
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// FaultFor returns what is wrong with the answer to the request of the given id.
func (m Message) FaultFor(id json.RawMessage) string {
	switch {
	case m.Request:
		return "it is a request"
	case m.Fault != "":
		return m.Fault
	case !sameID(m.ID, id):
		return "its id is not that of the request"
	}
	return ""
}

// sameID compares two ids. The ids of the bridge are whole numbers, which some servers write as
// 1.0.
func sameID(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if len(a) == 0 || len(b) == 0 || a[0] == '"' || b[0] == '"' {
		return false
	}
	x, errX := jsondoc.CanonicalExact(a)
	y, errY := jsondoc.CanonicalExact(b)
	return errX == nil && errY == nil && x == y
}

// InvalidAnswer returns the error that replaces an answer with a fault.
func InvalidAnswer(fault string) *jsonrpc.Error {
	return &jsonrpc.Error{
		Code:    jsonrpc.CodeInternalError,
		Message: "the server's answer is not a valid JSON-RPC answer: " + fault,
		Data:    jsondoc.EncodeExact(map[string]string{"code": CodeAnswerInvalid}),
	}
}

// Failure returns the error of an answer, nil if it has none. What is no JSON-RPC error is an invalid
// answer.
func (m Message) Failure() *jsonrpc.Error {
	if m.Error == nil {
		return nil
	}
	failure := &jsonrpc.Error{}
	if json.Unmarshal(m.Error, failure) != nil {
		return InvalidAnswer("its error is no object with a code and a message")
	}
	return failure
}

// Append appends a message to b: a request if it has an id, else a notification. params may be nil.
func Append(b []byte, id json.RawMessage, method string, params json.RawMessage) []byte {
	b = slices.Grow(b, len(id)+len(method)+len(params)+64)
	b = append(b, `{"jsonrpc":"2.0",`...)
	if id != nil {
		b = append(append(append(b, `"id":`...), id...), ',')
	}
	b = append(append(b, `"method":`...), jsondoc.EncodeExact(method)...)
	if params != nil {
		b = append(append(b, `,"params":`...), params...)
	}
	return append(b, '}')
}

// minPart is the size in bytes from which it is worth to send parameters as a part of their own: several
// parts take more memory and time than a copy of small ones.
const minPart = 64 << 10

// Parts returns the parts of what Append appends. Large parameters are one of them, and are not copied.
func Parts(id json.RawMessage, method string, params json.RawMessage) [][]byte {
	if len(params) < minPart {
		return [][]byte{Append(nil, id, method, params)}
	}
	head := Append(nil, id, method, json.RawMessage{})
	return [][]byte{head[:len(head)-1], params, {'}'}}
}

// Answer returns the answer to a request: the result, or the error if there is one.
func Answer(id, result json.RawMessage, failure *jsonrpc.Error) []byte {
	b := make([]byte, 0, len(id)+len(result)+64)
	b = append(append(append(b, `{"jsonrpc":"2.0","id":`...), id...), ',')
	if failure != nil {
		return append(append(append(b, `"error":`...), jsondoc.EncodeExact(failure)...), '}')
	}
	return append(append(append(b, `"result":`...), result...), '}')
}

// ErrorOf returns err as it stands in an answer, nil for none. A wrapped JSON-RPC error gives its code, and
// the text is that of err.
func ErrorOf(err error) *jsonrpc.Error {
	if err == nil {
		return nil
	}
	failure, ok := err.(*jsonrpc.Error) //nolint:errorlint // A wrapped error has another text.
	if ok {
		return failure
	}
	failure = &jsonrpc.Error{Message: err.Error()}
	if inner, ok := errors.AsType[*jsonrpc.Error](err); ok {
		failure.Code = inner.Code
	}
	return failure
}

// ReadAll reads r to its end. length is what the sender announced, negative if nothing: a buffer
// that grows needs twice the memory.
func ReadAll(r io.Reader, length int64) ([]byte, error) {
	if length <= 0 || length > MaxAnswer {
		return io.ReadAll(r)
	}
	b := bytes.NewBuffer(make([]byte, 0, length+bytes.MinRead))
	_, err := b.ReadFrom(r)
	return b.Bytes(), err
}
