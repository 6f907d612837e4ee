// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// AuditPage is an answer to a query for audit entries.
type AuditPage struct {
	Entries []audit.Entry `json:"entries"`
	// Next is the cursor of the next page, absent on the last one.
	Next string `json:"next,omitempty"`
	// Scope says whose entries they are: the installation's or one replica's.
	Scope string `json:"scope"`
	// LagSeconds is for how long the index has lacked the oldest entry that it
	// should have.
	LagSeconds float64 `json:"lagSeconds"`
	// Lines are absent if there are too many between the entries to count them.
	Lines *audit.Lines `json:"lines,omitempty"`
}

// Analytics is how an installation is used.
type Analytics struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Totals Totals    `json:"totals"`
	// CallFigures is nil where there is no index.
	*CallFigures
}

// Totals are what there is now.
type Totals struct {
	Users int `json:"users"`
	// Bridges are how many bridges are in which phase.
	Bridges map[string]int `json:"bridges"`
	// Recipes and Publishers are nil while the catalog is not known.
	Recipes    *int `json:"recipes,omitempty"`
	Publishers *int `json:"publishers,omitempty"`
}

// CallFigures are how much was called.
type CallFigures struct {
	Calls      Figures             `json:"calls"`
	Step       string              `json:"step"`
	Steps      []StepFigures       `json:"steps"`
	Servers    []audit.ServerCalls `json:"servers"`
	Tools      []audit.ToolCalls   `json:"tools"`
	Recipes    []RecipeCalls       `json:"recipes"`
	Users      []audit.UserCalls   `json:"users"`
	Scope      string              `json:"scope"`
	LagSeconds float64             `json:"lagSeconds"`
}

// Figures are the figures of some calls.
type Figures struct {
	Total       int64                  `json:"total"`
	Errors      int64                  `json:"errors"`
	ErrorRate   float64                `json:"errorRate"`
	RateLimited int64                  `json:"rateLimited"`
	ByStatus    map[audit.Status]int64 `json:"byStatus"`
	LatencyMS   audit.Latency          `json:"latencyMs"`
}

// StepFigures are those of an hour or a day.
type StepFigures struct {
	Start time.Time `json:"start"`
	Figures
	// Users is how many users called, each counted once.
	Users int64 `json:"users"`
}

// FiguresOf returns the figures of some calls.
func FiguresOf(c audit.Calls) Figures {
	f := Figures{
		Total: c.Count(), Errors: c.Errors(), ErrorRate: c.ErrorRate(),
		RateLimited: c.ByStatus[audit.RateLimited], ByStatus: c.ByStatus, LatencyMS: c.Latency,
	}
	if f.ByStatus == nil {
		f.ByStatus = map[audit.Status]int64{} // An object, and not null, for whoever reads it.
	}
	return f
}

// RecipeCalls are the calls of all servers of a recipe.
type RecipeCalls struct {
	Recipe string `json:"recipe"`
	// Bridges is how many users' bridges name it.
	Bridges int `json:"bridges"`
	audit.Tally
}
