// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver/health"
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

func TestTheCatalogSaysWhatAServerIsFor(t *testing.T) {
	w := newConsoleWorld(t)
	w.self.servers["alice"].Servers[2].Description = "Finds pages of the handbook."
	v := w.logged(w.alice)
	for _, page := range []string{"/catalog", "/catalog?q=HANDBOOK", "/servers/docs"} {
		if got := v.open(page); got.status != http.StatusOK || !strings.Contains(got.body, "Finds pages of the handbook.") {
			t.Errorf("%s: %d %s", page, got.status, got.body)
		}
	}
}
