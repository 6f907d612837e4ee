// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package news

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// healthy returns the state of a bridge whose one server s has these tools.
func healthy(tools ...string) state {
	return state{servers: []selfservice.Server{{Name: "s", State: health.Healthy, Tools: len(tools)}}, tools: selfservice.ToolNames{"s": tools}}
}

// with changes the first server.
func (s state) with(change func(*selfservice.Server)) state {
	s.servers = append([]selfservice.Server{}, s.servers...)
	change(&s.servers[0])
	return s
}

func asleep(s state) state { s.tools = nil; return s }

// saidOf returns what a visit that sees after is told, if the one before saw before, and what the next
// visit is told that sees the same.
func saidOf(before, after state) (said, again string) {
	first := visitOf(nil, before, start)
	next := visitOf(&first, after, start.Add(24*time.Hour))
	text := func(l List) string {
		var lines []string
		for _, i := range l.News {
			lines = append(lines, string(i.Kind)+" "+i.Server+" "+strings.Join(i.Tools, ","))
		}
		return strings.Join(lines, "; ")
	}
	return text(newsOf(&first.Last, after, start.Add(24*time.Hour))), text(newsOf(&next.Last, after, start.Add(48*time.Hour)))
}

func TestWhatHasChangedOfServersAndTools(t *testing.T) {
	one := healthy("a", "b")
	is := func(of health.Status, fix selfservice.FixCode, use string, actions ...selfservice.Action) func(*selfservice.Server) {
		return func(s *selfservice.Server) {
			s.State, s.Actions = of, actions
			if fix != "" {
				s.Fix = &selfservice.Fix{Code: fix}
			}
			if use != "" {
				s.Choice = &selfservice.Choice{Use: use}
			}
		}
	}
	off := is(selfservice.ServerOff, selfservice.FixTurnOn, "", selfservice.ActionTurnOn)
	for name, tt := range map[string]struct {
		before, after state
		want          string
	}{
		"nothing":                               {one, healthy("b", "a"), ""},
		"a tool came and one went":              {one, healthy("b", "c"), "tools_added s c; tools_removed s a"},
		"all tools went":                        {one, healthy(), "tools_removed s a,b"},
		"tools of a server that had none":       {healthy(), one, "tools_added s a,b"},
		"a bridge that sleeps":                  {one, asleep(one), ""},
		"a server that is broken":               {one, healthy().with(is(health.Unhealthy, selfservice.FixWait, "")), ""},
		"a server whose list is not there yet":  {one, healthy().with(func(s *selfservice.Server) { s.Tools = 2 }), ""},
		"a server that was never seen to work":  {asleep(one), one, ""},
		"a server that came":                    {state{}, one, "server_added s "},
		"a server that went":                    {one, state{}, "server_removed s "},
		"a server that the profile turned off":  {one, one.with(off), "server_removed s "},
		"a server that the user turned off":     {one, one.with(is(selfservice.ServerOff, selfservice.FixTurnOn, "Off", selfservice.ActionTurnOn)), ""},
		"a server that the user turned on":      {one.with(off), one.with(is(health.Healthy, "", "On")), ""},
		"a server that the profile turned on":   {one.with(off), one, "server_added s "},
		"a server that is offered":              {state{}, one.with(off), "server_offered s "},
		"an offer that ended":                   {one.with(off), state{}, ""},
		"a choice that is being applied":        {one, one.with(func(s *selfservice.Server) { s.State, s.Reason = health.Connecting, selfservice.ReasonPending }), ""},
		"a secret that is refused":              {one, one.with(is(health.Unhealthy, selfservice.FixSetSecret, "")), "secret_needed s "},
		"a secret that was refused before":      {one.with(is(health.Unhealthy, selfservice.FixSetSecret, "")), one.with(is(health.Connecting, selfservice.FixWait, "")), ""},
		"an account that has to be connected":   {one, one.with(is(health.Unhealthy, selfservice.FixConnectAccount, "")), "account_needed s "},
		"a new server that waits for a secret":  {state{}, one.with(is(health.Unhealthy, selfservice.FixSetSecret, "")), "server_added s "},
		"a server for which there is no room":   {one, one.with(is(selfservice.ServerOff, selfservice.FixMakeRoom, "")), "server_removed s "},
		"a secret that works again":             {one.with(is(health.Unhealthy, selfservice.FixSetSecret, "")), one, ""},
		"more tools than are kept":              {healthy(many(300)...), healthy(many(301)...), "tools_changed s "},
		"tools with longer names than are kept": {healthy(strings.Repeat("a", maxSeenBytes+1)), one, "tools_changed s "},
		"as many tools as before":               {healthy(many(300)...), healthy(many(300)...), ""},
	} {
		t.Run(name, func(t *testing.T) {
			said, again := saidOf(tt.before, tt.after)
			if said != tt.want || again != "" {
				t.Errorf("told %q and then %q, want %q", said, again, tt.want)
			}
		})
	}
}

func many(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("tool_%d", i))
	}
	return names
}

// TestAToolThatComesWhileItsServerIsNotSeenIsToldLater has two visits to a bridge that sleeps between
// the old and the new tools.
func TestAToolThatComesWhileItsServerIsNotSeenIsToldLater(t *testing.T) {
	visits := visitOf(nil, healthy("a"), start)
	for day := range 2 {
		visits = visitOf(&visits, asleep(healthy("a", "b")), start.Add(time.Duration(day)*24*time.Hour))
	}
	got := newsOf(&visits.Last, healthy("a", "b"), start.Add(72*time.Hour))
	if len(got.News) != 1 || got.News[0].Text != "The server s has a new tool: b." {
		t.Errorf("%+v", got)
	}
}

func TestWhatIsToldAndKeptIsBounded(t *testing.T) {
	var s state
	for i := range 200 {
		name := fmt.Sprintf("server-%d", i)
		s.servers = append(s.servers, selfservice.Server{Name: name, State: health.Healthy, Tools: 100})
		if s.tools == nil {
			s.tools = selfservice.ToolNames{}
		}
		s.tools[name] = many(100)
	}
	first := visitOf(nil, s, start)
	bytes := 0
	for _, one := range first.Last.Servers {
		bytes += len(strings.Join(one.Tools, ""))
		if one.Digest == "" || len(one.Digest) > 16 {
			t.Fatalf("%+v", one)
		}
	}
	if len(first.Last.Servers) != maxSeenServers || bytes == 0 || bytes > maxSeenBytes {
		t.Errorf("%d servers with %d bytes of names are kept", len(first.Last.Servers), bytes)
	}
	empty := visitOf(nil, state{}, start)
	if got := newsOf(&empty.Last, s, start.Add(time.Hour)); len(got.News) != maxItems || got.More != maxSeenServers-maxItems {
		t.Errorf("%d changes are told, and %d more", len(got.News), got.More)
	}
	got := newsOf(&v1alpha1.Visit{Time: metav1.NewTime(start), Servers: seenOf(nil, healthy())}, healthy(many(40)...), start.Add(time.Hour))
	if len(got.News) != 1 || len(got.News[0].Tools) != maxNames || !strings.HasSuffix(got.News[0].Text, " and 30 more.") || !strings.Contains(got.News[0].Text, "has 40 new tools: ") {
		t.Errorf("%+v", got.News)
	}
}

func TestAVisitLastsAnHour(t *testing.T) {
	visits := &v1alpha1.Visits{Last: v1alpha1.Visit{Time: metav1.NewTime(start)}, Before: &v1alpha1.Visit{}}
	for after, begins := range map[time.Duration]bool{0: false, time.Minute: false, time.Hour - 1: false, time.Hour: true, -time.Minute: false, -2 * time.Hour: true} {
		if base, got := baseOf(visits, start.Add(after)); got != begins || (base == visits.Before) == begins {
			t.Errorf("%s later: another visit begins: %v", after, got)
		}
	}
}

func TestKeysAndAnswersAreToldAtTheirTime(t *testing.T) {
	now := start.Add(24 * time.Hour)
	at := func(d time.Duration) *time.Time { return new(now.Add(d)) }
	const day = 24 * time.Hour
	for name, tt := range map[string]struct {
		key     *keys.Info
		request *requests.Request
		want    Kind
	}{
		"a key without an end":              {key: &keys.Info{}},
		"a key that ends in 13.5 days":      {key: &keys.Info{ExpiresAt: at(13*day + day/2)}, want: KeyEnds},
		"one that ends in a week":           {key: &keys.Info{ExpiresAt: at(7 * day)}},
		"one that ends in 2.5 days":         {key: &keys.Info{ExpiresAt: at(2*day + day/2)}, want: KeyEnds},
		"one that was made for 13 days":     {key: &keys.Info{ExpiresAt: at(13*day + day/2), CreatedAt: at(-day / 4)}},
		"one that has ended":                {key: &keys.Info{ExpiresAt: at(-day / 2)}, want: KeyEnded},
		"one that ended before":             {key: &keys.Info{ExpiresAt: at(-2 * day)}},
		"an approval":                       {request: &requests.Request{State: requests.Approved, Answered: at(-day / 2)}, want: RequestApproved},
		"a refusal":                         {request: &requests.Request{State: requests.Refused, Answered: at(-day / 2)}, want: RequestRefused},
		"an approval before the last visit": {request: &requests.Request{State: requests.Approved, Answered: at(-2 * day)}},
		"one of something else":             {request: &requests.Request{State: requests.Outdated, Answered: at(-day / 2)}},
		"an open request":                   {request: &requests.Request{State: requests.Open}},
	} {
		t.Run(name, func(t *testing.T) {
			var s state
			if tt.key != nil {
				s.keys = []keys.Info{*tt.key}
			}
			if tt.request != nil {
				s.requests = []requests.Request{*tt.request}
			}
			got, kinds, want := newsOf(&v1alpha1.Visit{Time: metav1.NewTime(start)}, s, now), []Kind{}, []Kind{}
			for _, i := range got.News {
				kinds = append(kinds, i.Kind)
			}
			if tt.want != "" {
				want = append(want, tt.want)
			}
			if diff := cmp.Diff(want, kinds); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
