// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/exact"
)

// rawResult is a result as a server sent it. The SDK's types would drop the
// fields that they do not know and round large numbers.
type rawResult struct {
	mcp.ResultBase
	fields map[string]json.RawMessage
}

// parseResult returns the result whose JSON is b, which must be an object.
func parseResult(b json.RawMessage) (*rawResult, error) {
	r := &rawResult{}
	if err := json.Unmarshal(b, &r.fields); err != nil {
		return nil, fmt.Errorf("parse result: %w", err)
	}
	if r.fields == nil {
		return nil, fmt.Errorf("parse result: not an object")
	}
	if meta, ok := r.fields["_meta"]; ok {
		if err := exact.Decode(meta, &r.Meta); err != nil {
			return nil, fmt.Errorf("parse result: _meta: %w", err)
		}
		delete(r.fields, "_meta")
	}
	return r, nil
}

// MarshalJSON puts the metadata back beside the other fields.
func (r *rawResult) MarshalJSON() ([]byte, error) {
	if len(r.Meta) == 0 {
		return json.Marshal(r.fields)
	}
	fields := maps.Clone(r.fields)
	meta, err := json.Marshal(r.Meta)
	if err != nil {
		return nil, fmt.Errorf("encode _meta: %w", err)
	}
	fields["_meta"] = meta
	return json.Marshal(fields)
}

// set puts v, which always can be encoded, under key.
func (r *rawResult) set(key string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only strings, numbers and raw messages come here
	}
	r.fields[key] = b
}

// setDefault is set where there is nothing under key.
func (r *rawResult) setDefault(key string, v any) {
	if _, ok := r.fields[key]; !ok {
		r.set(key, v)
	}
}

// forModern makes the result one of the modern protocol. Whatever a server
// allows, an answer at a user's own URL is for that user alone.
func (r *rawResult) forModern(method string, server *mcp.Implementation) {
	r.setDefault("resultType", "complete")
	if cacheable(method) {
		r.setDefault("ttlMs", 0)
		r.set("cacheScope", "private")
	}
	if _, ok := r.Meta[metaServerInfo]; !ok && server != nil {
		if r.Meta == nil {
			r.Meta = mcp.Meta{}
		}
		r.Meta[metaServerInfo] = server
	}
}

// forLegacy takes away what only the modern protocol knows.
func (r *rawResult) forLegacy(method string) {
	delete(r.fields, "resultType")
	if cacheable(method) {
		delete(r.fields, "ttlMs")
		delete(r.fields, "cacheScope")
	}
	delete(r.Meta, metaServerInfo)
}

// rawParams are parameters as a server sent them.
type rawParams struct {
	mcp.ParamsBase
	raw json.RawMessage
}

// MarshalJSON returns the parameters unchanged, or the metadata alone.
func (p *rawParams) MarshalJSON() ([]byte, error) {
	if len(p.raw) == 0 {
		return json.Marshal(p.ParamsBase)
	}
	return p.raw, nil
}

// given returns p, or empty parameters where a message came without any: the
// SDK gives a nil pointer then.
func given(p mcp.Params) mcp.Params {
	if v := reflect.ValueOf(p); p == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return &rawParams{}
	}
	return p
}

// withField returns the JSON object b with v under key.
func withField(b json.RawMessage, key string, v any) (json.RawMessage, error) {
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
