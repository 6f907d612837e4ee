// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/profile"
)

var now = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// viewOf returns the view of a bridge that has these servers of its own, with the entries
// of profiles in the form "Use name:Reason", and the choices in the form "name=Use".
func viewOf(own, entries, choices string) View {
	b := &v1alpha1.HostedBridge{}
	b.Spec.Tier, b.Spec.Mode = "free", v1alpha1.ModeDirect
	for name := range strings.FieldsSeq(own) {
		b.Spec.Servers = append(b.Spec.Servers, v1alpha1.Server{Name: name})
	}
	for entry := range strings.SplitSeq(entries, ",") {
		if entry == "" {
			continue
		}
		use, rest, _ := strings.Cut(entry, " ")
		name, reason, _ := strings.Cut(rest, ":")
		if b.Status.Effective == nil {
			b.Status.Effective = &v1alpha1.EffectiveSettings{}
		}
		e := v1alpha1.EffectiveServer{Name: name, Profile: "team", Use: v1alpha1.ServerUse(use), Reason: reason}
		b.Status.Effective.Servers = append(b.Status.Effective.Servers, e)
		if effective.Gives(e) {
			b.Spec.Servers = append(b.Spec.Servers, v1alpha1.Server{Name: name})
		}
	}
	for choice := range strings.FieldsSeq(choices) {
		name, use, _ := strings.Cut(choice, "=")
		if b.Spec.Choices == nil {
			b.Spec.Choices = &v1alpha1.Choices{}
		}
		b.Spec.Choices.Servers = append(b.Spec.Choices.Servers, v1alpha1.ServerChoice{Name: name, Use: use})
	}
	return View{Bridge: effective.Of(b), Now: now, Report: health.Report{Status: health.Healthy, Servers: map[string]health.Server{}}}
}

// short returns a server in one line.
func short(s Server) string {
	fix := "-"
	if s.Fix != nil {
		fix = string(s.Fix.Code) + strings.Join(s.Fix.Secrets, "+") + s.Fix.URL
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s/%s %s %v", s.Name, s.State, s.Reason, fix, s.Actions))
}

func TestWhatUsersSeeOfAServerThatTheBridgeHas(t *testing.T) {
	long, lately := now.Add(-2*time.Hour), now.Add(-time.Minute)
	for name, tt := range map[string]struct {
		server health.Server
		change func(*View)
		want   string
	}{
		"it works":                          {health.Server{Status: health.Healthy, Tools: 3}, nil, "s healthy/ - []"},
		"it connects":                       {health.Server{Status: health.Connecting}, nil, "s connecting/ wait []"},
		"its secret is missing":             {health.Server{Status: health.Unhealthy, Reason: health.ReasonSecretMissing, Error: "secret TOKEN is not set"}, missing("TOKEN"), "s unhealthy/secret_missing set_secretTOKEN []"},
		"a cause without a reason":          {health.Server{Status: health.Unhealthy, Error: "secret TOKEN is not set"}, missing("TOKEN"), "s unhealthy/out_of_service set_secretTOKEN []"},
		"the keybroker has not said it yet": {health.Server{Status: health.Unhealthy, Reason: health.ReasonSecretMissing, Error: "secret TOKEN is not set"}, nil, "s unhealthy/secret_missing set_secretTOKEN []"},
		"another server's is missing":       {health.Server{Status: health.Unhealthy, Error: "?", Since: &lately}, missing("OTHER"), "s unhealthy/out_of_service wait []"},
		"its secret is refused":             {health.Server{Status: health.Unhealthy, Reason: health.ReasonCredentialsRefused}, nil, "s unhealthy/credentials_refused set_secretTOKEN []"},
		"its secret is refused at first":    {health.Server{Status: health.Connecting, Failures: 1, Reason: health.ReasonCredentialsRefused}, nil, "s connecting/credentials_refused set_secretTOKEN []"},
		"it does not answer at first":       {health.Server{Status: health.Connecting, Failures: 1, Reason: health.ReasonTimedOut}, nil, "s connecting/timed_out wait []"},
		"its secret is refused once":        {health.Server{Status: health.Healthy, Failures: 1, Reason: health.ReasonCredentialsRefused}, nil, "s healthy/credentials_refused - []"},
		"it wants credentials":              {health.Server{Status: health.Unhealthy, Reason: health.ReasonCredentialsRefused}, withoutSecrets, "s unhealthy/credentials_refused ask_admin []"},
		"its account is not connected":      {health.Server{Status: health.Unhealthy, Reason: health.ReasonLoginRequired, ConnectURL: "https://page"}, nil, "s unhealthy/login_required connect_accounthttps://page []"},
		"the same while it is asleep":       {health.Server{Status: health.Unhealthy, Reason: health.ReasonLoginRequired}, login, "s unhealthy/login_required connect_accounthttps://connect/s []"},
		"no page to connect it":             {health.Server{Status: health.Unhealthy, Reason: health.ReasonLoginRequired}, nil, "s unhealthy/login_required set_secretTOKEN []"},
		"its tools changed":                 {health.Server{Status: health.Unhealthy, Reason: health.ReasonToolsChanged}, nil, "s unhealthy/tools_changed ask_admin []"},
		"its recipe cannot run here":        {health.Server{Status: health.Unhealthy, Reason: "not_hostable"}, nil, "s unhealthy/not_hostable ask_admin []"},
		"it does not answer, lately":        {health.Server{Status: health.Unhealthy, Reason: health.ReasonTimedOut, Since: &lately}, nil, "s unhealthy/timed_out wait []"},
		"it does not answer, for hours":     {health.Server{Status: health.Unhealthy, Reason: health.ReasonTimedOut, Since: &long}, nil, "s unhealthy/timed_out ask_admin []"},
	} {
		t.Run(name, func(t *testing.T) {
			v := viewOf("s", "", "")
			v.Bridge.Spec.Servers[0].Secrets = []v1alpha1.SecretName{"TOKEN"}
			v.Report.Servers["s"] = tt.server
			if tt.change != nil {
				tt.change(&v)
			}
			got := ServersOf(v).Servers[0]
			if diff := cmp.Diff(tt.want, short(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tt.server.Error != "" && got.Message != tt.server.Error {
				t.Errorf("it says %q, and the bridge says %q", got.Message, tt.server.Error)
			}
			if got.Fix != nil && (!strings.HasSuffix(got.Fix.Text, ".") || strings.Count(got.Fix.Text, ". ") > 0) {
				t.Errorf("%q is not one sentence", got.Fix.Text)
			}
		})
	}
}

func missing(secret string) func(*View) {
	return func(v *View) { v.Bridge.Status.Secrets = &v1alpha1.SecretsStatus{Missing: []string{secret}} }
}

func withoutSecrets(v *View) { v.Bridge.Spec.Servers[0].Secrets = nil }

func login(v *View) {
	v.Bridge.Spec.Servers[0].Auth = &v1alpha1.Auth{OAuth: &v1alpha1.OAuth{
		Grant: v1alpha1.OAuthAuthorizationCode, AuthorizationURL: "https://login.example.com:8443/a", TokenSecret: "TOKEN", Scopes: []string{"read"},
	}}
	v.ConnectPage = func(server string) string { return "https://connect/" + server }
}

func TestWhatUsersSeeOfServersOfProfiles(t *testing.T) {
	for name, tt := range map[string]struct{ own, entries, choices, want string }{
		"an optional server":                 {"", "Optional x:Off", "", "x off/off turn_on [turn_on]"},
		"an optional server that is on":      {"", "Optional x", "x=On", "x healthy/ - [turn_off clear]"},
		"a default server":                   {"", "Default x", "", "x healthy/ - [turn_off]"},
		"a default server that is off":       {"", "Default x:Off", "x=Off", "x off/off turn_on [turn_on clear]"},
		"a required server":                  {"", "Required x", "", "x healthy/ - []"},
		"a required server that is declined": {"", "Required x:ChoiceIgnored", "x=Off", "x healthy/ remove [clear]"},
		"a shadowed server":                  {"x", "Default x:Shadowed", "", "x healthy/ - []"},
		"no room":                            {"", "Optional x:NoRoom", "x=On", "x off/no_room make_room [turn_off clear]"},
		"a choice about nothing":             {"own", "", "x=On", "own healthy/ - []; x off/choice_ignored remove [clear]"},
		"turned on a moment ago":             {"", "Optional x:Off", "x=On", "x off/pending wait [turn_off clear]"},
		"turned off a moment ago":            {"", "Default x", "x=Off", "x connecting/pending wait [turn_on clear]"},
		"cleared a moment ago":               {"", "Optional x", "", "x connecting/pending wait [turn_on]"},
	} {
		t.Run(name, func(t *testing.T) {
			v := viewOf(tt.own, tt.entries, tt.choices)
			for _, s := range v.Bridge.Spec.Servers {
				v.Report.Servers[s.Name] = health.Server{Status: health.Healthy}
			}
			var lines []string
			for _, s := range ServersOf(v).Servers {
				lines = append(lines, short(s))
			}
			if diff := cmp.Diff(tt.want, strings.Join(lines, "; ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAServerWithoutRoomInTheSpecIsForAnAdministrator(t *testing.T) {
	v := viewOf("", "Required x", "")
	v.Bridge.Status.Effective.LeftOut = []string{"own"}
	limit := int32(1)
	v.ServerLimit = &limit
	s, ok := ServersOf(v).Find("own")
	if got := short(s); !ok || got != "own off/no_room ask_admin []" || !strings.Contains(s.Message, "free allows 1 servers") {
		t.Errorf("%s: %s", got, s.Message)
	}
}

// TestAPermittedChoiceIsFollowed compares Permit with the function by which the operator
// merges profiles, for each use, choice and state.
func TestAPermittedChoiceIsFollowed(t *testing.T) {
	type offer struct {
		use      v1alpha1.ServerUse
		approved profile.Approvals
	}
	for _, of := range []offer{
		{use: v1alpha1.ServerRequired}, {use: v1alpha1.ServerDefault}, {use: v1alpha1.ServerOptional},
		{use: v1alpha1.ServerOnRequest}, {v1alpha1.ServerOnRequest, profile.Approvals{"y": "recipe x"}}, {v1alpha1.ServerOnRequest, profile.Approvals{"x": "recipe x"}},
		{v1alpha1.ServerOnRequest, profile.Approvals{"x": "recipe y"}},
	} {
		for _, own := range []string{"", "x"} {
			for _, choice := range []string{"", v1alpha1.ChoiceOn, v1alpha1.ChoiceOff} {
				b := viewOf(own, "", "").Bridge
				p := profile.Profile{Name: "team", Spec: v1alpha1.BridgeProfileSpec{Servers: []v1alpha1.ProfileServer{{
					Server: v1alpha1.Server{Name: "x", Recipe: &v1alpha1.RecipeReference{Name: "x"}}, Use: of.use,
				}}}}
				b.Status.Effective = profile.Effective(b.HostedBridge, []profile.Profile{p}, nil, profile.Sharing{}, of.approved)
				err := Permit(effective.Of(b.HostedBridge), nil, "x", Choice{Use: choice})
				if choice != "" {
					b.HostedBridge.Spec.Choices = &v1alpha1.Choices{Servers: []v1alpha1.ServerChoice{{Name: "x", Use: choice}}}
				}
				b.Status.Effective = profile.Effective(b.HostedBridge, []profile.Profile{p}, nil, profile.Sharing{}, of.approved)
				reason := b.Status.Effective.Servers[0].Reason
				ignored := len(bridgestate.IgnoredChoices(effective.Of(b.HostedBridge))) > 0 || choice == "" && (reason == v1alpha1.ReasonServerShadowed || reason == v1alpha1.ReasonNotApproved || reason == v1alpha1.ReasonOfferChanged)
				if (err != nil) != ignored {
					t.Errorf("%v, own %q, choice %q: refused: %v, ignored by the operator: %v", of, own, choice, err, ignored)
				}
			}
		}
	}
}

func TestChoicesThatAreRefused(t *testing.T) {
	v := viewOf("own", "Required must,Optional may:Off,Default x:Shadowed", "")
	v.Bridge.Status.Effective.LeftOut = []string{"left"}
	for name, tt := range map[string]struct {
		server   string
		use      string
		want     string
		notFound bool
	}{
		"what is offered":                {"may", "On", "", false},
		"what is required":               {"must", "Off", "requires", false},
		"what nobody offers":             {"none", "On", "No profile offers", true},
		"what the HostedBridge has":      {"own", "Off", "itself has", false},
		"the same without room":          {"left", "Off", "itself has", false},
		"what the HostedBridge replaces": {"x", "Off", "of its own", false},
	} {
		t.Run(name, func(t *testing.T) {
			err := Permit(v.Bridge, nil, tt.server, Choice{Use: tt.use})
			refused, isRefusal := errors.AsType[*Refusal](err)
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (!isRefusal || !strings.Contains(err.Error(), tt.want) || refused.NotFound != tt.notFound):
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestThereAreNoMoreChoicesThanASpecTakes(t *testing.T) {
	v := viewOf("", "Optional may:Off", "")
	choices := &v1alpha1.Choices{}
	for n := range 64 {
		choices.Servers = append(choices.Servers, v1alpha1.ServerChoice{Name: fmt.Sprint("s", n)})
	}
	v.Bridge.HostedBridge.Spec.Choices = choices
	v.Bridge = effective.Of(v.Bridge.HostedBridge)
	if err := Permit(v.Bridge, nil, "may", Choice{Use: "On"}); err == nil || !strings.Contains(err.Error(), "64 choices") {
		t.Errorf("one more is answered %v", err)
	}
	choices.Servers[0].Name = "may"
	if err := Permit(v.Bridge, nil, "may", Choice{Use: "On"}); err != nil {
		t.Errorf("another one about the same server: %v", err)
	}
}

func TestChoicesAreChecked(t *testing.T) {
	for name, tt := range map[string]struct {
		choice Choice
		want   string
	}{
		"on":                  {Choice{Use: "On"}, ""},
		"tools alone":         {Choice{Deny: []string{"a", "b"}}, ""},
		"nothing":             {Choice{}, "must have use"},
		"another word":        {Choice{Use: "on"}, "On or Off"},
		"a tool twice":        {Choice{Use: "On", Deny: []string{"a", "a"}}, "deny[1]"},
		"a tool without name": {Choice{Use: "On", Deny: []string{""}}, "deny[0]"},
		"a long name":         {Choice{Use: "On", Deny: []string{strings.Repeat("a", 129)}}, "deny[0]"},
		"many tools":          {Choice{Use: "On", Deny: make([]string, 257)}, "at most 256"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.choice.Check()
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestTheStateOfABridgeAsAWhole(t *testing.T) {
	for status, fix := range map[health.Status]FixCode{
		health.Healthy: "", health.Degraded: "", health.Unhealthy: "", Asleep: "", Suspended: FixAskAdmin, Starting: FixWait,
	} {
		v := viewOf("", "", "")
		v.Report.Status = status
		b := BridgeOf(v)
		if b.Message == "" || (b.Fix == nil) != (fix == "") || b.Fix != nil && b.Fix.Code != fix {
			t.Errorf("%s: %+v", status, b)
		}
	}
}

func TestABridgeThatCannotStartSaysWhyAndWhomToAsk(t *testing.T) {
	for reason, says := range map[string]string{
		v1alpha1.ReasonPodRefused: "refuses", v1alpha1.ReasonPodUnschedulable: "no room", v1alpha1.ReasonImageNotPulled: "fetch its image", v1alpha1.ReasonProgressing: "",
	} {
		for _, reported := range []health.Status{Starting, Blocked} {
			v := viewOf("own", "", "")
			v.Report.Status = reported
			v.Bridge.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionWorkloadAvailable, Status: metav1.ConditionFalse, Reason: reason, Message: "exceeded quota: pods"}}
			b := BridgeOf(v)
			if says == "" {
				if b.Status != Starting || b.Message != "The bridge is starting." || b.Fix.Code != FixWait {
					t.Errorf("%s: %+v, %+v", reason, b, b.Fix)
				}
			} else if b.Status != Blocked || !strings.Contains(b.Message, says) || b.Fix.Code != FixAskAdmin || !strings.HasSuffix(b.Fix.Text, ": exceeded quota: pods") {
				t.Errorf("%s: %+v, %+v", reason, b, b.Fix)
			}
		}
	}
}

func TestUsersSeeWhichNamesToolsWillHave(t *testing.T) {
	const own, begins, will = "the names that the server gives them", "begin with ", "will begin with x_; the tools of your other servers keep"
	for name, tt := range map[string]struct {
		own        string
		unprefixed *string
		change     func(*v1alpha1.HostedBridgeSpec)
		want       map[string]string
	}{
		"the first server":                {"", nil, nil, map[string]string{"x": own}},
		"a second one":                    {"a", new("a"), nil, map[string]string{"a": own, "x": will}},
		"before the operator has said it": {"a", nil, nil, map[string]string{"a": own, "x": will}},
		"several that came together":      {"a b", new(""), nil, map[string]string{"a": begins + "a_.", "b": begins + "b_.", "x": will}},
		"one that is left":                {"b", new("a"), nil, map[string]string{"b": begins + "b_.", "x": will}},
		"the first one again":             {"b", new("x"), nil, map[string]string{"b": begins + "b_.", "x": own}},
		"prefixes where they are needed":  {"a", new("a"), func(s *v1alpha1.HostedBridgeSpec) { s.ToolPrefix = v1alpha1.ToolPrefixAuto }, map[string]string{"x": "is called x_ and its name"}},
		"no prefixes":                     {"a", new("a"), func(s *v1alpha1.HostedBridgeSpec) { s.ToolPrefix = v1alpha1.ToolPrefixNever }, map[string]string{"x": "gets a number"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := viewOf(tt.own, "Optional x:Off", "")
			v.Bridge.Status.UnprefixedServer = tt.unprefixed
			if tt.change != nil {
				tt.change(&v.Bridge.Spec.HostedBridgeSpec)
			}
			servers := ServersOf(v)
			for server, want := range tt.want {
				if s, _ := servers.Find(server); !strings.Contains(s.ToolNames, want) {
					t.Errorf("%s: %q, want %q", server, s.ToolNames, want)
				}
			}
		})
	}
	v := viewOf("a", "Optional x:Off", "")
	v.Bridge.Spec.Mode = v1alpha1.ModeRouter
	if got := ServersOf(v).Servers[1].ToolNames; got != "" {
		t.Errorf("a router: %q", got)
	}
}
