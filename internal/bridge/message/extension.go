// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// SendExtensions lets c send the methods of extensions: the SDK itself knows the protocol's own methods.
// Results are read from the wire.
func SendExtensions(c *mcp.Client) {
	for _, method := range methods.Extensions() {
		if err := mcp.AddSendingCustomMethod[*ExtensionParams, *mcp.ResultBase](c, method); err != nil {
			panic(err) // The table refuses methods of the protocol itself.
		}
	}
}

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

// Headers returns the headers that repeat the name or URI, nil if there is none.
func (p *ExtensionParams) Headers(method string) http.Header {
	if text := p.named(methods.Of(method).Names); text != nil {
		return http.Header{HeaderName: {*text}}
	}
	return nil
}
