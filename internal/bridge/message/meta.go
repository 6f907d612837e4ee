// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The keys of _meta in which a modern request describes itself.
const (
	MetaProtocolVersion = mcp.MetaKeyProtocolVersion
	MetaClientInfo      = mcp.MetaKeyClientInfo
	MetaClientCaps      = mcp.MetaKeyClientCapabilities
	MetaLogLevel        = mcp.MetaKeyLogLevel
	MetaServerInfo      = mcp.MetaKeyServerInfo
	MetaSubscriptionID  = mcp.MetaKeySubscriptionID
	MetaProgressToken   = "progressToken"
)

// WithMeta returns the parameters of a request with the metadata key set to v.
func WithMeta(params json.RawMessage, key string, v any) (json.RawMessage, error) {
	if len(params) == 0 || string(params) == "null" {
		params = json.RawMessage("{}")
	}
	var p struct {
		Meta json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, fmt.Errorf("read _meta: %w", err)
	}
	if p.Meta == nil {
		p.Meta = json.RawMessage("{}")
	}
	meta, err := WithField(p.Meta, key, v)
	if err != nil {
		return nil, err
	}
	return WithField(params, "_meta", meta)
}
