// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package news

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
)

const (
	// visitLength is how long a visit lasts: whoever comes back to the page within it sees the
	// same again. It is also the least time between two writes.
	visitLength = time.Hour
	// endsSoon is when a user first hears that a key ends: most absences are shorter than two
	// weeks. endsNow is when they hear it again, longer than a weekend before.
	endsSoon = 14 * 24 * time.Hour
	endsNow  = 3 * 24 * time.Hour
	// maxItems is how many changes a list has: more than a person reads.
	maxItems = 20
	// maxNames is how many tools a change names.
	maxNames = 10
)

// The bounds of what is kept of a visit, as those of status.visits.
const (
	maxSeenServers = 128
	maxSeenTools   = 256
	// maxSeenBytes bounds the names of all tools: some 200 of the usual 20 bytes. A HostedBridge
	// has two visits, so 10,000 of them have 80 MiB at most.
	maxSeenBytes = 4 << 10
)

// state is what of a bridge can be news.
type state struct {
	servers  []selfservice.Server
	tools    selfservice.ToolNames
	keys     []keys.Info
	requests []requests.Request
}

// baseOf returns the visit with which the present is compared, nil without one, and whether another
// visit begins now. A visit that lies ahead was noted by a clock that is wrong, and has ended.
func baseOf(visits *v1alpha1.Visits, now time.Time) (base *v1alpha1.Visit, begins bool) {
	if visits == nil {
		return nil, true
	}
	if since := now.Sub(visits.Last.Time.Time); since >= visitLength || since < -visitLength {
		return &visits.Last, true
	}
	return visits.Before, false
}

// seenOf returns what there is to see of servers. What is not known now is as it was seen earlier.
func seenOf(earlier []v1alpha1.SeenServer, now state) []v1alpha1.SeenServer {
	seen, left := []v1alpha1.SeenServer{}, maxSeenBytes
	for _, s := range now.servers {
		was, known := find(earlier, s.Name)
		one := seenServer(s, was, now.tools)
		if s.Reason == selfservice.ReasonPending {
			if one = was; !known {
				continue // Its user sees it when it is there.
			}
		}
		if one.State == "" || len(seen) == maxSeenServers {
			continue
		}
		size := len(strings.Join(one.Tools, ""))
		if size > left || len(one.Tools) > maxSeenTools {
			one.Tools, size = nil, 0
		}
		left -= size
		seen = append(seen, one)
	}
	return seen
}

func find(in []v1alpha1.SeenServer, name string) (v1alpha1.SeenServer, bool) {
	at := slices.IndexFunc(in, func(s v1alpha1.SeenServer) bool { return s.Name == name })
	if at < 0 {
		return v1alpha1.SeenServer{}, false
	}
	return in[at], true
}

func seenServer(s selfservice.Server, was v1alpha1.SeenServer, tools selfservice.ToolNames) v1alpha1.SeenServer {
	switch {
	case s.Has():
	case slices.Contains(s.Actions, selfservice.ActionTurnOn), slices.Contains(s.Actions, selfservice.ActionAsk):
		return v1alpha1.SeenServer{Name: s.Name, State: v1alpha1.SeenOffered}
	default:
		return v1alpha1.SeenServer{}
	}
	one := v1alpha1.SeenServer{Name: s.Name, State: v1alpha1.SeenOn, Needs: was.Needs, Digest: was.Digest, Tools: was.Tools}
	if s.State == health.Healthy {
		one.Needs = ""
		// A bridge that has just started has no list of the server yet.
		if names := tools[s.Name]; tools != nil && (len(names) > 0 || s.Tools == 0) {
			one.Tools = slices.Compact(slices.Sorted(slices.Values(names)))
			one.Digest = digestOf(one.Tools)
		}
	}
	if s.Fix != nil {
		one.Needs = cmp.Or(map[selfservice.FixCode]string{
			selfservice.FixSetSecret: v1alpha1.NeedsSecret, selfservice.FixConnectAccount: v1alpha1.NeedsAccount,
		}[s.Fix.Code], one.Needs)
	}
	return one
}

// digestOf tells lists of names apart. It guards nothing.
func digestOf(names []string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strings.Join(names, "\n"))) // It never fails.
	return hex.EncodeToString(h.Sum(nil))
}

// visitOf returns the visits after another one began.
func visitOf(visits *v1alpha1.Visits, s state, now time.Time) v1alpha1.Visits {
	next := v1alpha1.Visits{Last: v1alpha1.Visit{Time: metav1.NewTime(now.Truncate(time.Second))}}
	if visits != nil {
		next.Before = &visits.Last
		next.Last.Servers = seenOf(visits.Last.Servers, s)
		return next
	}
	next.Last.Servers = seenOf(nil, s)
	return next
}

// newsOf returns what has changed since a visit, nothing without one.
func newsOf(since *v1alpha1.Visit, s state, now time.Time) List {
	if since == nil {
		return List{News: []Item{}}
	}
	c := changes{since: *since, now: now, state: s, items: []Item{}}
	c.addKeys()
	c.addRequests()
	c.addServers()
	slices.SortStableFunc(c.items, func(a, b Item) int {
		return cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind))
	})
	kept := c.items[:min(len(c.items), maxItems)]
	return List{Since: new(since.Time.UTC()), News: kept, More: len(c.items) - len(kept)}
}

// changes gathers what has changed.
type changes struct {
	state

	since v1alpha1.Visit
	now   time.Time
	items []Item
}

func (c *changes) add(i Item) { c.items = append(c.items, i) }

// isNew reports whether a time is after the visit, and not ahead.
func (c *changes) isNew(at time.Time) bool { return at.After(c.since.Time.Time) && !at.After(c.now) }

// addKeys adds the keys of which a user hears now that they end, or have ended.
func (c *changes) addKeys() {
	for _, k := range c.keys {
		if k.ExpiresAt == nil || !slices.ContainsFunc([]time.Duration{endsSoon, endsNow, 0}, func(before time.Duration) bool {
			// A user who makes a key knows when it ends.
			at := k.ExpiresAt.Add(-before)
			return c.isNew(at) && (k.CreatedAt == nil || at.After(*k.CreatedAt))
		}) {
			continue
		}
		name := cmp.Or(k.Name, k.ID)
		i := Item{Kind: KeyEnds, Time: k.ExpiresAt, KeyID: k.ID, Page: "/keys"}
		i.Text = "The key " + name + " ends soon. Make another one for the apps that use it."
		if !k.ExpiresAt.After(c.now) {
			i.Kind, i.Text = KeyEnded, "The key "+name+" has ended. Apps that use it have lost access."
		}
		c.add(i)
	}
}

// addRequests adds the answers to requests.
func (c *changes) addRequests() {
	for _, r := range c.requests {
		if r.Answered == nil || !c.isNew(*r.Answered) {
			continue
		}
		i := Item{Kind: RequestApproved, Time: r.Answered, Server: r.Server, Reason: r.Answer, Page: pageOf(r.Server)}
		switch r.State {
		case requests.Approved:
			i.Text = "Your request for " + r.Server + " was approved."
			if s, _ := c.server(r.Server); !s.Has() {
				i.Text += " Turn it on."
			}
		case requests.Refused:
			i.Kind, i.Text = RequestRefused, "Your request for "+r.Server+" was refused."
		default:
			continue // The profile offers something else since.
		}
		c.add(i)
	}
}

func offText(server string) string {
	return "The server " + server + " is off now. Apps no longer see its tools."
}

func pageOf(server string) string { return "/servers/" + server }

func (c *changes) server(name string) (selfservice.Server, bool) {
	return selfservice.Servers{Servers: c.servers}.Find(name)
}

// chose reports whether the user's own choice has a server on or off.
func (c *changes) chose(server, use string) bool {
	s, _ := c.server(server)
	return s.Choice != nil && s.Choice.Use == use
}

// addServers adds what has changed of servers.
func (c *changes) addServers() {
	seen := seenOf(c.since.Servers, c.state)
	for _, s := range seen {
		was, known := find(c.since.Servers, s.Name)
		on, wasOn := s.State == v1alpha1.SeenOn, was.State == v1alpha1.SeenOn
		switch {
		case on && wasOn:
			c.addNeeds(was, s)
			c.addTools(was, s)
		case on && !c.chose(s.Name, v1alpha1.ChoiceOn):
			c.add(Item{Kind: ServerAdded, Server: s.Name, Page: pageOf(s.Name), Text: "The server " + s.Name + " was added. Apps see its tools."})
		case !on && wasOn && !c.chose(s.Name, v1alpha1.ChoiceOff):
			c.add(Item{Kind: ServerRemoved, Server: s.Name, Page: pageOf(s.Name), Text: offText(s.Name)})
		case !on && !known:
			c.add(Item{Kind: ServerOffered, Server: s.Name, Page: pageOf(s.Name), Text: "The server " + s.Name + " is offered to you."})
		}
	}
	c.addGone(seen)
}

// addGone adds the servers that the bridge had and that are not to be seen any more.
func (c *changes) addGone(seen []v1alpha1.SeenServer) {
	for _, was := range c.since.Servers {
		if _, still := find(seen, was.Name); still || was.State != v1alpha1.SeenOn || len(seen) == maxSeenServers {
			continue
		}
		i := Item{Kind: ServerRemoved, Server: was.Name, Page: "/catalog"}
		i.Text = "The server " + was.Name + " was removed. Apps no longer see its tools."
		if _, listed := c.server(was.Name); listed {
			i.Page, i.Text = pageOf(was.Name), offText(was.Name)
		}
		c.add(i)
	}
}

// addNeeds adds a secret or an account that a server has begun to wait for.
func (c *changes) addNeeds(was, s v1alpha1.SeenServer) {
	switch {
	case s.Needs == was.Needs:
	case s.Needs == v1alpha1.NeedsSecret:
		text := "The server " + s.Name + " needs a secret."
		if of, _ := c.server(s.Name); of.Credentials != nil && of.Credentials.State == selfservice.CredentialsRefused {
			text = "The server " + s.Name + " refuses its secret. Get another one and replace it."
		}
		c.add(Item{Kind: SecretNeeded, Server: s.Name, Page: pageOf(s.Name) + "#secrets", Text: text})
	case s.Needs == v1alpha1.NeedsAccount:
		text := "The account of the server " + s.Name + " has to be connected again."
		c.add(Item{Kind: AccountNeeded, Server: s.Name, Page: pageOf(s.Name), Text: text})
	}
}

// addTools adds tools that came and went.
func (c *changes) addTools(was, s v1alpha1.SeenServer) {
	none := digestOf(nil)
	switch {
	case was.Digest == "" || was.Digest == s.Digest:
		return
	case len(was.Tools) == 0 && was.Digest != none, len(s.Tools) == 0 && s.Digest != none:
		c.add(Item{Kind: ToolsChanged, Server: s.Name, Page: pageOf(s.Name), Text: "The tools of the server " + s.Name + " have changed."})
		return
	}
	c.addNames(ToolsAdded, s.Name, "has", without(s.Tools, was.Tools))
	c.addNames(ToolsRemoved, s.Name, "no longer has", without(was.Tools, s.Tools))
}

func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(others, n) })
}

func (c *changes) addNames(kind Kind, server, verb string, names []string) {
	if len(names) == 0 {
		return
	}
	what, shown := fmt.Sprintf("%d tools", len(names)), names[:min(len(names), maxNames)]
	if len(names) == 1 {
		what = "a tool"
	}
	if kind == ToolsAdded {
		what = strings.Replace(what, "tool", "new tool", 1)
	}
	text := "The server " + server + " " + verb + " " + what + ": " + strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	c.add(Item{Kind: kind, Server: server, Tools: shown, Page: pageOf(server), Text: text + "."})
}
