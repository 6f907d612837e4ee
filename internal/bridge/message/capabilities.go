// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// EncodeCapabilities returns capabilities as the client wrote them. The SDK's own type would
// encode roots even if the client has none.
func EncodeCapabilities(caps *mcp.ClientCapabilities) map[string]any {
	if caps == nil {
		return map[string]any{}
	}
	written := map[string]any{}
	for name, value := range map[string]any{"sampling": orNil(caps.Sampling), "elicitation": orNil(caps.Elicitation), "roots": orNil(caps.RootsV2)} {
		if value != nil {
			written[name] = value
		}
	}
	if len(caps.Experimental) > 0 {
		written["experimental"] = caps.Experimental
	}
	if len(caps.Extensions) > 0 {
		written["extensions"] = caps.Extensions
	}
	return written
}

// orNil returns p, or an untyped nil for a nil pointer.
func orNil[T any](p *T) any {
	if p == nil {
		return nil
	}
	return p
}

// Declares reports whether a client declared that it answers requests of method.
func Declares(caps *mcp.ClientCapabilities, method string, params json.RawMessage) bool {
	if caps == nil {
		return false
	}
	switch method {
	case methods.CreateMessage:
		return caps.Sampling != nil
	case methods.ListRoots:
		return caps.RootsV2 != nil
	case methods.Elicit:
		return caps.Elicitation != nil && elicits(caps.Elicitation, params)
	}
	return false
}

// elicits reports whether a client supports elicitation in the mode of the request. A client that
// names no modes supports forms.
func elicits(caps *mcp.ElicitationCapabilities, params json.RawMessage) bool {
	var p struct {
		Mode string `json:"mode"`
	}
	_ = json.Unmarshal(params, &p) // A value of another type is an unknown mode.
	if p.Mode == "url" {
		return caps.URL != nil
	}
	return caps.Form != nil || caps.URL == nil
}

// LogLevels are the log levels, least severe first.
var LogLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// ParseClientCapabilities parses the capabilities of a client. Like the SDK, it parses roots
// separately: the SDK's type cannot represent missing roots.
func ParseClientCapabilities(raw json.RawMessage) (*mcp.ClientCapabilities, bool) {
	caps := &mcp.ClientCapabilities{}
	var apart struct {
		Roots *mcp.RootCapabilities `json:"roots"`
	}
	if len(raw) > 0 && (json.Unmarshal(raw, caps) != nil || json.Unmarshal(raw, &apart) != nil) {
		return nil, false
	}
	caps.RootsV2 = apart.Roots
	return caps, true
}

// AllCapabilities are the capabilities that a bridge declares before it knows its servers.
func AllCapabilities() *mcp.ServerCapabilities {
	return &mcp.ServerCapabilities{
		Completions: &mcp.CompletionCapabilities{},
		Logging:     &mcp.LoggingCapabilities{},
		Prompts:     &mcp.PromptCapabilities{ListChanged: true},
		Resources:   &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true},
		Tools:       &mcp.ToolCapabilities{ListChanged: true},
	}
}

// servedExtensions are the extensions that work through the bridge, because they have no methods
// of their own: MCP Apps uses resources and the metadata of tools.
var servedExtensions = []string{"io.modelcontextprotocol/ui"}

// PassedCapabilities returns the capabilities of a server that also work through the bridge.
// Experimental ones, and those of versions that the bridge does not know, may have methods that
// the bridge does not forward.
func PassedCapabilities(caps *mcp.ServerCapabilities) *mcp.ServerCapabilities {
	passed := &mcp.ServerCapabilities{
		Completions: caps.Completions, Logging: caps.Logging, Prompts: caps.Prompts, Resources: caps.Resources, Tools: caps.Tools,
	}
	for _, name := range servedExtensions {
		if settings, ok := caps.Extensions[name].(map[string]any); ok {
			passed.AddExtension(name, settings)
		}
	}
	return passed
}
