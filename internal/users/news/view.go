// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package news says what has changed for a user since their last visit: answers to requests,
// servers and tools that came or went, and keys, secrets and accounts that end.
//
// A visit is a user's: whoever logs in to one bridge shares it, on all devices. It is kept in the
// status of the HostedBridge. What an administrator looks at is no visit.
package news

import "time"

// Kind says what has changed, for programs. Kinds never change their meaning, and further ones may
// be added.
type Kind string

// The kinds, in the order in which a list has them: first what ends.
const (
	KeyEnded        Kind = "key_ended"
	KeyEnds         Kind = "key_ends"
	SecretNeeded    Kind = "secret_needed"
	AccountNeeded   Kind = "account_needed"
	RequestApproved Kind = "request_approved"
	RequestRefused  Kind = "request_refused"
	ServerAdded     Kind = "server_added"
	ServerRemoved   Kind = "server_removed"
	ServerOffered   Kind = "server_offered"
	ToolsAdded      Kind = "tools_added"
	ToolsRemoved    Kind = "tools_removed"
	// ToolsChanged is for servers with so many tools that their names are not kept.
	ToolsChanged Kind = "tools_changed"
)

var order = []Kind{
	KeyEnded, KeyEnds, SecretNeeded, AccountNeeded, RequestApproved, RequestRefused,
	ServerAdded, ServerRemoved, ServerOffered, ToolsAdded, ToolsRemoved, ToolsChanged,
}

// List is what has changed.
type List struct {
	// Since is when the last visit began, or while a visit lasts the one before it. It is nil
	// if there was none: then nothing can be compared.
	Since *time.Time `json:"since,omitempty"`
	News  []Item     `json:"news"`
	// More is how many others there are.
	More int `json:"more,omitempty"`
	// Partial means that not everything could be looked up.
	Partial bool `json:"partial,omitempty"`
}

// Item is one change.
type Item struct {
	Kind Kind `json:"kind"`
	// Time is when it happened, or when a key ends. It is nil if all that is known is that it
	// was since the last visit.
	Time *time.Time `json:"time,omitempty"`
	// Text is one sentence for the user.
	Text   string `json:"text"`
	Server string `json:"server,omitempty"`
	KeyID  string `json:"keyId,omitempty"`
	// Tools are the server's own names of the tools, the first of them if there are many.
	Tools []string `json:"tools,omitempty"`
	// Reason is what an administrator wrote.
	Reason string `json:"reason,omitempty"`
	// Page is the path of the console's page on which the user acts on it.
	Page string `json:"page"`
}
