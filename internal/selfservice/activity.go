// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// Activity is a page of what was done with a bridge, the newest first.
type Activity struct {
	Entries []Event `json:"entries"`
	// Next is the cursor of the next page, absent on the last one.
	Next       string  `json:"next,omitempty"`
	LagSeconds float64 `json:"lagSeconds"`
	Scope      string  `json:"scope"`
}

// Event is one line of the audit trail, as its user may see it: without the addresses and
// identities of others.
type Event struct {
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
	// Actor is key, login, administrator, publisher or installation.
	Actor string `json:"actor"`
	// KeyID is the key of an actor of the kind key.
	KeyID string `json:"keyId,omitempty"`
	// Act is tools/call, or what else was done, such as user/keys.create.
	Act string `json:"act"`
	// Target is what the act was about, such as the id of a key.
	Target string `json:"target,omitempty"`
	Server string `json:"server,omitempty"`
	// Tool is the server's own name of the tool; if Server is empty, the name by which the
	// client called it.
	Tool      string       `json:"tool,omitempty"`
	Status    audit.Status `json:"status"`
	ErrorType string       `json:"errorType,omitempty"`
	LatencyMS int64        `json:"latencyMs"`
	// App is the client as it names itself.
	App       string `json:"app,omitempty"`
	RequestID string `json:"requestId,omitempty"`
}

// actors are the kinds of principals as users are told of them.
var actors = map[audit.Kind]string{
	audit.KindUserKey: "key", audit.KindOAuth: "login", audit.KindAdminKey: "administrator",
	audit.KindPublisherKey: "publisher", audit.KindInstallation: "installation",
}

// ActivityOf returns a page of a user's audit entries.
func ActivityOf(page audit.Page) Activity {
	out := Activity{Entries: make([]Event, 0, len(page.Entries)), LagSeconds: page.Lag.Seconds(), Scope: ScopeOf(page.Shared)}
	for _, e := range page.Entries {
		out.Entries = append(out.Entries, eventOf(e))
	}
	if page.Next != nil {
		out.Next = page.Next.Cursor()
	}
	return out
}

func eventOf(e audit.Entry) Event {
	out := Event{
		ID: e.ID, Time: e.Time, Actor: actors[e.Principal.Kind], Act: e.Method, Server: e.Server, Tool: e.Tool,
		Status: e.Status, ErrorType: e.ErrorType, LatencyMS: e.LatencyMS, RequestID: e.RequestID,
	}
	if e.Principal.Role != "" || strings.HasPrefix(e.Method, audit.AdminPrefix) {
		out.Actor = actors[audit.KindAdminKey]
	}
	if e.Method != methods.CallTool {
		out.Target = e.Action
	}
	// What others send and from where is not the user's to know.
	if out.Actor == "key" || out.Actor == "login" {
		out.App = e.UserAgent
	}
	if out.Actor == "key" {
		out.KeyID = e.Principal.ID
	}
	return out
}
