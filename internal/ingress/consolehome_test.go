// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

func TestTheFirstPageSaysWhetherServersWork(t *testing.T) {
	wait := &selfservice.Fix{Code: selfservice.FixWait, Text: "Wait."}
	works := selfservice.Server{State: health.Healthy, Tools: 2}
	broken := selfservice.Server{State: health.Unhealthy, Reason: "connection_refused", Message: "It refuses connections.", Fix: wait}
	starting := selfservice.Server{State: health.Connecting, Fix: wait}
	secret := selfservice.Server{State: health.Unhealthy, Fix: &selfservice.Fix{Code: selfservice.FixSetSecret, Text: "Set A.", Secrets: []string{"A"}}}
	off := selfservice.Server{State: selfservice.ServerOff, Reason: selfservice.ReasonOff, Choice: &selfservice.Choice{Use: "Off"},
		Fix: &selfservice.Fix{Code: selfservice.FixTurnOn, Text: "Turn the server on."}}
	w := newConsoleWorld(t)
	v := w.logged(w.alice)
	for want, servers := range map[string][]selfservice.Server{
		"Your bridge has no servers yet":      {},
		"Your server works":                   {works},
		"Your servers work":                   {works, works, off},
		"Your server does not work":           {broken, off},
		"One of your 2 servers does not work": {broken, works},
		"2 of your 3 servers do not work":     {broken, works, broken},
		"Your server is starting":             {starting},
		"2 of your 3 servers are starting":    {starting, works, starting},
		"Your servers are off":                {off},
		"Your server needs you":               {secret, off},
		"One of your 3 servers needs you":     {secret, broken, works},
		"Your servers need you":               {secret, secret},
	} {
		list := make([]selfservice.Server, len(servers))
		for i, s := range servers {
			s.Name = string(rune('a' + i))
			list[i] = s
		}
		w.self.servers["alice"] = selfservice.Servers{Bridge: selfservice.Bridge{Status: health.Healthy}, Servers: list}
		if got := v.open("/"); got.status != http.StatusOK || !strings.Contains(got.body, "<h1>"+want+"</h1>") {
			_, rest, _ := strings.Cut(got.body, "<h1>")
			t.Errorf("want %q: %d %.60s", want, got.status, rest)
		}
	}
}

func TestTheFirstPageSaysWhyABridgeCannotStart(t *testing.T) {
	w := newConsoleWorld(t)
	v := w.logged(w.alice)
	w.self.servers["alice"] = selfservice.Servers{Servers: []selfservice.Server{{Name: "a", State: selfservice.ServerUnknown, Message: "Not yet."}}, Bridge: selfservice.Bridge{
		Status: selfservice.Blocked, Message: "The bridge cannot start: the cluster refuses to run it.",
		Fix: &selfservice.Fix{Code: selfservice.FixAskAdmin, Text: "Ask an administrator, and give them this text: exceeded quota: pods"},
	}}
	got := v.open("/")
	for _, want := range []string{"<h1>Your bridge cannot start</h1>", "refuses to run it. Ask an administrator, and give them this text: exceeded quota: pods.", "Does not work"} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the page does not say %q: %s", want, got.body)
		}
	}
	if strings.Contains(got.body, "can take a minute") {
		t.Errorf("the page says that it starts: %s", got.body)
	}
}

// TestTheStepsToAFirstCallNeedNoIndex looks at the steps where no audit entry can be read.
func TestTheStepsToAFirstCallNeedNoIndex(t *testing.T) {
	const steps = "Three steps to your first tool"
	w := newConsoleWorld(t)
	v := w.logged(w.alice)
	if got := v.open("/"); !strings.Contains(got.body, steps) {
		t.Error("there are no steps before the first call")
	}
	w.self.events = []selfservice.Event{{Act: methods.CallTool, Time: time.Now()}}
	if got := v.open("/"); strings.Contains(got.body, steps) {
		t.Error("there are steps after the first call")
	}
	w.self.noIndex = true
	got := v.open("/")
	if strings.Contains(got.body, steps) || strings.Contains(got.body, "audit-index") {
		t.Errorf("the quota is used: %s", got.body)
	}
	w.self.usage.Quota[0].Remaining = w.self.usage.Quota[0].Most
	if got := v.open("/"); !strings.Contains(got.body, steps) {
		t.Errorf("the quota is not used: %s", got.body)
	}
	if got := v.open("/activity"); got.status != http.StatusOK || !strings.Contains(got.body, "keeps no list of what was done") {
		t.Errorf("activity: %d %s", got.status, got.body)
	}
}

func TestFiguresOfCallsAgree(t *testing.T) {
	w := newConsoleWorld(t)
	v := w.logged(w.alice)
	w.self.usage = selfservice.Usage{Tier: testTier, ConcurrentCalls: 4, Quota: []selfservice.Quota{{Limit: "minute", Most: 30, Remaining: 19}, {Limit: "burst", Most: 25, Remaining: 0, ResetSeconds: 2}}}
	calls := func(total, errors int64, by map[audit.Status]int64) {
		w.self.usage.Calls = &selfservice.CallUsage{Total: total, Errors: errors, ByStatus: by}
	}
	for want, set := range map[string]func(){
		"46 calls in 24 hours: 2 failed, 5 over the quota, 1 not allowed.": func() {
			calls(46, 2, map[audit.Status]int64{audit.Success: 38, audit.ToolError: 2, audit.RateLimited: 5, audit.Denied: 1})
		},
		"1 call in 24 hours: 0 failed.": func() { calls(1, 0, map[audit.Status]int64{audit.Success: 1}) },
		"No calls in 24 hours.":         func() { calls(0, 0, nil) },
	} {
		set()
		for _, page := range []string{"/", "/activity"} {
			got := v.open(page)
			for _, says := range []string{want, "In quick succession", "After them calls pass at 30 a minute, and faster ones are refused.", "At most 4 calls run at the same time."} {
				if strings.Count(got.body, says) != 1 {
					t.Errorf("%s does not say %q once: %s", page, says, got.body)
				}
			}
		}
	}
}

func TestTheCatalogSaysWhatAServerIsFor(t *testing.T) {
	w := newConsoleWorld(t)
	w.self.servers["alice"].Servers[2].Description = "Finds pages of the handbook."
	v := w.logged(w.alice)
	docs := &w.self.servers["alice"].Servers[2]
	docs.Author, docs.KnownTools = "Example", []string{"find_page", "read_page"}
	for _, page := range []string{"/catalog", "/catalog?q=HANDBOOK", "/servers/docs"} {
		got := v.open(page)
		for _, want := range []string{"Finds pages of the handbook.", "By <bdi>Example", "<bdi>find_page", "<bdi>read_page"} {
			if got.status != http.StatusOK || !strings.Contains(got.body, want) {
				t.Errorf("%s does not say %q: %d %s", page, want, got.status, got.body)
			}
		}
	}
}

// tokenOf is what alice has to know of the secret of a server.
func tokenOf(state selfservice.CredentialState) *selfservice.Credentials {
	return &selfservice.Credentials{
		URL: "https://github.example.com/tokens?new", Host: "github.example.com", Instructions: "Make a token that may read.", Scopes: []string{"repo:read"}, State: state, Check: "See below.",
	}
}

func TestPagesThatAskForASecretSayWhereItComesFrom(t *testing.T) {
	w := newConsoleWorld(t)
	alice := w.self.servers["alice"]
	alice.Servers[1].Credentials = tokenOf(selfservice.CredentialsNotSet)
	alice.Servers[2].ToolNames = "The names of its tools will begin with docs_."
	alice.Servers[2].Credentials, alice.Servers[2].Secrets = tokenOf(selfservice.CredentialsUnchecked), []string{"DOCS_TOKEN"}
	v := w.logged(w.alice)
	const link = `<a href="https://github.example.com/tokens?new" target="_blank" rel="noopener noreferrer">github.example.com</a>`
	for page, more := range map[string]string{"/": "Set GITHUB_TOKEN.", "/servers/github": "Set GITHUB_TOKEN", "/catalog": "<bdi>DOCS_TOKEN", "/servers/docs": "will begin with docs_"} {
		got := v.open(page)
		for _, want := range []string{link, "Make a token that may read.", "<bdi>repo:read", "See below.", more} {
			if !strings.Contains(got.body, want) {
				t.Errorf("%s does not say %q: %s", page, want, got.body)
			}
		}
	}
	if got := v.open("/catalog"); !strings.Contains(got.body, "will begin with docs_") {
		t.Errorf("the catalog does not say how tools will be called: %s", got.body)
	}
	alice.Servers[1].Credentials = &selfservice.Credentials{State: selfservice.CredentialsNotSet}
	if got := v.open("/servers/github"); !strings.Contains(got.body, "Nobody has noted where to get it. Ask an administrator.") {
		t.Errorf("a secret of which nobody knows where it comes from: %s", got.body)
	}
	w.self.tools = selfservice.Tools{Known: true, Missing: []selfservice.MissingTool{{Server: "github", Message: "It waits.", Fix: alice.Servers[1].Fix}}}
	if got := v.open("/tools"); !strings.Contains(got.body, `<a href="/servers/github#secrets">Where to get it</a>`) {
		t.Errorf("tools: %s", got.body)
	}
}

func TestAPageSaysWhetherASecretWorksOnceItIsSet(t *testing.T) {
	w := newConsoleWorld(t)
	v := w.logged(w.alice)
	for state, want := range map[selfservice.CredentialState]string{
		selfservice.CredentialsWork:      `class="said" role="status">` + "\x00Secret saved. The server works with it.",
		selfservice.CredentialsRefused:   `class="said warn" role="status">` + "\x00Secret saved, but the server has not accepted it yet.",
		selfservice.CredentialsNotSet:    `class="said warn" role="status">` + "\x00Secret saved. The server waits for another secret",
		selfservice.CredentialsUnchecked: `class="said" role="status">` + "\x00Secret saved. See below.",
	} {
		w.self.servers["alice"].Servers[1].Credentials = tokenOf(state)
		to := v.submit("/servers/github", "/secrets", "name", "GITHUB_TOKEN", "server", "github", "value", "a").header.Get("Location")
		got := v.open(to)
		box, text, _ := strings.Cut(want, "\x00")
		if strings.Count(got.body, `role="status"`) != 1 || !strings.Contains(got.body, box) || !strings.Contains(got.body, text) {
			t.Errorf("%s: %s", state, got.body)
		}
	}
}

// TestTheCatalogLeadsOnAfterAServerIsTurnedOn has servers that are on and wait for their person: the
// catalog, where the server was turned on, has the button for that.
func TestTheCatalogLeadsOnAfterAServerIsTurnedOn(t *testing.T) {
	w := newConsoleWorld(t)
	v := w.logged(w.alice)
	s := w.self.servers["alice"].Servers[1]
	s.Actions = []selfservice.Action{selfservice.ActionTurnOff}
	const off = ">Turn off github</button>"
	for button, fix := range map[string]*selfservice.Fix{
		`href="/servers/github#secrets">Set the secret</a>`: s.Fix,
		`href="/oauth/connect">Connect account</a>`:         {Code: selfservice.FixConnectAccount, URL: "/oauth/connect"},
		off: {Code: selfservice.FixWait, Text: "Wait."},
	} {
		s.Fix = fix
		w.self.become(s)
		got := v.open("/catalog")
		if !strings.Contains(got.body, button) || strings.Contains(got.body, off) != (button == off) {
			t.Errorf("the catalog does not have the one button %s: %s", button, got.body)
		}
		if got := v.open("/servers/github"); !strings.Contains(got.body, off) {
			t.Errorf("the server cannot be turned off on its page: %s", got.body)
		}
	}
}

func TestTheCatalogSaysWhoCanOfferMore(t *testing.T) {
	w := newConsoleWorld(t, func(o *console.Options) { o.Administered = true })
	v := w.logged(w.alice)
	offers := w.self.servers["alice"]
	const who, ask = "Only an administrator can change that, with a BridgeProfile", `href="mailto:ask@example.com`
	if got := v.open("/catalog"); strings.Contains(got.body, who) || strings.Contains(got.body, "allows no more") {
		t.Errorf("while servers are offered: %s", got.body)
	}
	limit := int32(2)
	full := offers
	full.Limit = &limit
	w.self.servers["alice"] = full
	if got := v.open("/catalog"); !strings.Contains(got.body, "You have 2 servers, and your tier allows no more") {
		t.Errorf("without room: %s", got.body)
	}
	for want, servers := range map[string][]selfservice.Server{"Your profiles offer no servers": nil, "Your profiles offer nothing more": offers.Servers[:2]} {
		none := offers
		none.Servers = servers
		w.self.servers["alice"] = none
		got := v.open("/catalog")
		for _, text := range []string{want, who, ask, `href="/console/catalog"`} {
			if !strings.Contains(got.body, text) {
				t.Errorf("%d servers: the page does not say %q: %s", len(servers), text, got.body)
			}
		}
	}
	if got := v.open("/catalog?q=nothing"); !strings.Contains(got.body, "No server matches") {
		t.Errorf("a search: %s", got.body)
	}
}
