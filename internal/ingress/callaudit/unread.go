// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package callaudit

import (
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// methodUnread is the method in the entry of a request that was refused before
// its body was read, so that nobody knows what it asked for.
const methodUnread = "unread"

// MaxUnread is how many entries of requests that cost no quota a user gets in a
// minute. They say that somebody tries; the number is in the metric.
const MaxUnread = 10

// unreadRefusals counts the entries of requests that were refused unread.
type unreadRefusals struct {
	// dropped counts those that have no entry.
	dropped prometheus.Counter

	mu sync.Mutex
	// minute is the one that byUser is about, in Unix time.
	minute int64
	byUser map[v1alpha1.UserID]int
}

func newUnread() *unreadRefusals {
	return &unreadRefusals{dropped: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "hostedbridge_ingress_audit_refusals_dropped_total",
		Help: "Requests with a valid key that were refused before they were read and have no audit entry: their user had 10 in that minute.",
	})}
}

// take reports whether the user gets another entry. There are never more users
// in it than have a valid key.
func (u *unreadRefusals) take(user v1alpha1.UserID, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if minute := now.Unix() / 60; minute != u.minute || u.byUser == nil {
		u.minute, u.byUser = minute, map[v1alpha1.UserID]int{}
	}
	if u.byUser[user] >= MaxUnread {
		u.dropped.Inc()
		return false
	}
	u.byUser[user]++
	return true
}

// RefusedUnread writes the entry of a request whose caller is known, and which is
// answered with p before anything else is known of it but its route.
func (l *Log) RefusedUnread(from *Origin, p *httpapi.Problem) {
	now := time.Now()
	if !l.unread.take(from.Principal.User, now) {
		return
	}
	t := &Request{log: l}
	e := l.entryOf(from)
	e.ReportedBy = audit.Ingress
	e.Call = audit.Call{
		Method: methodUnread, Action: from.Route, Status: statusOfRefusal(p), ErrorType: p.Code,
		LatencyMS: now.Sub(from.Start).Milliseconds(),
	}
	_ = t.write(e) // The refusal goes out anyway.
}
