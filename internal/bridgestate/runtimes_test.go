// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
)

func TestAServerWithoutAnImageIsOutOfServiceAlone(t *testing.T) {
	const said = "the installation has no image in which uvx runs programs; an administrator can set bridge.runtimes.python in the values of the chart"
	byHand := "; out of service without an image: server one: " + said +
		", or transport.stdio.image of the server can name an image that has uvx"
	npm := func(o *Observed) { o.Bridge.Spec.Servers[0].Transport.Stdio.Install.Method = v1alpha1.InstallNPX }
	recipe := func(o *Observed) {
		o.Bridge.Spec.Servers = servers(v1alpha1.Server{Name: "one", Recipe: &v1alpha1.RecipeReference{Name: "notes"}})
		o.Bridge.Status.Recipes = []v1alpha1.RecipeStatus{{
			Server: "one", Recipe: "notes", Reason: v1alpha1.ReasonRecipeInUse, Source: `{"transport":"stdio","program":{"command":["uvx","notes@1.0.0"]}}`,
		}}
	}
	for name, tt := range map[string]struct {
		change []func(*Observed)
		reason string
		out    string
		fault  string
	}{
		"a server by command":              {nil, v1alpha1.ReasonRuntimesMissing, byHand, said},
		"a server by recipe":               {[]func(*Observed){recipe}, v1alpha1.ReasonRuntimesMissing, "; out of service without an image: server one: " + said, said},
		"a server with an image":           {[]func(*Observed){withImage}, v1alpha1.ReasonAccepted, "", ""},
		"a server of another method":       {[]func(*Observed){npm}, v1alpha1.ReasonAccepted, "", ""},
		"an image for the method is there": {[]func(*Observed){lackingOther}, v1alpha1.ReasonAccepted, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := observed(append([]func(*Observed){lacking(v1alpha1.InstallUVX)}, tt.change...)...)
			o.Bridge.Spec.Servers = append(servers(remote("open")), o.Bridge.Spec.Servers...)
			if p := Decide(o, now); p.Action != Run || p.Rejected != (Finding{}) {
				t.Fatalf("the plan is %+v", p)
			}
			accepted, ready := condition(t, v1alpha1.ConditionAccepted, o), condition(t, v1alpha1.ConditionReady, o)
			if accepted.Reason != tt.reason || accepted.Message != "the installation takes the spec"+tt.out {
				t.Errorf("Accepted is %s: %s", accepted.Reason, accepted.Message)
			}
			if ready.Status != "True" || ready.Message != "calls to status.url reach the bridge"+tt.out {
				t.Errorf("Ready is %s: %s", ready.Status, ready.Message)
			}
			if cause := (Plan{}).leftOut(o, "one"); cause != tt.fault {
				t.Errorf("the cause in ServersHealthy is %q", cause)
			}
			faults := map[string]string{}
			for _, s := range InService(Configuration(o.Bridge, bridgeconfig.Egress{}, ""), o.Bridge, o.Lacking).Servers {
				faults[s.Name] = s.Fault
			}
			if diff := cmp.Diff(map[string]string{"open": "", "one": tt.fault}, faults); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAServerWhosePackageIsNotInstalledIsOutOfServiceAlone(t *testing.T) {
	const why = "package server@1.0.0 could not be installed: there is no such version"
	o := observed(func(o *Observed) { o.NotInstalled = map[string]string{"one": why} })
	accepted, ready := condition(t, v1alpha1.ConditionAccepted, o), condition(t, v1alpha1.ConditionReady, o)
	if accepted.Status != "True" || accepted.Reason != v1alpha1.ReasonProgramsNotInstalled || !strings.Contains(accepted.Message, "server one: "+why) {
		t.Errorf("Accepted is %s: %s", accepted.Reason, accepted.Message)
	}
	if ready.Status != "True" || !strings.Contains(ready.Message, "server one: "+why) {
		t.Errorf("Ready is %s: %s", ready.Status, ready.Message)
	}
	if cause := (Plan{}).leftOut(o, "one"); cause != why {
		t.Errorf("the cause in ServersHealthy is %q", cause)
	}
}
