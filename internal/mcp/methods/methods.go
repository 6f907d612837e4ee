// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package methods is the table of the methods of MCP: what each one is, and how the ingress and the
// bridge treat it. Whatever depends on the method of a message is decided by its row.
//
// The rows are the methods of the specification's versions 2024-11-05 to 2026-07-28. The methods of
// tasks of 2025-11-25, which was experimental, have none.
//
// The package is pure.
package methods

import (
	"fmt"
	"strings"
)

// Method is a row of the table.
type Method struct {
	// Name is the method as it stands in messages.
	Name string
	// From is who sends it.
	From Side
	// In are the eras of the protocol that have it.
	In Era
	// Notification says that it has no answer.
	Notification bool
	// OptionalParams says that a message of 2026-07-28 may have no parameters.
	OptionalParams bool
	// Passed says that the bridge passes it from clients to servers, or from servers to clients, with
	// its parameters as they were sent. Other methods are between the two ends of a connection.
	Passed bool
	// Opening says that it belongs to the beginning of a connection, keeps it, or lists what there is.
	// It does not count against a tier, and waits for servers that are busy.
	Opening bool
	// OfCall says that the notification may belong to a request that is not answered yet.
	OfCall bool
	// Outdates are the lists that may have changed when the notification comes.
	Outdates []string
	// Request and Result are empty for notifications.
	Request
	Result
}

// Request is what only requests have.
type Request struct {
	// Session says that clients may send it in a session alone.
	Session bool
	// Introduces says that it is the first request on a connection, by which both ends learn who the
	// other one is.
	Introduces bool
	// Stream says that its answer stays open for what happens at the server.
	Stream bool
	// Names is what the request names. The server that has it gets the request.
	Names Subject
	// Asks says that a server may ask its client questions before it answers.
	Asks bool
	// Repeats says whether a request may be sent again after it failed.
	Repeats When
	// Kept says when the bridge may answer by an earlier answer, where its configuration allows it.
	Kept When
}

// Result is what is known of the results of a request.
type Result struct {
	// Answer is a member of each result of a question for the client, which the results of other
	// questions lack. It is empty for methods that are no questions.
	Answer string
	// Cacheable says that results of 2026-07-28 must say how long and by whom they may be cached.
	Cacheable bool
	// Content is the field of the result with texts for a model, which come from a server. It is empty
	// if there is none.
	Content string
	// List describes the result of a list.
	List List
}

// Side is a set of the two ends of a connection.
type Side uint8

// The two ends of a connection.
const (
	Client Side = 1 << iota
	Server
)

// Era is a set of the two forms that the protocol has had.
type Era uint8

// The eras of the protocol: with sessions, up to 2025-11-25, and without them, from 2026-07-28.
const (
	Legacy Era = 1 << iota
	Modern
)

// Subject is what a request names.
type Subject string

// What requests name.
const (
	Nothing  Subject = ""
	Tool     Subject = "tool"
	Prompt   Subject = "prompt"
	Resource Subject = "resource"
	Template Subject = "resource template"
	// Reference is a reference to a prompt or to a resource template.
	Reference Subject = "reference"
)

// Member returns the member of the parameters that holds the name or URI, empty for subjects that
// have no such member.
func (s Subject) Member() string {
	switch s {
	case Tool, Prompt:
		return "name"
	case Resource:
		return "uri"
	}
	return ""
}

// When is a condition that depends on more than the method.
type When uint8

const (
	// Never is for methods that change something, or whose effect nobody knows.
	Never When = iota
	// IfDeclared is for tools: as far as the tool declares that it is safe.
	IfDeclared
	// IfTimed is as far as the server says for how long.
	IfTimed
	// Always is for methods that only read.
	Always
)

// List describes the result of a list.
type List struct {
	// Field is the field with the items, Key the field with an item's name, and Kind what people call
	// an item. They are empty for methods that list nothing.
	Field, Key, Kind string
}

// IsList reports whether the method lists items.
func (m *Method) IsList() bool { return m.List.Field != "" }

// IsQuestion reports whether clients have to answer it.
func (m *Method) IsQuestion() bool { return m.Answer != "" }

// IsChange reports whether it says that lists have changed.
func (m *Method) IsChange() bool { return len(m.Outdates) > 0 }

// FromClient reports whether clients send it.
func (m *Method) FromClient() bool { return m.From&Client != 0 }

// ToServers reports whether the bridge passes it from clients to servers.
func (m *Method) ToServers() bool { return m.Passed && m.FromClient() }

// ToClients reports whether the bridge passes it from servers to clients.
func (m *Method) ToClients() bool { return m.Passed && m.From&Server != 0 }

// Named reports whether requests of 2026-07-28 repeat the name or URI in the header Mcp-Name
// (Streamable HTTP, "Standard request headers").
func (m *Method) Named() bool { return m.Names.Member() != "" && m.In&Modern != 0 }

// Of returns the row of a method. One without a row belongs to no version and is passed on by nothing:
// a request gets the JSON-RPC error -32601, "method not found".
func Of(name string) *Method {
	if m, ok := table[name]; ok {
		return m
	}
	return &Method{Name: name, Notification: strings.HasPrefix(name, "notifications/")}
}

// Add adds the row of an extension's method. It must be called before messages are read, as from
// init. It panics if there is such a method already.
func Add(m Method) {
	if _, ok := table[m.Name]; ok {
		panic(fmt.Sprintf("methods: %s has a row already", m.Name))
	}
	table[m.Name] = &m
}
