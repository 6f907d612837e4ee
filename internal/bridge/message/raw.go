// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// Clone returns a copy of r that can be changed independently.
func (r *Result) Clone() *Result {
	return &Result{ResultBase: r.ResultBase, Fields: maps.Clone(r.Fields)}
}

// AddMeta sets key to v in the result's metadata.
func (r *Result) AddMeta(key string, v any) {
	if r.Meta == nil {
		r.Meta = mcp.Meta{}
	}
	r.Meta[key] = v
}

// IsError reports whether a tool's result says that the tool failed.
func (r *Result) IsError() bool {
	var failed bool
	return json.Unmarshal(r.Fields["isError"], &failed) == nil && failed
}

// NeedsInput reports whether the server needs the client's input before it answers.
func (r *Result) NeedsInput() bool {
	_, requests := r.Fields["inputRequests"]
	return requests || bytes.Equal(r.Fields["resultType"], []byte(`"input_required"`))
}

// TTL returns how long the result may be cached, according to the server.
func (r *Result) TTL() (time.Duration, bool) {
	raw, ok := r.Fields["ttlMs"]
	var ms float64
	if !ok || json.Unmarshal(raw, &ms) != nil {
		return 0, ok // A value that is not a number permits no caching.
	}
	// A bridge's configuration allows at most a day.
	return time.Duration(min(max(ms, 0), 24*60*60*1000)) * time.Millisecond, true
}

// GoodUntil returns until when the result may be cached, according to the server, and at most until
// another time. Zero stands for no limit.
func (r *Result) GoodUntil(now, most time.Time) time.Time {
	ttl, ok := r.TTL()
	if until := now.Add(ttl); ok && (most.IsZero() || until.Before(most)) {
		return until
	}
	return most
}

// NextCursor returns the cursor of the next page of a list. It is empty for the last page.
func (r *Result) NextCursor() (cursor string) {
	_ = json.Unmarshal(r.Fields["nextCursor"], &cursor) // A cursor of another type counts as no cursor.
	return cursor
}

// Result is a result as a server sent it. The SDK's types would drop unknown fields and round
// large numbers.
type Result struct {
	mcp.ResultBase
	Fields map[string]json.RawMessage
}

// ParseResult parses a result. b must be a JSON object; the fields are parts of it.
func ParseResult(b json.RawMessage) (*Result, error) {
	r := &Result{Fields: objectOf(ToUTF8(b))}
	if r.Fields == nil {
		return nil, fmt.Errorf("parse result: not an object")
	}
	if meta, ok := r.Fields["_meta"]; ok {
		if err := jsondoc.DecodeExact(meta, &r.Meta); err != nil {
			return nil, fmt.Errorf("parse result: _meta: %w", err)
		}
		delete(r.Fields, "_meta")
	}
	return r, nil
}

// MarshalJSON puts the metadata back beside the other fields.
func (r *Result) MarshalJSON() ([]byte, error) {
	if size := r.Size(); size > LargeResult {
		var b bytes.Buffer
		b.Grow(size)
		if err := r.Write(&b); err != nil {
			return nil, err
		}
		return b.Bytes(), nil
	}
	if r.Meta == nil {
		return json.Marshal(r.Fields)
	}
	fields, err := r.withMeta()
	if err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// LargeResult is the size in bytes from which a result is written without the encoder, whose
// buffers take several times its size.
const LargeResult = 64 << 10

// Size returns about how many bytes of JSON the result has, without its metadata.
func (r *Result) Size() int { return sizeOf(r.Fields) }

// Write writes the JSON of the result, on one line, to w.
func (r *Result) Write(w io.Writer) error {
	fields, err := r.withMeta()
	if err != nil {
		return err
	}
	return writeObject(w, fields)
}

// withMeta returns the fields of the result and its metadata.
func (r *Result) withMeta() (map[string]json.RawMessage, error) {
	if r.Meta == nil {
		return r.Fields, nil
	}
	fields := maps.Clone(r.Fields)
	meta, err := json.Marshal(r.Meta)
	if err != nil {
		return nil, fmt.Errorf("encode _meta: %w", err)
	}
	fields["_meta"] = meta
	return fields, nil
}

// Set sets the field key to v. v must be encodable.
func (r *Result) Set(key string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only strings, numbers and raw messages are set
	}
	r.Fields[key] = b
}

// setDefault sets the field key to v if it is not set.
func (r *Result) setDefault(key string, v any) {
	if _, ok := r.Fields[key]; !ok {
		r.Set(key, v)
	}
}

// LetKeep says for how long clients may keep the result, if its server does not say so.
func (r *Result) LetKeep(d time.Duration) { r.setDefault("ttlMs", d.Milliseconds()) }

// ForModern converts the result to the modern protocol. Caching is always private, whatever the
// server says: an answer at a user's own URL is for that user alone.
func (r *Result) ForModern(method string, server *mcp.Implementation) {
	r.setDefault("resultType", "complete")
	if methods.Of(method).Cacheable {
		r.setDefault("ttlMs", 0)
		r.Set("cacheScope", "private")
	}
	if _, ok := r.Meta[MetaServerInfo]; !ok && server != nil {
		if r.Meta == nil {
			r.Meta = mcp.Meta{}
		}
		r.Meta[MetaServerInfo] = server
	}
}

// ForLegacy removes the fields that only the modern protocol has.
func (r *Result) ForLegacy(method string) {
	delete(r.Fields, "resultType")
	if methods.Of(method).Cacheable {
		delete(r.Fields, "ttlMs")
		delete(r.Fields, "cacheScope")
	}
	if _, ok := r.Meta[MetaServerInfo]; ok && len(r.Meta) == 1 {
		r.Meta = nil
	}
	delete(r.Meta, MetaServerInfo)
}

// Params are parameters as a server sent them.
type Params struct {
	mcp.ParamsBase
	Raw json.RawMessage // nil if the message has none
	// Call identifies the call that the message belongs to, if that is known.
	Call string
	// Withdrawn, if set, says how the server cancelled its request.
	Withdrawn *Withdrawal
}

// MarshalJSON returns the parameters as the server wrote them, or the metadata if there are no parameters.
func (p *Params) MarshalJSON() ([]byte, error) {
	if len(p.Raw) == 0 {
		return json.Marshal(p.ParamsBase)
	}
	return ToUTF8(p.Raw), nil
}

// ParamsOrEmpty returns p, or empty parameters if a message has none.
func ParamsOrEmpty(p mcp.Params) mcp.Params {
	if p == nil {
		return &Params{}
	}
	return p
}

// WithField returns the JSON object b with the field key set to v.
func WithField(b json.RawMessage, key string, v any) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		return nil, fmt.Errorf("set %s: %w", key, err)
	}
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	value, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("set %s: %w", key, err)
	}
	fields[key] = value
	return json.Marshal(fields)
}
