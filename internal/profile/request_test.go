// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// request is a request of a HostedBridge for the server jira at its URL.
func request(name, user string, uid types.UID, verdict v1alpha1.RequestVerdict) v1alpha1.BridgeRequest {
	q := v1alpha1.BridgeRequest{Spec: v1alpha1.BridgeRequestSpec{User: v1alpha1.UserID(user), BridgeUID: uid, Server: "jira", Offer: "https://jira.example.com/mcp"}}
	if q.Name = name; verdict != "" {
		q.Spec.Decision = &v1alpha1.RequestDecision{Verdict: verdict}
	}
	return q
}

func TestAServerOnRequestNeedsAnApproval(t *testing.T) {
	const approved = v1alpha1.RequestApproved
	other := request("alice.jira", "alice", "1", approved)
	other.Spec.Offer = "https://payroll.example.com/mcp"
	p := Profile{Name: "team", Spec: v1alpha1.BridgeProfileSpec{Servers: []v1alpha1.ProfileServer{
		{Server: v1alpha1.Server{Name: "jira", Transport: v1alpha1.Transport{URL: "https://jira.example.com/mcp"}}, Use: v1alpha1.ServerOnRequest},
	}}}
	for name, tt := range map[string]struct {
		request v1alpha1.BridgeRequest
		choice  string
		want    string
	}{
		"nobody has asked":                   {v1alpha1.BridgeRequest{}, v1alpha1.ChoiceOn, v1alpha1.ReasonNotApproved},
		"the request is open":                {request("alice.jira", "alice", "1", ""), v1alpha1.ChoiceOn, v1alpha1.ReasonNotApproved},
		"the request is refused":             {request("alice.jira", "alice", "1", v1alpha1.RequestRefused), v1alpha1.ChoiceOn, v1alpha1.ReasonNotApproved},
		"another user's request is approved": {request("bob.jira", "bob", "1", approved), v1alpha1.ChoiceOn, v1alpha1.ReasonNotApproved},
		"it has the name of another request": {request("bob.jira", "alice", "1", approved), v1alpha1.ChoiceOn, v1alpha1.ReasonNotApproved},
		"it was for an earlier bridge":       {request("alice.jira", "alice", "0", approved), v1alpha1.ChoiceOn, v1alpha1.ReasonNotApproved},
		"another offer was approved":         {other, v1alpha1.ChoiceOn, v1alpha1.ReasonOfferChanged},
		"it is approved, and not chosen":     {request("alice.jira", "alice", "1", approved), "", v1alpha1.ReasonServerOff},
		"it is approved, and turned off":     {request("alice.jira", "alice", "1", approved), v1alpha1.ChoiceOff, v1alpha1.ReasonServerOff},
		"it is approved and turned on":       {request("alice.jira", "alice", "1", approved), v1alpha1.ChoiceOn, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := bridge(func(s *v1alpha1.HostedBridgeSpec) {
				s.UserID = "alice"
				if tt.choice != "" {
					s.Choices = &v1alpha1.Choices{Servers: []v1alpha1.ServerChoice{{Name: "jira", Use: tt.choice}}}
				}
			})
			b.UID = "1"
			e := Effective(b, []Profile{p}, tiers, Sharing{}, Approved([]v1alpha1.BridgeRequest{tt.request}, b))
			if got := e.Servers[0]; got.Reason != tt.want || (got.Source != "") != (tt.want == "") || got.Offer != "https://jira.example.com/mcp" {
				t.Errorf("reason %q, want %q: %+v", got.Reason, tt.want, got)
			}
		})
	}
}

func TestAnApprovalIsNotForAnotherProgramThatAVariableNames(t *testing.T) {
	b := bridge(func(s *v1alpha1.HostedBridgeSpec) {
		s.UserID, s.Choices = "alice", &v1alpha1.Choices{Servers: []v1alpha1.ServerChoice{{Name: "jira", Use: v1alpha1.ChoiceOn}}}
	})
	b.UID = "1"
	given := func(program string, approved Approvals) v1alpha1.EffectiveServer {
		run := &v1alpha1.Stdio{Image: "node", Command: []string{"node"}, Args: []string{"${PROGRAM}"}}
		server := v1alpha1.Server{Name: "jira", Transport: v1alpha1.Transport{Type: v1alpha1.TransportStdio, Stdio: run}}
		p := Profile{Name: "team", Spec: v1alpha1.BridgeProfileSpec{
			Variables: []v1alpha1.ProfileVariable{{Name: "PROGRAM", Value: program}},
			Servers:   []v1alpha1.ProfileServer{{Server: server, Use: v1alpha1.ServerOnRequest}},
		}}
		return Effective(b, []Profile{p}, tiers, Sharing{}, approved).Servers[0]
	}
	q := request("alice.jira", "alice", "1", v1alpha1.RequestApproved)
	q.Spec.Offer = given("jira.js", nil).Offer
	approved := Approved([]v1alpha1.BridgeRequest{q}, b)
	if e := given("jira.js", approved); e.Reason != "" || e.Offer != `image node, command ["node" "jira.js"]` {
		t.Errorf("the approved program: %+v", e)
	}
	if e := given("payroll.js", approved); e.Reason != v1alpha1.ReasonOfferChanged || e.Source != "" {
		t.Errorf("another program: %+v", e)
	}
}

// TestAnApprovalIsForWhereTheServerComesFrom has pairs of entries, of which an approval of the
// first is one of the second or not.
func TestAnApprovalIsForWhereTheServerComesFrom(t *testing.T) {
	at := func(url string) v1alpha1.ProfileServer {
		return v1alpha1.ProfileServer{Server: v1alpha1.Server{Transport: v1alpha1.Transport{URL: url}}}
	}
	recipe := func(name, version string) v1alpha1.ProfileServer {
		return v1alpha1.ProfileServer{Server: v1alpha1.Server{Recipe: &v1alpha1.RecipeReference{Name: name, Version: version}}}
	}
	program := func(p v1alpha1.Stdio) v1alpha1.ProfileServer {
		return v1alpha1.ProfileServer{Server: v1alpha1.Server{Transport: v1alpha1.Transport{Type: v1alpha1.TransportStdio, Stdio: &p}}}
	}
	npx := func(name, version string, args ...string) v1alpha1.ProfileServer {
		return program(v1alpha1.Stdio{Install: &v1alpha1.Install{Method: "npx", Package: name, Version: version}, Args: args})
	}
	image := func(image string, args ...string) v1alpha1.ProfileServer {
		return program(v1alpha1.Stdio{Image: image, Args: args})
	}
	shared := func(name string) v1alpha1.ProfileServer {
		return v1alpha1.ProfileServer{Shared: &v1alpha1.SharedReference{Name: name}}
	}
	sharing := func(url string) Sharing {
		s := v1alpha1.SharedServer{}
		s.Name, s.Spec.Server.Transport.URL = "wiki", url
		return Sharing{servers: []v1alpha1.SharedServer{s}}
	}
	there, elsewhere, long := sharing("https://wiki.example.com/mcp"), sharing("https://payroll.example.com/mcp"), strings.Repeat("x", 1000)
	described := at("https://a.example.com/mcp?tools=all")
	described.Secrets, described.Transport.Headers = []v1alpha1.SecretName{"TOKEN"}, []v1alpha1.Header{{Name: "X", Value: "y"}}
	type offer struct {
		sharing Sharing
		entry   v1alpha1.ProfileServer
	}
	for name, tt := range map[string]struct {
		before, after offer
		same          bool
	}{
		"other settings at the same URL":           {offer{entry: at("https://A.example.com:443/mcp")}, offer{entry: described}, true},
		"another path":                             {offer{entry: at("https://a.example.com/jira")}, offer{entry: at("https://a.example.com/payroll")}, false},
		"another host":                             {offer{entry: at("https://a.example.com/mcp")}, offer{entry: at("https://b.example.com/mcp")}, false},
		"another version of a recipe":              {offer{entry: recipe("jira", "1.0.0")}, offer{entry: recipe("jira", "")}, true},
		"another recipe":                           {offer{entry: recipe("jira", "")}, offer{entry: recipe("payroll", "")}, false},
		"a URL in place of a recipe":               {offer{entry: recipe("jira", "")}, offer{entry: at("https://a.example.com/mcp")}, false},
		"another version and arguments":            {offer{entry: npx("@acme/jira", "1.0.0")}, offer{entry: npx("@acme/jira", "1.0.1", "--quiet")}, true},
		"another package":                          {offer{entry: npx("@acme/jira", "1.0.0")}, offer{entry: npx("@acme/payroll", "1.0.0")}, false},
		"another tag of an image":                  {offer{entry: image("r:5000/jira:1")}, offer{entry: image("r:5000/jira@sha256:0a")}, true},
		"another image":                            {offer{entry: image("r:5000/jira")}, offer{entry: image("r:5000/payroll")}, false},
		"another program in the image":             {offer{entry: image("node", "jira.js")}, offer{entry: image("node", "payroll.js")}, false},
		"another program at the end of a long one": {offer{entry: image("node", long, long, "a")}, offer{entry: image("node", long, long, "b")}, false},
		"the same SharedServer":                    {offer{there, shared("wiki")}, offer{there, shared("wiki")}, true},
		"a SharedServer that is elsewhere now":     {offer{there, shared("wiki")}, offer{elsewhere, shared("wiki")}, false},
		"another SharedServer":                     {offer{there, shared("wiki")}, offer{there, shared("payroll")}, false},
	} {
		before, after := tt.before.sharing.Offered(tt.before.entry), tt.after.sharing.Offered(tt.after.entry)
		if (before == after) != tt.same || before == "" || max(len(before), len(after)) > maxOffer {
			t.Errorf("%s: %q and %q", name, before, after)
		}
	}
}
