// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package outputs

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
)

const (
	// MetaUnfit is the key of _meta of a result that is marked as an error because it does not fit.
	MetaUnfit = "hostedbridge.dev/unfit"
	// relisting is for how long clients may have a list of before: they may keep one for a minute.
	relisting = time.Minute
	// maxTools bounds the tools of which schemas are kept, the number that a server may list.
	maxTools = 5000

	note = "[The tool reports no error. Its structured result does not fit the output schema that its server lists, " +
		"and is marked as an error because many clients show nothing of such a result otherwise.]"

	fieldContent    = "content"
	fieldStructured = "structuredContent"
	fieldSchema     = "outputSchema"
)

// Outputs are the output schemas of one server's tools, and which of them its results did not fit. The
// zero value is ready.
type Outputs struct {
	mu    sync.Mutex
	tools map[string]*tool
	unfit int
}

// tool is a tool that was called.
type tool struct {
	entry json.RawMessage // in the server's list
	text  json.RawMessage // of the schema in it
	// schema is nil if nothing is compared with it.
	schema *schema
	// dropped is when the schema was left out of lists, zero while it is listed.
	dropped time.Time
}

// Unfit returns how many results did not fit.
func (o *Outputs) Unfit() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.unfit
}

// Listed returns a tool's entry in the server's list as clients see it: without a schema that a result
// did not fit, until the server lists another one.
func (o *Outputs) Listed(name string, entry json.RawMessage) json.RawMessage {
	o.mu.Lock()
	t := o.tools[name]
	left := t != nil && !t.dropped.IsZero()
	o.mu.Unlock()
	if !left {
		return entry
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(entry, &members) != nil || !bytes.Equal(members[fieldSchema], t.text) {
		return entry
	}
	delete(members, fieldSchema)
	without, err := json.Marshal(members)
	if err != nil {
		return entry
	}
	return without
}

// Call is the result of one call. The zero value is that of no tool.
type Call struct {
	outputs *Outputs
	tool    *tool // nil if the result is not compared
	result  *message.Result
}

// Of returns the call of a tool with its entry in the server's list, nil for none, and its result.
func (o *Outputs) Of(name string, entry json.RawMessage, r *message.Result, now time.Time) Call {
	c := Call{outputs: o, result: r}
	if bytes.Contains(entry, []byte(`"`+fieldSchema+`"`)) && compared(r) {
		c.tool = o.find(name, entry, now)
	}
	return c
}

// compared reports whether a result is that of a tool which has ended without an error.
func compared(r *message.Result) bool {
	_, content := r.Fields[fieldContent]
	_, task := r.Fields["task"] // The result follows later.
	kind := r.Fields["resultType"]
	return (content || structured(r) != nil) && !task && !r.IsError() && !r.NeedsInput() &&
		(kind == nil || bytes.Equal(kind, []byte(`"complete"`)))
}

// find returns the tool, nil if nothing is compared with its schema, or clients know that it has none.
func (o *Outputs) find(name string, entry json.RawMessage, now time.Time) *tool {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.tools[name]
	if t == nil || !bytes.Equal(t.entry, entry) {
		if t = o.listed(name, entry, t); t == nil {
			return nil
		}
	}
	if t.schema == nil || !t.dropped.IsZero() && now.Sub(t.dropped) > relisting {
		return nil
	}
	return t
}

// listed returns the tool of an entry that is new, nil for an entry that cannot be read. A tool whose
// schema is that of the entry before stays. The caller holds o.mu.
func (o *Outputs) listed(name string, entry json.RawMessage, before *tool) *tool {
	var of struct {
		Schema json.RawMessage `json:"outputSchema"`
	}
	if json.Unmarshal(entry, &of) != nil {
		return nil
	}
	if before != nil && bytes.Equal(before.text, of.Schema) {
		before.entry = entry
		return before
	}
	t := &tool{entry: entry, text: of.Schema, schema: compile(of.Schema)}
	if o.tools == nil || len(o.tools) >= maxTools {
		o.tools = map[string]*tool{}
	}
	o.tools[name] = t
	return t
}

// Mend gives the result a text if it has structured content alone, as the protocol asks of servers,
// and structured content if a text of it is what the schema describes. Structured content that does
// not fit becomes a text. It comes before the policy for results of the server.
func (c Call) Mend() {
	if c.result == nil || c.result.Size() > maxCompared {
		return
	}
	value := structured(c.result)
	if value == nil {
		delete(c.result.Fields, fieldStructured) // SDKs refuse null.
	} else if !hasContent(c.result) {
		addText(c.result, string(value))
	}
	switch {
	case c.tool == nil:
	case value == nil:
		c.findStructured()
	default:
		if fit, known := c.tool.schema.fits(value); known && !fit {
			keepAsText(c.result, value)
		}
	}
}

// findStructured makes a text that the schema describes structured content.
func (c Call) findStructured() {
	for _, text := range texts(c.result) {
		object := json.RawMessage(strings.TrimSpace(text))
		if fit, _ := c.tool.schema.fits(object); fit && object[0] == '{' {
			c.result.Fields[fieldStructured] = object
			return
		}
	}
}

// Settle marks a result without structured content as an error, since clients show the text of errors
// alone. It comes after the policy for results, which may have left out structured content. It reports
// whether the tool's schema is now left out of lists.
func (c Call) Settle(now time.Time) (changed bool) {
	if c.tool == nil || structured(c.result) != nil {
		return false
	}
	delete(c.result.Fields, fieldStructured) // It may be null.
	c.result.Set("isError", true)
	c.result.AddMeta(MetaUnfit, map[string]any{"isError": false})
	addText(c.result, note)
	c.outputs.mu.Lock()
	defer c.outputs.mu.Unlock()
	c.outputs.unfit++
	changed = c.tool.dropped.IsZero()
	if changed {
		c.tool.dropped = now
	}
	return changed
}

// structured returns the structured content, nil for a result without it.
func structured(r *message.Result) json.RawMessage {
	value := r.Fields[fieldStructured]
	if bytes.Equal(value, []byte("null")) {
		return nil
	}
	return value
}

// hasContent reports whether the result has a block of content.
func hasContent(r *message.Result) bool {
	var blocks []json.RawMessage
	raw, ok := r.Fields[fieldContent]
	return ok && (json.Unmarshal(raw, &blocks) != nil || len(blocks) > 0)
}

// texts returns the texts in the content.
func texts(r *message.Result) (found []string) {
	var blocks []struct {
		Type string
		Text string
	}
	_ = json.Unmarshal(r.Fields[fieldContent], &blocks) // blocks of another shape have no text
	for _, b := range blocks {
		if b.Type == "text" {
			found = append(found, b.Text)
		}
	}
	return found
}

// keepAsText puts structured content into the content, unless a text there is the same.
func keepAsText(r *message.Result, value json.RawMessage) {
	delete(r.Fields, fieldStructured)
	for _, text := range texts(r) {
		if sameJSON([]byte(text), value) {
			return
		}
	}
	addText(r, string(value))
}

// sameJSON reports whether two texts are equal but for the space between tokens.
func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// addText adds a text to the content. Content that is large or of an unexpected shape stays as it is.
func addText(r *message.Result, text string) {
	var blocks []json.RawMessage
	if raw, ok := r.Fields[fieldContent]; ok && (len(raw) > maxCompared || json.Unmarshal(raw, &blocks) != nil) {
		return
	}
	block, err := json.Marshal(map[string]string{"type": "text", "text": text})
	if err == nil {
		r.Set(fieldContent, append(blocks, block))
	}
}
