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
func (c *Console) activity(v *visit) error {
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
	found, err := c.History.Activity(ctx, v.bridge, q)
	if err != nil {
		p.Trouble = c.troubleOf(v, "What was done", err)
	}
	p.Events, p.Next, p.Replica = found.Entries, found.Next, found.Scope == selfservice.ScopeReplica
	if p.First {
		usage, err := c.History.Usage(ctx, v.bridge, c.usageQuery(v))
		if err != nil {
			p.UsageTrouble = c.troubleOf(v, "Your quota", err)
		} else {
			p.Usage = usageOf(usage)
		}
	}
	return c.show(v, "activity", http.StatusOK, p)
}
