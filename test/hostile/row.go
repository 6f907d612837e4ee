// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hostile is an MCP server that misbehaves in every way that a bridge has to
// survive, over streamable HTTP in both eras of the protocol and below it. Each
// behavior is a row that says what the server does and what a client must see of it.
// It is only imported by tests.
package hostile

// Kind is what a row attacks, by which rows are measured together.
type Kind string

// The kinds.
const (
	Waiting    Kind = "answers that do not come or do not end"
	Large      Kind = "large answers"
	Shape      Kind = "answers of a wrong shape"
	Status     Kind = "statuses and redirects"
	Connection Kind = "connections that break"
	Flood      Kind = "floods of messages"
	List       Kind = "lists"
	Opening    Kind = "connections that do not begin"
)

// Kinds are all kinds, in the order of the rows.
var Kinds = []Kind{Waiting, Large, Shape, Status, Connection, Flood, List, Opening}

// Row is one behavior. It has one of Call and Serve.
type Row struct {
	// Name is the name of the tool that behaves so, or of the server.
	Name string
	Kind Kind
	// Does says what the server does.
	Does string
	// Call answers the calls of the row's tool.
	Call func(*Exchange)
	// Serve answers those requests to a server of its own that Meets it. Other requests
	// are answered well.
	Serve func(*Exchange)
	Meets func(*Exchange) bool
	// Sees is what a client must see.
	Sees Sees
	// AtOnce is how many calls are made at once, one where it is 0.
	AtOnce int
	// Alone gives the row a bridge of its own, so that the memory that the bridge needs
	// is the row's.
	Alone bool
}

// Sees is what a client sees of a row, with one of the fields of a call, or Tools.
type Sees struct {
	// Result is a text in the result of the call.
	Result string
	// Error is a text in the JSON-RPC error that answers the call. The result of a tool
	// that failed counts too.
	Error string
	// Either accepts an error in place of the result, as where calls share a budget.
	Either bool
	// Nothing means that the call has no answer until the client cancels it, and that the
	// server is told. For a server, it means that the bridge waits for its answer.
	Nothing bool
	// Tools is how many tools the server has in the list, 0 where it is out of service.
	Tools int
}

// ok is a good result, of both eras.
const ok = `{"content":[{"type":"text","text":"still here"}],"resultType":"complete"}`

// here is the text of ok.
const here = "still here"

// Rows returns all rows.
func Rows() []Row {
	var all []Row
	for _, part := range [][]Row{
		waitingRows(), largeRows(), shapeRows(), eventRows(), statusRows(), connectionRows(), floodRows(), listRows(), openingRows(),
	} {
		all = append(all, part...)
	}
	return all
}
