// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import "github.com/modelcontextprotocol/go-sdk/mcp"

// The protocol's methods that the bridge treats in some way.
const (
	methodInitialize    = "initialize"
	methodPing          = "ping"
	methodDiscover      = "server/discover"
	methodListen        = "subscriptions/listen"
	methodListTools     = "tools/list"
	methodCallTool      = "tools/call"
	methodListPrompts   = "prompts/list"
	methodGetPrompt     = "prompts/get"
	methodListResources = "resources/list"
	methodListTemplates = "resources/templates/list"
	methodReadResource  = "resources/read"
	methodSubscribe     = "resources/subscribe"
	methodUnsubscribe   = "resources/unsubscribe"
	methodComplete      = "completion/complete"
	methodSetLevel      = "logging/setLevel"

	methodSample = "sampling/createMessage"
	methodElicit = "elicitation/create"
	methodRoots  = "roots/list"

	noteProgress         = "notifications/progress"
	noteMessage          = "notifications/message"
	noteResourceUpdated  = "notifications/resources/updated"
	noteToolsChanged     = "notifications/tools/list_changed"
	notePromptsChanged   = "notifications/prompts/list_changed"
	noteResourcesChanged = "notifications/resources/list_changed"
	noteRootsChanged     = "notifications/roots/list_changed"
	noteElicitDone       = "notifications/elicitation/complete"
)

// The keys of _meta by which a modern request describes itself.
const (
	metaProtocolVersion = mcp.MetaKeyProtocolVersion
	metaClientInfo      = mcp.MetaKeyClientInfo
	metaClientCaps      = mcp.MetaKeyClientCapabilities
	metaLogLevel        = mcp.MetaKeyLogLevel
	metaServerInfo      = mcp.MetaKeyServerInfo
	metaSubscriptionID  = mcp.MetaKeySubscriptionID
	metaProgressToken   = "progressToken"
)

// listOf maps a list method to the field of its result that holds the items, to
// the field of an item that names it, and to what people call an item.
var listOf = map[string]struct{ field, key, kind string }{
	methodListTools:     {"tools", "name", "tool"},
	methodListPrompts:   {"prompts", "name", "prompt"},
	methodListResources: {"resources", "uri", "resource"},
	methodListTemplates: {"resourceTemplates", "uriTemplate", "resource template"},
}

// listMethods are the keys of listOf in a fixed order.
var listMethods = []string{methodListTools, methodListPrompts, methodListResources, methodListTemplates}

// cacheable reports whether a modern result of method must say for how long and
// by whom it may be kept.
func cacheable(method string) bool {
	_, list := listOf[method]
	return list || method == methodReadResource || method == methodDiscover
}

// changeOf maps a notification to the list methods whose results it outdates.
var changeOf = map[string][]string{
	noteToolsChanged:     {methodListTools},
	notePromptsChanged:   {methodListPrompts},
	noteResourcesChanged: {methodListResources, methodListTemplates},
}
