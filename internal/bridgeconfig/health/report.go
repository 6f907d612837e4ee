// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package health is what a bridge reports of its upstream servers: the JSON of GET /health with the
// rules that derive a server's state from probes, the JSON of GET /tools, which its readers take as
// the word of a tenant's pod and bound, and the message that it leaves for the case of its end.
//
// The package is pure and uses only the standard library; times are arguments. All readers of a
// bridge's health import the types from here.
package health

import "time"

// Status is a state in one word.
type Status string

// The states. A server is never degraded; a bridge is never connecting.
const (
	// Healthy: calls are expected to work.
	Healthy Status = "healthy"
	// Degraded: some of the bridge's servers are not healthy.
	Degraded Status = "degraded"
	// Unhealthy: calls are expected to fail.
	Unhealthy Status = "unhealthy"
	// Connecting: the server starts, and was not probed yet. It has not failed.
	Connecting Status = "connecting"
)

// ReasonToolsChanged is the reason of a server whose tools differ from its audited tools. It is
// out of service until they are equal again.
const ReasonToolsChanged = "tools_changed"

// ReasonLoginRequired is the reason of a server whose user must log in, for the first time or
// again. It is out of service until then.
const ReasonLoginRequired = "login_required"

// ReasonSecretMissing is the reason of a server that needs a secret which is not set. It is out of
// service until then.
const ReasonSecretMissing = "secret_missing"

// ReasonNotReady is the reason of a connecting server whose program is not there yet, such as one
// whose package is being installed. Error says what happens.
const ReasonNotReady = "not_ready"

// The reasons of a server that was asked and has failed.
const (
	// ReasonCredentialsRefused: the server answers with the HTTP status 401 or 403.
	ReasonCredentialsRefused = "credentials_refused"
	// ReasonNameNotResolved: the DNS has no address for the name in the server's URL.
	ReasonNameNotResolved = "name_not_resolved"
	// ReasonConnectionRefused: nothing listens at the server's address.
	ReasonConnectionRefused = "connection_refused"
	// ReasonAddressRefused: the bridge may not connect to the server's address.
	ReasonAddressRefused = "address_refused"
	// ReasonTimedOut: the server did not answer in time.
	ReasonTimedOut = "timed_out"
	// ReasonProgramEnded: the server's program could not be started, or has ended. LastLines are what
	// it wrote last.
	ReasonProgramEnded = "program_ended"
	// ReasonPackageNotFound: the registry does not have the package that the server's program is to
	// fetch, or not this version.
	ReasonPackageNotFound = "package_not_found"
	// ReasonFailed: any other failure.
	ReasonFailed = "failed"
)

// Report is a bridge's health.
type Report struct {
	// Status is healthy if every server is healthy, unhealthy if no server is, and degraded
	// otherwise.
	Status Status `json:"status"`
	// Tools is the number of the bridge's tools over all servers.
	Tools int `json:"tools"`
	// Servers are the upstreams by name.
	Servers map[string]Server `json:"servers"`
	// SecretsRevision identifies the state of the user's secrets in the bridge. It is empty before
	// they arrive.
	SecretsRevision string `json:"secretsRevision,omitempty"`
	// Busy is the number of calls in progress, including those that wait for an answer of their
	// client.
	Busy int `json:"busy,omitempty"`
	// Renamed are features whose client-side name differs from the bridge's rule because of a
	// collision. The list has at most 32 entries.
	Renamed []Renamed `json:"renamed,omitempty"`
}

// Renamed is a feature whose name collides with another feature's name.
type Renamed struct {
	// Kind is tool, prompt, resource or resource template.
	Kind string `json:"kind"`
	// Name is the client-side name. It is empty for a resource that is hidden because an earlier
	// server has the same URI.
	Name string `json:"name,omitempty"`
	// Server is the feature's server.
	Server string `json:"server"`
	// Original is the server's own name for it, at most 128 bytes. A URI is without user
	// information and query.
	Original string `json:"original"`
}

// Server is one upstream's health.
type Server struct {
	// Status is healthy, unhealthy or connecting.
	Status Status `json:"status"`
	// Transport is streamable-http, sse or stdio.
	Transport string `json:"transport,omitempty"`
	// Tools is the number of tools in the server's last list, without hidden tools.
	Tools int `json:"tools"`
	// LatencyMS is how long the last successful probe took, in milliseconds.
	LatencyMS int64 `json:"latencyMs"`
	// LastCheck is when the last probe ended.
	LastCheck *time.Time `json:"lastCheck,omitempty"`
	// UnfitResults counts the results of tools, since the bridge has connected to the server with this
	// configuration, that do not fit the output schemas that the server lists.
	UnfitResults int `json:"unfitResults,omitempty"`
	// Failures counts the failed probes since the last success.
	Failures int `json:"failures"`
	// Error is the last probe's failure, empty if it succeeded, or what a server with ReasonNotReady
	// waits for. It contains no URL and no header.
	Error string `json:"error,omitempty"`
	// Reason classifies Error, for programs.
	Reason string `json:"reason,omitempty"`
	// LastLines are the last lines that a program which failed wrote to stderr, without its secrets and
	// without control characters: at most 10, of at most 200 bytes each. They may hold data of the user, so
	// they are in the user's own report and in no status.
	LastLines []string `json:"lastLines,omitempty"`
	// ConnectURL is the login page, for a server that waits for a login in an installation with
	// such a page.
	ConnectURL string `json:"connectURL,omitempty"`
	// Since is when the server's status last changed.
	Since *time.Time `json:"since,omitempty"`
	// LastUsed is when a client last used the server. Lists do not count. It is missing before the
	// first use.
	LastUsed *time.Time `json:"lastUsed,omitempty"`
}

// Summarize returns the report on servers.
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
