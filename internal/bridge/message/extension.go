// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// ExtensionParams are the parameters of an extension's method, as far as they are read.
type ExtensionParams struct {
	mcp.ParamsBase
	Name, URI string
}

// UnmarshalJSON reads the metadata and the names.
func (p *ExtensionParams) UnmarshalJSON(raw []byte) error {
	var read struct {
		Meta mcp.Meta `json:"_meta"`
		Name string   `json:"name"`
		URI  string   `json:"uri"`
	}
	if err := json.Unmarshal(raw, &read); err != nil {
		return err
	}
	p.Meta, p.Name, p.URI = read.Meta, read.Name, read.URI
	return nil
}

// named returns where the parameters hold the name or URI of a subject, nil if they hold none.
func (p *ExtensionParams) named(what methods.Subject) *string {
	switch what.Member() {
	case "name":
		return &p.Name
	case "uri":
		return &p.URI
	}
	return nil
}
