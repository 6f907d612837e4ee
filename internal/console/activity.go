// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

// activityPage lists what was done with a bridge.
type activityPage struct {
	frame

	Events       []selfservice.Event
	Next         string
	First        bool
	Usage        *usageView
	UsageTrouble string
	Now          time.Time
	// Replica is whether the list has the entries of one replica alone.
	Replica bool
}

// pageOfEvents is how many entries a page has.
const pageOfEvents = 50

// activity is the page of what was done, the newest first.
func (h *historyPages) activity(v *visit) error {
	ctx := v.Request().Context()
	p := &activityPage{frame: frame{Title: "Activity", Path: pathActivity}, Now: v.Now(), First: true}
	q := audit.Query{Limit: pageOfEvents}
	if before := v.query("before"); before != "" {
		position, err := audit.ParseCursor(before)
		if err != nil {
			return errNotFound
		}
		q.Before, p.First = &position, false
	}
	found, err := h.History.Activity(ctx, v.bridge, q)
	if err != nil {
		p.Trouble = h.troubleOf(v, "What was done", err)
	}
	p.Events, p.Next, p.Replica = found.Entries, found.Next, found.Scope == selfservice.ScopeReplica
	if p.First {
		usage, err := h.History.Usage(ctx, v.bridge, h.usageQuery(v))
		if err != nil {
			p.UsageTrouble = h.troubleOf(v, "Your quota", err)
		} else {
			p.Usage = usageOf(usage)
		}
	}
	return h.show(v, "activity", http.StatusOK, p)
}
