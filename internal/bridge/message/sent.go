// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/jsonscan"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// The SDK's types for parameters lose unknown fields, empty values and large numbers. The bridge reads names in
// them, and passes on the parameters as they were sent.

// Sent is a request of a client as it was sent.
type Sent struct {
	// Params are nil if the request has none.
	Params json.RawMessage
	// Withdrawn holds the parameters with which the client cancelled the request.
	Withdrawn Withdrawal
}

// ReadSent sets the metadata and the answers of the request to what the client sent, with exact
// numbers.
func (q *Request) ReadSent() {
	q.Meta = maps.Clone(q.Params.GetMeta())
	if q.Sent == nil {
		return
	}
	fields := objectOf(q.Sent.Params)
	if methods.Of(q.Method).Asks {
		q.Responses = objectOf(fields["inputResponses"])
	}
	var exact map[string]any
	if jsondoc.DecodeExact(fields["_meta"], &exact) == nil && exact != nil {
		q.Meta = exact
	}
}

// withoutAnswers returns the parameters of a request without the answers to a server's questions: the SDK's
// types know only some forms of these.
func withoutAnswers(method string, params json.RawMessage) json.RawMessage {
	const answers = "inputResponses"
	if !methods.Of(method).Asks || !bytes.Contains(params, []byte(answers)) {
		return params
	}
	fields := objectOf(params)
	if _, ok := fields[answers]; !ok {
		return params
	}
	delete(fields, answers)
	return jsondoc.EncodeExact(fields)
}

// objectOf returns the fields of a JSON object, nil for other values. They are parts of raw.
func objectOf(raw json.RawMessage) map[string]json.RawMessage {
	r := jsonscan.Open(raw)
	defer r.Close()
	if !r.IsObject() {
		return nil
	}
	fields := map[string]json.RawMessage{}
	for name := range r.Members() {
		fields[string(name)] = r.Raw()
	}
	if !r.Valid() {
		return nil
	}
	return fields
}

// sizeOf returns about how many bytes of JSON an object has.
func sizeOf(fields map[string]json.RawMessage) int {
	size := len("{}")
	for name, value := range fields {
		size += len(name) + len(value) + len(`"":,`)
	}
	return size
}

// writeObject writes the JSON of an object, on one line, to w. Large values are written as they are, unless
// they have several lines.
func writeObject(w io.Writer, fields map[string]json.RawMessage) error {
	var line bytes.Buffer
	before, end := "{", "}"
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := []byte(fields[name])
		if len(value) <= LargeResult || bytes.ContainsAny(value, "\r\n") {
			line.Reset()
			if err := json.Compact(&line, value); err != nil {
				return fmt.Errorf("encode %.40q: %w", name, err)
			}
			value = line.Bytes()
		}
		if _, err := io.WriteString(w, before+Quote(name)+":"); err != nil {
			return err
		}
		if _, err := w.Write(value); err != nil {
			return err
		}
		before = ","
	}
	if len(fields) == 0 {
		end = "{}"
	}
	_, err := io.WriteString(w, end)
	return err
}

// Outgoing are the parameters of a client's request for a server: as the client sent them, with
// other metadata and the server's own names.
type Outgoing struct {
	mcp.ParamsBase
	// Fields are all parameters but the metadata.
	Fields map[string]json.RawMessage
}

// MarshalJSON puts the metadata beside the other fields.
func (p *Outgoing) MarshalJSON() ([]byte, error) {
	fields := p.Fields
	if p.Meta != nil {
		if fields = maps.Clone(fields); fields == nil {
			fields = map[string]json.RawMessage{}
		}
		fields["_meta"] = jsondoc.EncodeExact(p.Meta)
	}
	var b bytes.Buffer
	b.Grow(sizeOf(fields))
	err := writeObject(&b, fields)
	return b.Bytes(), err
}

// Outgoing returns the parameters for the server with the given metadata.
func (q *Request) Outgoing(meta map[string]any) *Outgoing {
	p := &Outgoing{ParamsBase: mcp.ParamsBase{Meta: meta}}
	if q.Sent != nil {
		p.Fields = objectOf(q.Sent.Params)
	} else if raw, err := json.Marshal(q.Params); err == nil {
		p.Fields = objectOf(raw)
	}
	if p.Fields == nil {
		p.Fields = map[string]json.RawMessage{}
	}
	delete(p.Fields, "_meta")
	q.applyChanges(p.Fields)
	return p
}

// OnWire returns the parameters to send: nil if the client sent none and the bridge adds none.
func (p *Outgoing) OnWire(q *Request) mcp.Params {
	if q.Sent != nil && q.Sent.Params == nil && len(p.Fields) == 0 && p.Meta == nil {
		return nil
	}
	return p
}

// applyChanges writes into fields what the bridge has changed in the request: names, the arguments
// of a call through the router, and answers that are not for the server.
func (q *Request) applyChanges(fields map[string]json.RawMessage) {
	// URIs are the same everywhere, and names in references stand deeper.
	if names := methods.Of(q.Method).Names; names == methods.Tool || names == methods.Prompt {
		if _, text := NameIn(q.Method, q.Params); text != nil {
			setText(fields, names.Member(), *text)
		}
	}
	switch p := q.Params.(type) {
	case *mcp.CallToolParamsRaw:
		if len(p.Arguments) > 0 && !bytes.Equal(p.Arguments, fields["arguments"]) {
			fields["arguments"] = p.Arguments
		}
	case *mcp.CompleteParams:
		applyReference(fields, p.Ref)
	}
	if sent := objectOf(fields["inputResponses"]); len(sent) != len(q.Responses) {
		if fields["inputResponses"] = jsondoc.EncodeExact(q.Responses); len(q.Responses) == 0 {
			delete(fields, "inputResponses")
		}
	}
}

// applyReference writes the name of the prompt that is referred to into fields.
func applyReference(fields map[string]json.RawMessage, to *mcp.CompleteReference) {
	ref := objectOf(fields["ref"])
	if ref != nil && to != nil && to.Name != "" && setText(ref, "name", to.Name) {
		fields["ref"] = jsondoc.EncodeExact(ref)
	}
}

// setText sets a field to a text, and reports whether it had another value.
func setText(fields map[string]json.RawMessage, key, text string) bool {
	var now *string
	if raw, ok := fields[key]; ok && json.Unmarshal(raw, &now) == nil && now != nil && *now == text {
		return false
	}
	if _, ok := fields[key]; !ok && text == "" {
		return false
	}
	fields[key] = json.RawMessage(Quote(text))
	return true
}

// SetInput puts the client's answers to the server's questions into the request.
func (p *Outgoing) SetInput(responses map[string]json.RawMessage, state string) {
	delete(p.Fields, "inputResponses")
	delete(p.Fields, "requestState")
	if len(responses) > 0 {
		p.Fields["inputResponses"] = jsondoc.EncodeExact(responses)
	}
	if state != "" {
		p.Fields["requestState"] = json.RawMessage(Quote(state))
	}
}
