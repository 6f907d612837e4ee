// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package methods

// The methods by which messages are recognised in code. Their properties are in the table.
const (
	Initialize    = "initialize"
	Ping          = "ping"
	Discover      = "server/discover"
	Listen        = "subscriptions/listen"
	ListTools     = "tools/list"
	CallTool      = "tools/call"
	ListPrompts   = "prompts/list"
	GetPrompt     = "prompts/get"
	ListResources = "resources/list"
	ListTemplates = "resources/templates/list"
	ReadResource  = "resources/read"
	Subscribe     = "resources/subscribe"
	Unsubscribe   = "resources/unsubscribe"
	Complete      = "completion/complete"
	SetLevel      = "logging/setLevel"

	CreateMessage = "sampling/createMessage"
	Elicit        = "elicitation/create"
	ListRoots     = "roots/list"

	Initialized         = "notifications/initialized"
	Cancelled           = "notifications/cancelled"
	Progress            = "notifications/progress"
	LogMessage          = "notifications/message"
	ResourceUpdated     = "notifications/resources/updated"
	ToolsChanged        = "notifications/tools/list_changed"
	PromptsChanged      = "notifications/prompts/list_changed"
	ResourcesChanged    = "notifications/resources/list_changed"
	RootsChanged        = "notifications/roots/list_changed"
	ElicitationComplete = "notifications/elicitation/complete"
	Acknowledged        = "notifications/subscriptions/acknowledged"
)

// Lists are the methods that list what servers have, and Changes the notifications that say that a
// list has changed, each in a fixed order.
var (
	Lists   = []string{ListTools, ListPrompts, ListResources, ListTemplates}
	Changes = []string{ToolsChanged, PromptsChanged, ResourcesChanged}
)

var table = index(
	// The beginning of a connection, and its life.
	Method{Name: Initialize, From: Client, In: Legacy, Opening: true, Request: Request{Introduces: true}},
	Method{Name: Initialized, From: Client, In: Legacy, Notification: true, OptionalParams: true, Opening: true},
	Method{
		Name: Discover, From: Client, In: Modern, OptionalParams: true, Opening: true,
		Request: Request{Introduces: true}, Result: Result{Cacheable: true},
	},
	Method{Name: Listen, From: Client, In: Modern, Opening: true, Request: Request{Stream: true}},
	Method{Name: Acknowledged, From: Server, In: Modern, Notification: true},
	Method{Name: Ping, From: Client | Server, In: Legacy, OptionalParams: true, Opening: true},
	Method{Name: Cancelled, From: Client | Server, In: Legacy | Modern, Notification: true, OptionalParams: true},

	// What servers have.
	list(ListTools, List{"tools", "name", "tool"}),
	list(ListPrompts, List{"prompts", "name", "prompt"}),
	list(ListResources, List{"resources", "uri", "resource"}),
	list(ListTemplates, List{"resourceTemplates", "uriTemplate", "resource template"}),
	change(ToolsChanged, ListTools),
	change(PromptsChanged, ListPrompts),
	change(ResourcesChanged, ListResources, ListTemplates),

	// Its use.
	Method{
		Name: CallTool, From: Client, In: Legacy | Modern, Passed: true,
		Request: Request{Names: Tool, Asks: true, Repeats: IfDeclared, Kept: IfDeclared}, Result: Result{Content: "content"},
	},
	Method{
		Name: GetPrompt, From: Client, In: Legacy | Modern, Passed: true,
		Request: Request{Names: Prompt, Asks: true, Repeats: Always}, Result: Result{Content: "messages"},
	},
	Method{
		Name: ReadResource, From: Client, In: Legacy | Modern, Passed: true,
		Request: Request{Names: Resource, Asks: true, Repeats: Always, Kept: IfTimed}, Result: Result{Cacheable: true, Content: "contents"},
	},
	Method{Name: Complete, From: Client, In: Legacy | Modern, Passed: true, Request: Request{Names: Reference, Repeats: Always}},
	Method{Name: Subscribe, From: Client, In: Legacy, Passed: true, Request: Request{Session: true, Names: Resource}},
	Method{Name: Unsubscribe, From: Client, In: Legacy, Passed: true, Request: Request{Session: true, Names: Resource}},
	Method{Name: SetLevel, From: Client, In: Legacy, Passed: true, Request: Request{Session: true}},
	Method{Name: ResourceUpdated, From: Server, In: Legacy | Modern, Notification: true, Passed: true},
	Method{Name: LogMessage, From: Server, In: Legacy | Modern, Notification: true, Passed: true, OfCall: true},
	Method{Name: Progress, From: Client | Server, In: Legacy | Modern, Notification: true, Passed: true, OfCall: true},

	// Questions for a client: requests in the versions with sessions, and parts of results since
	// 2026-07-28.
	Method{Name: CreateMessage, From: Server, In: Legacy | Modern, Passed: true, Result: Result{Answer: "role"}},
	Method{Name: Elicit, From: Server, In: Legacy | Modern, Passed: true, Result: Result{Answer: "action"}},
	Method{Name: ListRoots, From: Server, In: Legacy | Modern, Passed: true, Result: Result{Answer: "roots"}},
	Method{Name: ElicitationComplete, From: Server, In: Legacy | Modern, Notification: true, Passed: true, OfCall: true},
	Method{Name: RootsChanged, From: Client, In: Legacy, Notification: true, OptionalParams: true, Passed: true},
)

// list is the row of a method that lists what servers have.
func list(name string, l List) Method {
	return Method{
		Name: name, From: Client, In: Legacy | Modern, OptionalParams: true, Passed: true, Opening: true,
		Request: Request{Repeats: Always}, Result: Result{Cacheable: true, List: l},
	}
}

// change is the row of a notification that lists have changed.
func change(name string, lists ...string) Method {
	return Method{Name: name, From: Server, In: Legacy | Modern, Notification: true, Passed: true, Outdates: lists}
}

func index(rows ...Method) map[string]*Method {
	byName := make(map[string]*Method, len(rows))
	for _, m := range rows {
		byName[m.Name] = &m
	}
	return byName
}
