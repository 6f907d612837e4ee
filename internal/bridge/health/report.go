// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package health is what a bridge says about its upstream servers: the JSON of
// GET /health and the rules by which a server's state follows from probes.
//
// The package is pure and uses the standard library alone; times are
// arguments. Whoever reads a bridge's health imports the types from here.
package health

import "time"

// Status is a state in one word.
type Status string

// The states. A server is never degraded, a bridge is never connecting.
const (
	// Healthy: calls are expected to work.
	Healthy Status = "healthy"
	// Degraded: of a bridge, that some of its servers are not healthy.
	Degraded Status = "degraded"
	// Unhealthy: calls are expected to fail.
	Unhealthy Status = "unhealthy"
	// Connecting: of a server, that nothing is known of it yet.
	Connecting Status = "connecting"
)

// ReasonToolsChanged is the reason of a server that has other tools than those
// that were audited. It is out of service until it has them again.
const ReasonToolsChanged = "tools_changed"

// ReasonLoginRequired is the reason of a server whose user has to log in, for
// the first time or anew. It is out of service until then.
const ReasonLoginRequired = "login_required"

// Report is a bridge's health.
type Report struct {
	// Status is healthy when every server is, unhealthy when none works, and
	// degraded in between.
	Status Status `json:"status"`
	// Tools is the number of tools that the bridge offers over all servers.
	Tools int `json:"tools"`
	// Servers are the upstreams by name.
	Servers map[string]Server `json:"servers"`
	// SecretsRevision tells which state of the user's secrets the bridge has.
	// It is empty while there are none.
	SecretsRevision string `json:"secretsRevision,omitempty"`
	// Busy is how many calls the bridge works on, or keeps until their client
	// answers what the server asked.
	Busy int `json:"busy,omitempty"`
	// Renamed are features that clients do not see under the name that the
	// bridge's rule gives them, because it is another one's too. There are at
	// most 32, however many collide.
	Renamed []Renamed `json:"renamed,omitempty"`
}

// Renamed is a feature whose name collides with another one's.
type Renamed struct {
	// Kind is tool, prompt, resource or resource template.
	Kind string `json:"kind"`
	// Name is what clients see. It is empty for a resource, which has the URI of
	// an earlier server's and is not shown.
	Name string `json:"name,omitempty"`
	// Server is the server that has the feature.
	Server string `json:"server"`
	// Original is the server's own name for it, at most 128 bytes. Of a URI it
	// holds neither the user information nor the query.
	Original string `json:"original"`
}

// Server is one upstream's health.
type Server struct {
	// Status is healthy, unhealthy or connecting.
	Status Status `json:"status"`
	// Transport is how the server is reached: streamable-http, sse or stdio.
	Transport string `json:"transport,omitempty"`
	// Tools is the number of tools that the server last listed, without those
	// that are taken away.
	Tools int `json:"tools"`
	// LatencyMS is how long the last successful probe took, in milliseconds.
	LatencyMS int64 `json:"latencyMs"`
	// LastCheck is when the last probe ended.
	LastCheck *time.Time `json:"lastCheck,omitempty"`
	// Failures counts the failed probes since the last success.
	Failures int `json:"failures"`
	// Error is the last probe's failure, empty when it succeeded. It holds no
	// URL and no header.
	Error string `json:"error,omitempty"`
	// Reason tells what kind of thing Error is, where a program may want to know.
	Reason string `json:"reason,omitempty"`
	// ConnectURL is the page on which the user logs in, of a server that waits
	// for that in an installation that has one.
	ConnectURL string `json:"connectURL,omitempty"`
	// Since is when the server's status last changed.
	Since *time.Time `json:"since,omitempty"`
	// LastUsed is when a client last asked something of the server. It is not
	// there before that, and lists do not count.
	LastUsed *time.Time `json:"lastUsed,omitempty"`
}

// Summarize returns the report over servers.
func Summarize(servers map[string]Server) Report {
	r := Report{Status: Healthy, Servers: make(map[string]Server, len(servers))}
	unhealthy := 0
	for name, s := range servers {
		r.Servers[name] = s
		r.Tools += s.Tools
		if s.Status != Healthy {
			r.Status = Degraded
		}
		if s.Status == Unhealthy {
			unhealthy++
		}
	}
	if len(servers) > 0 && unhealthy == len(servers) {
		r.Status = Unhealthy
	}
	return r
}
