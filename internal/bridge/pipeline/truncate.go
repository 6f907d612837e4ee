// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// minResult is the smallest limit in bytes: a smaller result has no room for a note. Smaller limits are
// raised to it.
const minResult = 512

// fieldsSize returns the size of a result with these fields, in bytes of JSON.
func fieldsSize(fields map[string]json.RawMessage) int {
	size := len("{}")
	for name, value := range fields {
		size += len(name) + len(value) + len(`"":,`)
	}
	return size
}

// truncateResult shortens the result of method to limit bytes of JSON: a model would lose its context
// in a result of megabytes, or its client would refuse it. It changes fields, and reports
// whether it changed anything; results of other methods have no content. It keeps the beginning of
// every text, and all small parts. Structured content and binary data are kept whole or left out,
// because a part of them is not valid.
func truncateResult(method string, fields map[string]json.RawMessage, limit int) bool {
	limit = max(limit, minResult)
	list := methods.Of(method).Content
	if list == "" || fieldsSize(fields) <= limit {
		return false
	}
	r := &cutResult{fields: fields, list: list, limit: limit}
	r.read()
	r.omit()
	r.cut()
	r.write()
	return true
}

// cutResult is a result while it is shortened.
type cutResult struct {
	fields map[string]json.RawMessage
	list   string // the name of the field with the content
	limit  int

	entries []map[string]any // of that field
	parts   []*cutPart
	fixed   int // the size of everything else
	notes   []string
}

// cutPart is a part of the result that can be shortened: the text or data of a content block, or a
// field.
type cutPart struct {
	owner map[string]any // the content block; nil for a field
	key   string
	text  bool // if false, the part is kept whole or left out
	size  int  // in bytes of JSON
}

// read finds the parts that can be shortened.
func (r *cutResult) read() {
	for name, value := range r.fields {
		switch name {
		case r.list:
			if jsondoc.DecodeExact(value, &r.entries) != nil {
				r.entries = nil // an unexpected shape, replaced by a note
				r.notes = append(r.notes, omitted(r.list, len(value)))
			}
		case "isError", "resultType", "ttlMs", "cacheScope":
		default:
			r.parts = append(r.parts, &cutPart{key: name, size: len(value)})
		}
	}
	for _, e := range r.entries {
		r.readEntry(e)
	}
	// The largest first; the map's order must not decide which parts are kept.
	slices.SortStableFunc(r.parts, func(a, b *cutPart) int {
		return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.key, b.key))
	})
	r.fixed = fieldsSize(r.fields)
	if raw, ok := r.fields[r.list]; ok {
		r.fixed += len(jsondoc.EncodeExact(r.entries)) - len(raw)
	}
	for _, p := range r.parts {
		r.fixed -= p.size
	}
}

// readEntry finds the text and data of a content block, of a prompt's message
// around one or several, or of a resource.
func (r *cutResult) readEntry(e map[string]any) {
	for _, key := range []string{"text", "data", "blob"} {
		if s, ok := e[key].(string); ok {
			r.parts = append(r.parts, &cutPart{owner: e, key: key, text: key == "text", size: encoded(s)})
		}
	}
	for _, key := range []string{"content", "resource"} {
		switch inner := e[key].(type) {
		case map[string]any:
			r.readEntry(inner)
		case []any:
			for _, block := range inner {
				if b, ok := block.(map[string]any); ok {
					r.readEntry(b)
				}
			}
		}
	}
}

// omit leaves out the parts that are not text and larger than their share, the largest first: this
// frees space for the others. With very many parts it does not search for the last part that would
// still fit.
func (r *cutResult) omit() {
	for range 32 {
		i := slices.IndexFunc(r.parts, r.tooLarge(r.share()))
		if i < 0 {
			return
		}
		r.leaveOut(r.parts[i])
		r.parts = slices.Delete(r.parts, i, i+1)
	}
	tooLarge := r.tooLarge(r.share())
	r.parts = slices.DeleteFunc(r.parts, func(p *cutPart) bool {
		if tooLarge(p) {
			r.leaveOut(p)
			return true
		}
		return false
	})
}

// tooLarge returns a function that reports whether a part is left out at that share.
func (r *cutResult) tooLarge(share int) func(*cutPart) bool {
	return func(p *cutPart) bool { return !p.text && p.size > max(share, cutNoteSize) }
}

// cutNoteSize is an upper bound of a note's size in bytes of JSON: replacing smaller parts would gain
// nothing.
const cutNoteSize = 120

// share returns the size that each part may have so that all fit. Small parts leave their unused
// space to the others.
func (r *cutResult) share() int {
	left := r.limit - r.fixed - cutNoteSize*len(r.notes)
	for i, p := range slices.Backward(r.parts) {
		share := left / (i + 1)
		if p.size > share {
			return max(share, 0)
		}
		left -= p.size
	}
	return r.limit
}

func (r *cutResult) leaveOut(p *cutPart) {
	if p.owner == nil {
		r.notes = append(r.notes, omitted(p.key, p.size))
		delete(r.fields, p.key)
		return
	}
	kind, _ := p.owner["type"].(string)
	if kind == "" {
		kind = p.key
	}
	note := omitted(kind, p.size)
	r.fixed += cutNoteSize
	delete(p.owner, p.key)
	delete(p.owner, "mimeType")
	p.owner["text"] = note
	if _, ok := p.owner["type"]; ok {
		p.owner["type"] = "text"
	} else if _, ok := p.owner["uri"]; ok {
		p.owner["mimeType"] = "text/plain"
	}
}

// omitted is the note for a part that was left out. Names come from a server and may have any
// length.
func omitted(what string, size int) string {
	return fmt.Sprintf("[left out: %.40s of %d bytes]", strconv.QuoteToASCII(what), size)
}

// cut shortens the texts that are larger than their share.
func (r *cutResult) cut() {
	share := max(r.share(), cutNoteSize) // a shorter text is no longer than a note
	for _, p := range r.parts {
		if s, ok := p.owner[p.key].(string); ok && p.text && p.size > share {
			p.owner[p.key] = truncateText(s, share)
		}
	}
}

// write puts the content back with the notes. If there are too many blocks, it drops the last
// ones.
func (r *cutResult) write() {
	for len(r.entries) > 0 {
		r.fields[r.list] = jsondoc.EncodeExact(append(slices.Clip(r.entries), r.noted()...))
		if fieldsSize(r.fields) <= r.limit {
			return
		}
		r.shorten()
	}
	r.fields[r.list] = jsondoc.EncodeExact(r.noted())
	if fieldsSize(r.fields) <= r.limit {
		return
	}
	// A very large number of fields, each of them small.
	for name := range r.fields {
		if name != r.list && name != "isError" && name != "resultType" {
			delete(r.fields, name)
		}
	}
	r.notes = []string{"[left out: all, since it had too many parts]"}
	r.fields[r.list] = jsondoc.EncodeExact(r.noted())
}

// blocksLeftOut is the note for the blocks that shorten removed.
const blocksLeftOut = "[left out: the last of many parts]"

// shorten removes the last blocks, a fifth at a time.
func (r *cutResult) shorten() {
	keep := len(r.entries) - 1 - len(r.entries)/5
	r.entries = r.entries[:keep]
	if !slices.Contains(r.notes, blocksLeftOut) {
		r.notes = append(r.notes, blocksLeftOut)
	}
}

// noted returns the notes as content blocks of the result's kind.
func (r *cutResult) noted() []map[string]any {
	notes := []map[string]any{}
	for _, note := range r.notes {
		block := map[string]any{"type": "text", "text": note}
		switch r.list {
		case "messages":
			block = map[string]any{"role": "user", "content": block}
		case "contents":
			block = map[string]any{"uri": "hostedbridge:left-out", "mimeType": "text/plain", "text": note}
		}
		notes = append(notes, block)
	}
	return notes
}
