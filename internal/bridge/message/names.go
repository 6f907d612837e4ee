// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// newParams makes the SDK's values for parameters.
var newParams = map[string]func() mcp.Params{
	methods.Discover:      func() mcp.Params { return new(mcp.DiscoverParams) },
	methods.Listen:        func() mcp.Params { return new(mcp.SubscriptionsListenParams) },
	methods.ListTools:     func() mcp.Params { return new(mcp.ListToolsParams) },
	methods.ListPrompts:   func() mcp.Params { return new(mcp.ListPromptsParams) },
	methods.ListResources: func() mcp.Params { return new(mcp.ListResourcesParams) },
	methods.ListTemplates: func() mcp.Params { return new(mcp.ListResourceTemplatesParams) },
	methods.CallTool:      func() mcp.Params { return new(mcp.CallToolParamsRaw) },
	methods.GetPrompt:     func() mcp.Params { return new(mcp.GetPromptParams) },
	methods.ReadResource:  func() mcp.Params { return new(mcp.ReadResourceParams) },
	methods.Complete:      func() mcp.Params { return new(mcp.CompleteParams) },
	methods.Subscribe:     func() mcp.Params { return new(mcp.SubscribeParams) },
	methods.Unsubscribe:   func() mcp.Params { return new(mcp.UnsubscribeParams) },
	methods.SetLevel:      func() mcp.Params { return new(mcp.SetLoggingLevelParams) },
}

// NewParams returns a value for the parameters of a client's request, nil if they are not read.
func NewParams(method string) mcp.Params {
	if create, ok := newParams[method]; ok {
		return create()
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
		return referenceIn(p)
	case *ExtensionParams:
		return what, p.named(what)
	}
	return what, nil
}

// referenceIn is NameIn for a completion.
func referenceIn(p *mcp.CompleteParams) (what methods.Subject, text *string) {
	switch {
	case p.Ref == nil:
		return methods.Reference, nil
	case p.Ref.Type == "ref/prompt":
		return methods.Prompt, &p.Ref.Name
	}
	return methods.Template, &p.Ref.URI
}

// Subject returns the name or URI in a request, for error messages.
func Subject(q *Request) string {
	what, text := NameIn(q.Method, q.Params)
	if text == nil || methods.Of(q.Method).Names == methods.Reference {
		return string(methods.Reference)
	}
	return string(what) + " " + Quote(*text)
}
