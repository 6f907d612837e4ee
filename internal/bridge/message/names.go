// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// NewParams returns a value for the parameters of a client's request, nil if they are not read.
func NewParams(method string) mcp.Params {
	switch method {
	case methods.Discover:
		return new(mcp.DiscoverParams)
	case methods.Listen:
		return new(mcp.SubscriptionsListenParams)
	case methods.ListTools:
		return new(mcp.ListToolsParams)
	case methods.ListPrompts:
		return new(mcp.ListPromptsParams)
	case methods.ListResources:
		return new(mcp.ListResourcesParams)
	case methods.ListTemplates:
		return new(mcp.ListResourceTemplatesParams)
	case methods.CallTool:
		return new(mcp.CallToolParamsRaw)
	case methods.GetPrompt:
		return new(mcp.GetPromptParams)
	case methods.ReadResource:
		return new(mcp.ReadResourceParams)
	case methods.Complete:
		return new(mcp.CompleteParams)
	}
	if m := methods.Of(method); m.ToServers() && !m.Notification && m.In&methods.Modern != 0 {
		return new(ExtensionParams)
	}
	return nil
}

// NameIn returns what a request names, and where its parameters hold the name or URI. It returns nil
// if they hold none.
func NameIn(method string, params mcp.Params) (what methods.Subject, text *string) {
	what = methods.Of(method).Names
	switch p := params.(type) {
	case *mcp.CallToolParamsRaw:
		return what, &p.Name
	case *mcp.GetPromptParams:
		return what, &p.Name
	case *mcp.ReadResourceParams:
		return what, &p.URI
	case *mcp.SubscribeParams:
		return what, &p.URI
	case *mcp.UnsubscribeParams:
		return what, &p.URI
	case *mcp.CompleteParams:
		switch {
		case p.Ref == nil:
		case p.Ref.Type == "ref/prompt":
			return methods.Prompt, &p.Ref.Name
		default:
			return methods.Template, &p.Ref.URI
		}
	case *ExtensionParams:
		switch what.Member() {
		case "name":
			return what, &p.Name
		case "uri":
			return what, &p.URI
		}
	}
	return what, nil
}

// Subject returns the name or URI in a request, for error messages.
func Subject(q *Request) string {
	what, text := NameIn(q.Method, q.Params)
	if text == nil || methods.Of(q.Method).Names == methods.Reference {
		return string(methods.Reference)
	}
	return string(what) + " " + Quote(*text)
}
