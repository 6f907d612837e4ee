// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package selfservice says what users see of their own bridge, and what they may choose:
// servers, tools, keys, connected accounts, usage and activity. Its types are the answers
// of the API under /u/:userId, and its functions make them of a HostedBridge and of what
// the bridge reports, so that each page and each route says the same as kubectl does.
//
// The package is pure.
package selfservice

import (
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// The states of a bridge that the bridge itself cannot report.
const (
	Asleep    health.Status = "asleep"
	Suspended health.Status = "suspended"
	Starting  health.Status = "starting"
	// Blocked: something outside of the bridge keeps its pod from running.
	Blocked health.Status = "blocked"
)

// View is what is known of a user's bridge.
type View struct {
	// Bridge is the HostedBridge as the ingress keeps it: its spec has the servers in
	// effect, and the user's choices.
	Bridge *effective.Bridge
	// Report is the answer of GET /u/:userId/health.
	Report health.Report
	// ServerLimit is how many servers the tier allows, nil for any number.
	ServerLimit *int32
	// ConnectPage returns the page on which the account of a server is connected, empty
	// for an installation without one.
	ConnectPage func(server string) string
	// Recipe is nil for no catalog.
	Recipe Recipes
	// Program returns what is known of the package that a server fetches, and without one of that
	// of a recipe; nil for none. Nil is an installation that installs none.
	Program func(of recipe.Recipe, fetched *v1alpha1.Install) *catalog.Program
	Now     time.Time
}

// Bridge is the state of a bridge as a whole.
type Bridge struct {
	// Status is as in the answer of /health: healthy, degraded, unhealthy, asleep,
	// suspended or starting. A bridge that should start and cannot is blocked.
	Status  health.Status `json:"status"`
	Message string        `json:"message"`
	// Tier and Mode are those in effect.
	Tier string        `json:"tier"`
	Mode v1alpha1.Mode `json:"mode"`
	// URL is the URL of the bridge's MCP endpoint, empty if the operator has not set it.
	URL   string `json:"url,omitempty"`
	Tools int    `json:"tools"`
	// Fix is what the user can do, nil if there is nothing to do.
	Fix *Fix `json:"fix,omitempty"`
}

// bridgeMessages explain the states of a bridge.
var bridgeMessages = map[health.Status]string{
	health.Healthy:   "All servers of the bridge work.",
	health.Degraded:  "Some servers of the bridge do not work.",
	health.Unhealthy: "No server of the bridge works.",
	Asleep:           "The bridge was not used and is asleep. The next call wakes it.",
	Suspended:        "The bridge is suspended. No tool can be called.",
	Starting:         "The bridge is starting.",
}

// BridgeOf returns the state of a bridge as a whole.
func BridgeOf(v View) Bridge {
	b := Bridge{
		Status: v.Report.Status, Message: bridgeMessages[v.Report.Status],
		Tier: v.Bridge.Spec.Tier, Mode: v.Bridge.Spec.Mode, URL: v.Bridge.Status.URL, Tools: v.Report.Tools,
	}
	switch b.Status {
	case Suspended:
		b.Fix = &Fix{Code: FixAskAdmin, Text: "Ask an administrator to end the suspension."}
	case Starting, Blocked:
		if c := route.BlockedBy(v.Bridge.HostedBridge); c != nil {
			b.Status, b.Message = Blocked, route.BlockedWords(c.Reason)
			b.Fix = &Fix{Code: FixAskAdmin, Text: "Ask an administrator, and give them this text: " + c.Message}
			break
		}
		b.Status, b.Message = Starting, bridgeMessages[Starting]
		b.Fix = &Fix{Code: FixWait, Text: "Wait until the bridge has started; the first start can take a minute."}
	}
	return b
}
