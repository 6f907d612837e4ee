// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/news"
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
	// First is whether no call is known: the page then has the steps to the first one.
	// Tools is whether a tool could be called.
	First, Tools  bool
	LatestTrouble string
	// News is what has changed since the last visit.
	News        news.List
	NewsTrouble string
	Now         time.Time
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
	p.Changing = updateEvery(slices.Concat(p.Needs, p.Works)...)
	p.Title, p.Lead = headline(servers.Bridge, len(p.Needs), p.Works)
	usage, err := h.History.Usage(ctx, v.bridge, h.usageQuery(v))
	if err != nil {
		p.UsageTrouble = h.troubleOf(v, "Your quota", err)
	} else {
		p.Usage = usageOf(usage)
	}
	h.addLatest(v, p)
	h.addNews(v, p)
	return h.show(v, "home", http.StatusOK, p)
}

// addNews adds what has changed since the last visit, and notes this one.
func (h *historyPages) addNews(v *visit, p *homePage) {
	found, err := h.News.Visit(v.Request().Context(), v.bridge)
	switch {
	case err != nil:
		p.NewsTrouble = h.troubleOf(v, "What has changed", err)
	case found.Partial:
		p.NewsTrouble = "Answers to your requests cannot be shown now. They are told at your next visit."
	}
	p.News = found
}

// usageQuery asks for the figures of the last day.
func (h *historyPages) usageQuery(v *visit) selfservice.UsageQuery {
	now := v.Now()
	return selfservice.UsageQuery{From: now.Add(-today).Truncate(time.Hour), To: now.Truncate(time.Hour).Add(time.Hour), Step: "hour", Top: latest}
}

// addLatest adds the latest calls.
func (h *historyPages) addLatest(v *visit, p *homePage) {
	activity, err := h.History.Activity(v.Request().Context(), v.bridge, audit.Query{Limit: audit.DefaultPage})
	if errors.Is(err, errNoIndex) {
		p.First = p.Usage != nil && !slices.ContainsFunc(p.Usage.Bars, func(q quotaView) bool { return q.Used > 0 })
		return
	}
	if err != nil {
		p.LatestTrouble = h.troubleOf(v, "Your latest calls", err)
		return
	}
	for _, e := range activity.Entries {
		if e.Act == methods.CallTool && len(p.Latest) < latest {
			p.Latest = append(p.Latest, e)
		}
	}
	p.First = len(p.Latest) == 0 && activity.Next == ""
}

// needsPerson reports whether a person can do something about a server, or must ask.
func needsPerson(s selfservice.Server) bool {
	return s.Fix != nil && !slices.Contains([]selfservice.FixCode{selfservice.FixWait, selfservice.FixTurnOn}, s.Fix.Code)
}

// headline returns what the first page says at its top. needs is how many servers need the
// person, and others are the rest. Those that are off do not count.
func headline(b selfservice.Bridge, needs int, others []row) (title, lead string) {
	switch b.Status {
	case selfservice.Suspended:
		return "Your bridge is suspended", "Your apps cannot call any tools. Your settings and secrets are kept."
	case selfservice.Blocked:
		return "Your bridge cannot start", strings.TrimSuffix(b.Message+" "+b.Fix.Text, ".") + "."
	}
	return serversHeadline(b, needs, others)
}

// serversHeadline is headline for a bridge that can run.
func serversHeadline(b selfservice.Bridge, needs int, others []row) (title, lead string) {
	looks := map[state]int{}
	for _, r := range others {
		looks[r.Look]++
	}
	on := needs + len(others) - looks[stateOff]
	starting := looks[stateStarting] + looks[stateApplying] + looks[stateUnknown]
	switch broken := looks[stateNotWorking]; {
	case on == 0 && len(others) > 0:
		return "Your servers are off", "Turn one on, and your apps get its tools."
	case on == 0:
		return "Your bridge has no servers yet", "A server gives your apps tools. Add one from the catalog."
	case needs > 0:
		title = partOf(needs, on, "needs you", "need you")
	case broken > 0:
		title = partOf(broken, on, "does not work", "do not work")
	case starting > 0:
		title = partOf(starting, on, "is starting", "are starting")
	default:
		title = partOf(on, on, "works", "work")
	}
	switch b.Status {
	case selfservice.Asleep:
		lead = "The bridge is asleep, and wakes at the next call. Your apps see " + toolCount(b.Tools) + "."
	case selfservice.Starting:
		lead = b.Message + " The first start can take a minute."
	default:
		lead = "Your apps see " + toolCount(b.Tools) + " now."
	}
	return title, lead
}

// partOf returns a sentence about n of a person's servers.
func partOf(n, all int, one, many string) string {
	switch {
	case all == 1:
		return "Your server " + one
	case n == all:
		return "Your servers " + many
	case n == 1:
		return fmt.Sprintf("One of your %d servers %s", all, one)
	}
	return fmt.Sprintf("%d of your %d servers %s", n, all, many)
}

// quotaView is one limit as a bar.
type quotaView struct {
	selfservice.Quota

	Label string
	Used  int64
	// Width is how much of the bar is filled, of 100, and Much whether little is left.
	Width int64
	Much  bool
	// Note explains the limit, empty for one that its label explains.
	Note string
}

// usageView is what was used of a quota.
type usageView struct {
	selfservice.Usage

	Bars []quotaView
	// Ended says how the calls ended, empty if they are not known.
	Ended string
}

// endedOf says how calls ended, so that what a person sees as an error has its number: a call
// over the quota did not run, and is no failure of a server.
func endedOf(c *selfservice.CallUsage) string {
	if c == nil {
		return ""
	}
	if c.Total == 0 {
		return "No calls in 24 hours."
	}
	calls := "calls"
	if c.Total == 1 {
		calls = "call"
	}
	parts := []string{count(c.Total) + " " + calls + " in 24 hours: " + count(c.Errors) + " failed"}
	for _, refused := range []struct {
		status audit.Status
		words  string
	}{{audit.RateLimited, "over the quota"}, {audit.Denied, "not allowed"}} {
		if n := c.ByStatus[refused.status]; n > 0 {
			parts = append(parts, count(n)+" "+refused.words)
		}
	}
	return strings.Join(parts, ", ") + "."
}

// burstNote says what follows when a person's calls come too fast, by the limit of a minute.
func burstNote(perMinute int64) string {
	return "So many calls may come as fast as they are answered. After them calls pass at " + count(perMinute) + " a minute, and faster ones are refused."
}

// quotaLabels name the limits of a tier.
var quotaLabels = map[string]string{"minute": "This minute", "hour": "This hour", "day": "Today", "burst": "In quick succession"}

func usageOf(u selfservice.Usage) *usageView {
	out := &usageView{Usage: u, Ended: endedOf(u.Calls)}
	perMinute := int64(0)
	for _, q := range u.Quota {
		if q.Most <= 0 {
			continue
		}
		bar := quotaView{Quota: q, Label: quotaLabels[q.Limit], Used: max(0, q.Most-q.Remaining)}
		bar.Width = min(100, bar.Used*100/q.Most)
		bar.Much = bar.Width >= 80
		switch q.Limit {
		case "minute":
			perMinute = q.Most
		case "burst":
			bar.Note = burstNote(perMinute)
		}
		out.Bars = append(out.Bars, bar)
	}
	return out
}
