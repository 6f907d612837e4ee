// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// Usage is how much of the bridge is used, and what is left.
type Usage struct {
	Tier  string  `json:"tier"`
	Quota []Quota `json:"quota"`
	// ConcurrentCalls is how many calls may run at the same time.
	ConcurrentCalls int64 `json:"concurrentCalls,omitempty"`
	// Calls are nil if the installation keeps no index of its audit trail.
	Calls *CallUsage `json:"calls,omitempty"`
	// CallsUnknown says why Calls is missing.
	CallsUnknown string `json:"callsUnknown,omitempty"`
}

// Quota is one limit of the tier.
type Quota struct {
	// Limit is minute, hour, day or burst.
	Limit     string `json:"limit"`
	Most      int64  `json:"most"`
	Remaining int64  `json:"remaining"`
	// ResetsAt is when there is more, nil if nothing is used.
	ResetsAt *time.Time `json:"resetsAt,omitempty"`
	// ResetSeconds is how long that takes from now, rounded up.
	ResetSeconds int64 `json:"resetSeconds"`
}

// CallUsage is how much was called in a time.
type CallUsage struct {
	From      time.Time              `json:"from"`
	To        time.Time              `json:"to"`
	Total     int64                  `json:"total"`
	Errors    int64                  `json:"errors"`
	ByStatus  map[audit.Status]int64 `json:"byStatus"`
	LatencyMS audit.Latency          `json:"latencyMs"`
	Step      string                 `json:"step"`
	Steps     []StepUsage            `json:"steps"`
	Servers   []audit.ServerCalls    `json:"servers"`
	Tools     []audit.ToolCalls      `json:"tools"`
	// LagSeconds is for how long the index has lacked the oldest entry that it should
	// have.
	LagSeconds float64 `json:"lagSeconds"`
	// Scope is installation, or replica if the index has the calls of one replica alone.
	Scope string `json:"scope"`
}

// StepUsage is a part of the time.
type StepUsage struct {
	Start  time.Time `json:"start"`
	Calls  int64     `json:"calls"`
	Errors int64     `json:"errors"`
}

// The scopes of figures and entries.
const (
	// ScopeInstallation: all replicas of the ingress fill the index.
	ScopeInstallation = "installation"
	// ScopeReplica: each replica has an index of its own, and the answer is this one's.
	ScopeReplica = "replica"
)

// ScopeOf returns the scope of an index.
func ScopeOf(shared bool) string {
	if shared {
		return ScopeInstallation
	}
	return ScopeReplica
}

// QuotaOf returns what is left of a tier.
func QuotaOf(tier quota.Tier, v quota.Verdict, now time.Time) []Quota {
	held := v.Held(tier)
	list := make([]Quota, 0, len(v.Left))
	for _, limit := range []quota.Limit{quota.Minute, quota.Hour, quota.Day, quota.Burst} {
		most, remaining, reset := v.Left.Of(limit, held)
		q := Quota{Limit: limit.String(), Most: most, Remaining: remaining}
		if reset > 0 {
			q.ResetSeconds = int64((reset + time.Second - 1) / time.Second)
			at := now.UTC().Truncate(time.Second).Add(time.Duration(q.ResetSeconds) * time.Second)
			q.ResetsAt = &at
		}
		list = append(list, q)
	}
	return list
}

// CallsOf returns the figures of one user's calls in the query's time.
func CallsOf(f audit.Figures, q audit.FiguresQuery, step string) *CallUsage {
	c := &CallUsage{
		From: q.From, To: q.To, Total: f.Total.Count(), Errors: f.Total.Errors(), ByStatus: f.Total.ByStatus, LatencyMS: f.Total.Latency,
		Step: step, Steps: make([]StepUsage, 0, len(f.Steps)), Servers: audit.TopServers(f.Uses, q.Top), Tools: f.Tools,
		LagSeconds: f.Lag.Seconds(), Scope: ScopeOf(f.Shared),
	}
	if c.ByStatus == nil {
		c.ByStatus = map[audit.Status]int64{} // An object, and not null, for whoever reads it.
	}
	if c.Tools == nil {
		c.Tools = []audit.ToolCalls{}
	}
	for _, s := range f.Steps {
		c.Steps = append(c.Steps, StepUsage{s.Start, s.Count(), s.Errors()})
	}
	return c
}
