// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// MaxTop is the longest list of those with the most calls that an index gives:
// what fits a screen several times.
const MaxTop = 100

// MaxSteps bounds the steps of a FiguresQuery: the hours of a month, and more
// than the days of a year.
const MaxSteps = 31*24 + 1

// FiguresQuery asks an index how much was called.
type FiguresQuery struct {
	// UserID is the user whose calls are meant, empty for all users.
	UserID string
	// BridgeUID is the HostedBridge of this user whose calls are meant, empty for all that
	// have had the user id. It is given with UserID alone.
	BridgeUID string
	// From is the earliest that belongs to it, To the first that does not any
	// more. Both are given.
	From, To time.Time
	// Step is how long each part of Figures.Steps is, a whole number of hours.
	// Steps begin at multiples of it since 1970, days at midnight in UTC.
	Step time.Duration
	// Top is how many tools are listed at most, from 1 to MaxTop.
	Top int
}

// Starts returns when the steps begin that have a part in the query's time, in
// order. The first may begin before it, and the last end behind it.
func (q FiguresQuery) Starts() []time.Time {
	var starts []time.Time
	for at := q.From.UTC().Truncate(q.Step); at.Before(q.To); at = at.Add(q.Step) {
		starts = append(starts, at)
	}
	return starts
}

// Figures are how much was called in a time. Administrators' acts are no calls.
type Figures struct {
	Total Calls
	// Steps are those of the query, in order, also where nothing was called.
	Steps []Step
	// Tools are those with the most calls, of all users together. Those that no
	// server was found for are not among them: anybody can make their names up.
	Tools []ToolCalls
	// Uses are the calls of each user to each server, the most first and
	// MaxUses at most.
	Uses []Use
	// Lag and Shared are as those of a Page.
	Lag    time.Duration
	Shared bool
}

// MaxUses bounds the list of uses, and with it the memory for a query: ten
// servers of each of 10,000 users.
const MaxUses = 100_000

// Calls are calls by how they ended.
type Calls struct {
	// ByStatus has the statuses that occurred.
	ByStatus map[Status]int64
	// Latency is of the calls that were not refused. Where there are none it is
	// zero.
	Latency Latency
}

// Latency is how long calls took, in milliseconds, at most a tenth less than it
// was. As many percent of the calls as the name says took no longer.
type Latency struct {
	P50 int64 `json:"p50"`
	P95 int64 `json:"p95"`
	P99 int64 `json:"p99"`
}

// Step is a part of the time.
type Step struct {
	Start time.Time
	Calls
	// Users is how many users called, each counted once.
	Users int64
}

// Tally is how many calls there were, and how many of them Failed.
type Tally struct {
	Calls  int64 `json:"calls"`
	Errors int64 `json:"errors"`
}

// Add returns the sum.
func (t Tally) Add(u Tally) Tally { return Tally{t.Calls + u.Calls, t.Errors + u.Errors} }

// ServerCalls are the calls of all servers of one name.
type ServerCalls struct {
	Server string `json:"server"`
	Tally
}

// ToolCalls are the calls of a tool of all servers of one name.
type ToolCalls struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Tally
}

// UserCalls are a user's calls.
type UserCalls struct {
	UserID string `json:"userId"`
	Tally
}

// Use is a user's calls of one server, empty for those that no server was found
// for.
type Use struct {
	UserID string
	Server string
	Tally
}

// Failed reports whether a call with this status went wrong. A call that was
// refused, cancelled by the caller, or waits for input, did not.
func (s Status) Failed() bool {
	return s == ToolError || s == ProtocolError || s == UpstreamError || s == Timeout
}

// Refused reports whether a call that ended so was not let through.
func (s Status) Refused() bool { return s == Denied || s == RateLimited }

// Count returns how many calls there were.
func (c Calls) Count() int64 {
	var n int64
	for _, of := range c.ByStatus {
		n += of
	}
	return n
}

// Errors returns how many calls Failed.
func (c Calls) Errors() int64 {
	var n int64
	for status, of := range c.ByStatus {
		if status.Failed() {
			n += of
		}
	}
	return n
}

// ErrorRate returns which part of the calls that were not Refused has Failed,
// from 0 to 1; 0 where there were none.
func (c Calls) ErrorRate() float64 {
	var let int64
	for status, of := range c.ByStatus {
		if !status.Refused() {
			let += of
		}
	}
	if let == 0 {
		return 0
	}
	return float64(c.Errors()) / float64(let)
}

// TopUsers returns the n users with the most calls, of equal ones the first by
// name.
func TopUsers(uses []Use, n int) []UserCalls {
	return topOf(uses, n, func(u Use) string { return u.UserID }, func(user string, sum Tally) UserCalls { return UserCalls{user, sum} })
}

// TopServers returns the n names of servers with the most calls, of all users
// together, of equal ones the first by name.
func TopServers(uses []Use, n int) []ServerCalls {
	return topOf(uses, n, func(u Use) string { return u.Server }, func(server string, sum Tally) ServerCalls { return ServerCalls{server, sum} })
}

// topOf sums uses up by name. Those of no name count for nobody.
func topOf[T any](uses []Use, n int, nameOf func(Use) string, with func(name string, sum Tally) T) []T {
	sums := map[string]Tally{}
	for _, u := range uses {
		if name := nameOf(u); name != "" {
			sums[name] = sums[name].Add(u.Tally)
		}
	}
	names := slices.SortedFunc(maps.Keys(sums), func(a, b string) int {
		return cmp.Or(cmp.Compare(sums[b].Calls, sums[a].Calls), cmp.Compare(a, b))
	})
	top := make([]T, 0, n)
	for _, name := range names[:min(n, len(names))] {
		top = append(top, with(name, sums[name]))
	}
	return top
}

// Histogram is how many calls took how many milliseconds.
type Histogram map[int64]int64

// Latency returns the nearest ranks.
func (h Histogram) Latency() Latency {
	var n int64
	times := make([]int64, 0, len(h))
	for ms, of := range h {
		times, n = append(times, ms), n+of
	}
	slices.Sort(times)
	rank := func(part float64) int64 {
		left := int64(math.Ceil(part * float64(n)))
		for _, ms := range times {
			if left -= h[ms]; left <= 0 {
				return ms
			}
		}
		return 0
	}
	return Latency{P50: rank(0.50), P95: rank(0.95), P99: rank(0.99)}
}
