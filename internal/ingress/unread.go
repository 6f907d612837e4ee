// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// methodUnread is the method in the entry of a request that was refused before
// its body was read, so that nobody knows what it asked for.
const methodUnread = "unread"

// maxUnread is how many entries of requests that cost no quota a user gets in a
// minute. They say that somebody tries; the number is in the metric.
const maxUnread = 10

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
	if u.byUser[user] >= maxUnread {
		u.dropped.Inc()
		return false
	}
	u.byUser[user]++
	return true
}

// auditUnread writes the entry of a request whose caller is known, and which is
// answered with p before anything else is known of it but its route.
func (s *Server) auditUnread(c *gin.Context, p *problem) {
	found, now := stepsOf(c), time.Now()
	if !s.trails.unread.take(found.principal.user, now) {
		return
	}
	t := &trail{trails: s.trails}
	e := s.whoCalls(c.Request, found)
	e.ReportedBy = audit.Ingress
	e.Call = audit.Call{
		Method: methodUnread, Action: recordOf(c.Request.Context()).route, Status: statusOfRefusal(p), ErrorType: p.code,
		LatencyMS: now.Sub(recordOf(c.Request.Context()).start).Milliseconds(),
	}
	_ = t.write(e) // The refusal goes out anyway.
}
