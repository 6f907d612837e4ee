// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestEachToolIsListedOrMissingWithAReason(t *testing.T) {
	v := viewOf("works broken", "Optional may:Off", "")
	v.Bridge.HostedBridge.Spec.Choices = &v1alpha1.Choices{Servers: []v1alpha1.ServerChoice{{Name: "works", Deny: []string{"unwanted"}}}}
	v.Report.Servers = map[string]health.Server{
		"works": {Status: health.Healthy, Tools: 1}, "broken": {Status: health.Unhealthy, Reason: health.ReasonToolsChanged, Error: "other tools"},
	}
	list := &health.ToolList{Tools: []health.Tool{
		{Name: "works_a", Server: "works", Tool: "a", Title: "A"},
		{Name: "works_b", Server: "works", Tool: "b", Denied: true},
		{Name: "works_unwanted", Server: "works", Tool: "unwanted", Denied: true},
		{Name: "broken_c", Server: "broken", Tool: "c", Hidden: true},
		{Name: "other_d", Server: "of nobody", Tool: "d"},
	}}
	got := ToolsOf(v, list, true)
	var missing []string
	for _, m := range got.Missing {
		missing = append(missing, m.Server+"/"+m.Tool+" "+m.Reason+" "+string(m.Fix.Code))
	}
	want := "broken/ tools_changed ask_admin; may/ off turn_on; works/b denied ask_admin; works/unwanted denied_by_choice turn_on"
	if diff := cmp.Diff(want, strings.Join(missing, "; ")); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Tool{{Name: "works_a", Server: "works", Tool: "a", Title: "A"}}, got.Tools); diff != "" || !got.Known {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]ServerTools{{"works", 1}, {"broken", 0}}, got.Servers); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if asleep := ToolsOf(v, nil, true); asleep.Known || len(asleep.Tools) != 0 || len(asleep.Servers) != 2 || len(asleep.Missing) != 2 {
		t.Errorf("without the bridge's list: %+v", asleep)
	}
}

// TestToolsThatTheUserDeniesAreNotGone reads the names of tools, of which a server that is out of
// service has none.
func TestToolsThatTheUserDeniesAreNotGone(t *testing.T) {
	b := &v1alpha1.HostedBridge{}
	b.Spec.Choices = &v1alpha1.Choices{Servers: []v1alpha1.ServerChoice{{Name: "works", Deny: []string{"unwanted"}}}}
	names, err := ToolNamesOf(b, func(each func(health.Tool)) error {
		for _, tool := range []health.Tool{
			{Server: "works", Tool: "a"}, {Server: "works", Tool: "b", Denied: true}, {Server: "works", Tool: "unwanted", Denied: true},
			{Server: "broken", Tool: "c"}, {Server: "broken", Tool: "d", Hidden: true},
		} {
			each(tool)
		}
		return nil
	})
	if diff := cmp.Diff(ToolNames{"works": {"a", "unwanted"}}, names); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestAnAccountIsConnectedIfItsTokensAreStored(t *testing.T) {
	v := viewOf("s plain", "", "")
	v.Bridge.Spec.Servers[0].Secrets = []v1alpha1.SecretName{"TOKEN"}
	v.Report.Servers["s"] = health.Server{Status: health.Unhealthy, Reason: health.ReasonLoginRequired, Error: "log in"}
	login(&v)
	want := Connection{
		Server: "s", Host: "login.example.com:8443", Scopes: []string{"read"}, State: health.Unhealthy, Message: "log in",
		ConnectURL: "https://connect/s", Secret: "TOKEN",
	}
	got, ok := ConnectionsOf(v, []Secret{{Name: "OTHER"}}).ConnectionTo("s")
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want.Connected, want.Updated = true, now
	all := ConnectionsOf(v, []Secret{{Name: "TOKEN", Updated: now}})
	if diff := cmp.Diff([]Connection{want}, all.Connections); diff != "" {
		t.Errorf("with its tokens (-want +got):\n%s", diff)
	}
	if _, ok := all.ConnectionTo("plain"); ok {
		t.Error("a server without a login has an account")
	}
}

func TestWhatIsLeftOfATier(t *testing.T) {
	tier := quota.Tier{PerMinute: 60, PerHour: 100, PerDay: 1000, Burst: 10}
	state, _ := quota.Take(quota.State{}, tier, now, 3)
	_, verdict := quota.Take(state, tier, now.Add(1500*time.Millisecond), 0)
	got := QuotaOf(tier, verdict, now.Add(1500*time.Millisecond))
	at := func(s int) *time.Time { t := now.Add(time.Duration(s) * time.Second); return &t }
	want := []Quota{
		{"minute", 60, 57, at(60), 59}, {"hour", 100, 97, at(3600), 3599}, {"day", 1000, 997, at(86400), 86399}, {"burst", 10, 8, at(2), 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if whole := QuotaOf(tier, quota.Verdict{}, now)[0]; whole.ResetsAt != nil {
		t.Errorf("an unused limit resets at %v", whole.ResetsAt)
	}
}

func TestFiguresHaveListsAndNoNulls(t *testing.T) {
	q := audit.FiguresQuery{From: now, To: now.Add(time.Hour), Top: 10}
	text, err := json.Marshal(CallsOf(audit.Figures{}, q, "hour"))
	if err != nil || strings.Contains(string(text), "null") {
		t.Errorf("%s %v", text, err)
	}
	f := audit.Figures{
		Total: audit.Calls{ByStatus: map[audit.Status]int64{audit.Success: 2, audit.ToolError: 1}},
		Steps: []audit.Step{{Start: now, Calls: audit.Calls{ByStatus: map[audit.Status]int64{audit.ToolError: 1}}}},
		Uses:  []audit.Use{{UserID: "alice", Server: "s", Tally: audit.Tally{Calls: 3, Errors: 1}}}, Shared: true,
	}
	got := CallsOf(f, q, "hour")
	if got.Total != 3 || got.Errors != 1 || got.Scope != ScopeInstallation || got.Steps[0] != (StepUsage{now, 1, 1}) || got.Servers[0].Server != "s" {
		t.Errorf("%+v", got)
	}
}

func TestActivityShowsNothingOfOthers(t *testing.T) {
	entry := func(p audit.Principal, method string) audit.Entry {
		return audit.Entry{
			ID: "1", Time: now, UserID: "alice", Principal: p, Call: audit.Call{Server: "s", Tool: "t", Method: method, Action: "find", Status: audit.Success},
			SessionHash: "session", SourceIPHash: "address", UserAgent: "agent", TraceID: "trace",
		}
	}
	page := audit.Page{Entries: []audit.Entry{
		entry(audit.Principal{Kind: audit.KindUserKey, ID: "key12345"}, methods.CallTool),
		entry(audit.Principal{Kind: audit.KindOAuth, ID: "subject", Issuer: "https://issuer"}, methods.CallTool),
		entry(audit.Principal{Kind: audit.KindAdminKey}, "admin/keys.create"),
		entry(audit.Principal{Kind: audit.KindOAuth, ID: "subject", Issuer: "https://issuer", Role: "admin"}, "admin/keys.create"),
	}, Next: &audit.Position{TimeMS: 1, Writer: "w", Seq: 2}}
	got := ActivityOf(page)
	text := must.Value(json.Marshal(got))(t)
	for _, hidden := range []string{"session", "address", "trace", "subject", "issuer"} {
		if strings.Contains(string(text), hidden) {
			t.Errorf("%s shows %q", text, hidden)
		}
	}
	var lines []string
	for _, e := range got.Entries {
		lines = append(lines, e.Actor+" "+e.KeyID+" "+e.Act+" "+e.Target+" "+e.App)
	}
	want := []string{"key key12345 tools/call  agent", "login  tools/call  agent", "administrator  admin/keys.create find ", "administrator  admin/keys.create find "}
	if diff := cmp.Diff(want, lines); diff != "" || got.Next == "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestASecretSaysWhoUsesIt(t *testing.T) {
	g := route.Grants("a ONE TWO\nb TWO\n")
	if s := (Secret{Name: "TWO"}).WithUses(g); len(s.Servers) != 2 || s.Warning != "" {
		t.Errorf("%+v", s)
	}
	if s := (Secret{Name: "TOW"}).WithUses(g); s.Servers == nil || !strings.Contains(s.Warning, "ONE, TWO") {
		t.Errorf("%+v", s)
	}
	if len(g.Of("b")) != 1 || g.Of("c") == nil {
		t.Error("the secrets of a server are not those that it is granted")
	}
}
