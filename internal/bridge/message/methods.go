// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The methods of the protocol that the bridge handles specially.
const (
	MethodInitialize    = "initialize"
	MethodPing          = "ping"
	MethodDiscover      = "server/discover"
	MethodListen        = "subscriptions/listen"
	MethodListTools     = "tools/list"
	MethodCallTool      = "tools/call"
	MethodListPrompts   = "prompts/list"
	MethodGetPrompt     = "prompts/get"
	MethodListResources = "resources/list"
	MethodListTemplates = "resources/templates/list"
	MethodReadResource  = "resources/read"
	MethodSubscribe     = "resources/subscribe"
	MethodUnsubscribe   = "resources/unsubscribe"
	MethodComplete      = "completion/complete"
	MethodSetLevel      = "logging/setLevel"

	MethodCreateMessage = "sampling/createMessage"
	MethodElicit        = "elicitation/create"
	MethodRoots         = "roots/list"

	NotificationInitialized         = "notifications/initialized"
	NotificationCancelled           = "notifications/cancelled"
	NotificationProgress            = "notifications/progress"
	NotificationMessage             = "notifications/message"
	NotificationResourceUpdated     = "notifications/resources/updated"
	NotificationToolsChanged        = "notifications/tools/list_changed"
	NotificationPromptsChanged      = "notifications/prompts/list_changed"
	NotificationResourcesChanged    = "notifications/resources/list_changed"
	NotificationRootsChanged        = "notifications/roots/list_changed"
	NotificationElicitationComplete = "notifications/elicitation/complete"
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

// ListOf maps a list method to the field of its result with the items, to the field with an item's
// name, and to the common name of an item.
var ListOf = map[string]struct{ Field, Key, Kind string }{
	MethodListTools:     {"tools", "name", "tool"},
	MethodListPrompts:   {"prompts", "name", "prompt"},
	MethodListResources: {"resources", "uri", "resource"},
	MethodListTemplates: {"resourceTemplates", "uriTemplate", "resource template"},
}

// ListMethods are the keys of ListOf in a fixed order.
var ListMethods = []string{MethodListTools, MethodListPrompts, MethodListResources, MethodListTemplates}

// cacheable reports whether a modern result of method must say how long and by whom it may be
// cached.
func cacheable(method string) bool {
	_, list := ListOf[method]
	return list || method == MethodReadResource || method == MethodDiscover
}

// ChangeOf maps a notification to the list methods whose results are out of date after it.
var ChangeOf = map[string][]string{
	NotificationToolsChanged:     {MethodListTools},
	NotificationPromptsChanged:   {MethodListPrompts},
	NotificationResourcesChanged: {MethodListResources, MethodListTemplates},
}
