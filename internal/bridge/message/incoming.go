// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/jsonscan"
)

// CodeAnswerInvalid is the code in the data of an error that replaces a server's answer.
const CodeAnswerInvalid = "answer_invalid"

// Incoming is a JSON-RPC message of a server. Its parts are parts of the message's text.
type Incoming struct {
	ID, Params, Result json.RawMessage
	Method             string
	// Request says that the message has a method, so that it is no answer.
	Request bool
	// Fault says what is wrong with an answer; empty for a valid one, and for requests.
	Fault string
	// Failed says that a valid answer is an error.
	Failed bool
	// version and failure say whether the message has these members.
	version, failure bool
}

// IsAnswer reports whether a message without a method was meant to be an answer. Programs also log
// JSON.
func (m Incoming) IsAnswer() bool {
	return !m.Request && m.version && (m.Result != nil || m.failure || m.ID != nil)
}

// ReadIncoming reads a message. It returns false for a text that is not one JSON object.
func ReadIncoming(text []byte) (Incoming, bool) {
	r := jsonscan.Open(text)
	defer r.Close()
	if !r.IsObject() {
		return Incoming{}, false
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
		return Incoming{}, false
	}
	if twice == "id" || isNull(parts["id"]) {
		delete(parts, "id")
	}
	m := Incoming{ID: parts["id"], Params: parts["params"], Result: parts["result"], version: parts["jsonrpc"] != nil, failure: parts["error"] != nil}
	if method, ok := parts["method"]; ok {
		m.Request = true
		m.Method = jsonscan.Text(method)
		return m, true
	}
	m.Fault = faultOf(parts, twice)
	m.Failed = m.failure && !isNull(parts["error"])
	return m, true
}

// MethodIn returns the method in a text with one message. It reads no further: senders write the
// parameters, which may be large, behind it. It returns false if there is none.
func MethodIn(text []byte) (method string, ok bool) {
	r := jsonscan.Open(text)
	defer r.Close()
	if !r.IsObject() {
		return "", false
	}
	for name := range r.Members() {
		if string(name) == "method" {
			return jsonscan.Text(r.Raw()), true
		}
	}
	return "", false
}

// BatchOf returns the messages of a batch, each in one line. It returns false for a text that is no
// array.
func BatchOf(text []byte) ([]json.RawMessage, bool) {
	if !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("[")) {
		return nil, false
	}
	r := jsonscan.Open(text)
	defer r.Close()
	var each []json.RawMessage
	for range r.Items() {
		one := r.Raw()
		if bytes.ContainsAny(one, "\r\n") {
			var line bytes.Buffer
			_ = json.Compact(&line, one) // What is no JSON makes the whole invalid.
			one = line.Bytes()
		}
		each = append(each, one)
	}
	return each, r.Valid()
}

// faultOf returns what is wrong with an answer.
func faultOf(parts map[string]json.RawMessage, twice string) string {
	version, hasVersion := parts["jsonrpc"]
	_, hasID := parts["id"]
	switch {
	case twice != "":
		return "it has the member " + Quote(twice) + " twice"
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
	case !hasResult && !hasError:
		return "it has neither a result nor an error"
	}
	return ""
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// FaultFor returns what is wrong with the answer to the request of the given id.
func (m Incoming) FaultFor(id json.RawMessage) string {
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

// InvalidAnswerTo returns the message that replaces an answer with a fault. Without an id, the
// message has an empty one: the reader must find the request.
func InvalidAnswerTo(id json.RawMessage, fault string) []byte {
	if len(id) == 0 {
		id = json.RawMessage(`""`)
	}
	return jsondoc.EncodeExact(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, InvalidAnswer(fault)})
}
