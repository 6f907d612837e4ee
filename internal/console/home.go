// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

// homePage answers whether everything works.
type homePage struct {
	frame

	Lead         string
	Suspended    bool
	Needs, Works []row
	URL          string
	Usage        *usageView
	UsageTrouble string
	Latest       []selfservice.Event
	// First is whether nothing was ever called: the page then has the steps to the first
	// call. Tools is whether some could be.
	First, Tools  bool
	LatestTrouble string
	Now           time.Time
}

// latest is how many calls the first page shows.
const latest = 5

// home is the page of a person with a session.
func (h *historyPages) home(v *visit) error {
	ctx := v.Request().Context()
	servers, err := h.Servers.Servers(ctx, v.bridge)
	if err != nil {
		return err
	}
	p := &homePage{frame: frame{Path: pathHome}, URL: h.userURL(v), Now: v.Now(), Suspended: servers.Bridge.Status == selfservice.Suspended}
	for _, s := range servers.Servers {
		r := h.rowOf(s, servers.Bridge.Status)
		switch {
		case !s.Has() && s.Choice == nil && s.Reason != selfservice.ReasonPending:
			// It is offered, and belongs to the catalog.
		case needsPerson(s):
			p.Needs = append(p.Needs, r)
		default:
			p.Works = append(p.Works, r)
			p.Tools = p.Tools || s.Tools > 0
		}
	}
	p.Title, p.Lead = headline(servers, len(p.Needs), len(p.Works))
	usage, err := h.History.Usage(ctx, v.bridge, h.usageQuery(v))
	if err != nil {
		p.UsageTrouble = h.troubleOf(v, "Your quota", err)
	} else {
		p.Usage = usageOf(usage)
	}
	h.addLatest(v, p)
	return h.show(v, "home", http.StatusOK, p)
}

// usageQuery asks for the figures of the last day.
func (h *historyPages) usageQuery(v *visit) selfservice.UsageQuery {
	now := v.Now()
	return selfservice.UsageQuery{From: now.Add(-today).Truncate(time.Hour), To: now.Truncate(time.Hour).Add(time.Hour), Step: "hour", Top: latest}
}

// addLatest adds the latest calls.
func (h *historyPages) addLatest(v *visit, p *homePage) {
	activity, err := h.History.Activity(v.Request().Context(), v.bridge, audit.Query{Limit: audit.DefaultPage})
	if err != nil {
		p.LatestTrouble = h.troubleOf(v, "Your latest calls", err)
		return
	}
	for _, e := range activity.Entries {
		if e.Act == audit.MethodCallTool && len(p.Latest) < latest {
			p.Latest = append(p.Latest, e)
		}
	}
	p.First = len(p.Latest) == 0 && activity.Next == ""
}

// needsPerson reports whether a person can do something about a server, or must ask.
func needsPerson(s selfservice.Server) bool {
	return s.Fix != nil && !slices.Contains([]selfservice.FixCode{selfservice.FixWait, selfservice.FixTurnOn}, s.Fix.Code)
}

// headline returns what the first page says at its top.
func headline(s selfservice.Servers, needs, works int) (title, lead string) {
	if s.Bridge.Status == selfservice.Suspended {
		return "Your bridge is suspended", "Your apps cannot call any tools. Your settings and secrets are kept."
	}
	switch {
	case needs == 0 && works == 0:
		return "Your bridge has no servers yet", "A server gives your apps tools. Add one from the catalog."
	case needs == 0:
		title = "Your servers work"
		if works == 1 {
			title = "Your server works"
		}
	case needs == 1:
		title = fmt.Sprintf("One of your %d servers needs you", needs+works)
		if works == 0 {
			title = "Your server needs you"
		}
	default:
		title = fmt.Sprintf("%d of your %d servers need you", needs, needs+works)
	}
	switch s.Bridge.Status {
	case selfservice.Asleep:
		lead = "The bridge is asleep, and wakes at the next call. Your apps see " + toolCount(s.Bridge.Tools) + "."
	case selfservice.Starting:
		lead = s.Bridge.Message + " The first start can take a minute."
	default:
		lead = "Your apps see " + toolCount(s.Bridge.Tools) + " now."
	}
	return title, lead
}

// quotaView is one limit as a bar.
type quotaView struct {
	selfservice.Quota

	Label string
	Used  int64
	// Width is how much of the bar is filled, of 100, and Much whether little is left.
	Width int64
	Much  bool
}

// usageView is what was used of a quota.
type usageView struct {
	selfservice.Usage

	Bars []quotaView
}

// quotaLabels name the limits of a tier.
var quotaLabels = map[string]string{"minute": "This minute", "hour": "This hour", "day": "Today", "burst": "At once"}

func usageOf(u selfservice.Usage) *usageView {
	out := &usageView{Usage: u}
	for _, q := range u.Quota {
		if q.Most <= 0 {
			continue
		}
		bar := quotaView{Quota: q, Label: quotaLabels[q.Limit], Used: max(0, q.Most-q.Remaining)}
		bar.Width = min(100, bar.Used*100/q.Most)
		bar.Much = bar.Width >= 80
		out.Bars = append(out.Bars, bar)
	}
	return out
}
