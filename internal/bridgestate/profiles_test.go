// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

func TestAGroupThatNothingNamesIsInACondition(t *testing.T) {
	const said = `"newcomer-taem" (did you mean newcomer-team?)`
	for name, profiles := range map[string][]v1alpha1.ProfileUse{"no profile": nil, "a profile of another group": {{Name: "team"}}} {
		t.Run(name, func(t *testing.T) {
			b := &v1alpha1.HostedBridge{}
			b.Status.Profiles = profiles
			o := Observed{Bridge: effective.Of(b), Resolved: Resolved{UnknownGroups: said}}
			c, ok := profilesApplied(o)
			if !ok || c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonUnknownGroup || !strings.Contains(c.Message, said) || strings.Contains(c.Message, ": team") != (profiles != nil) {
				t.Errorf("%+v", c)
			}
			o.PendingProfiles = []string{"later"}
			if c, _ := profilesApplied(o); c.Reason != v1alpha1.ReasonRolloutPending {
				t.Errorf("while a revision is on its way: %+v", c)
			}
		})
	}
}

func TestChoicesWithoutEffectAreInACondition(t *testing.T) {
	choose := func(name, use string) *v1alpha1.Choices {
		return &v1alpha1.Choices{Servers: []v1alpha1.ServerChoice{{Name: name, Use: use}}}
	}
	required := &v1alpha1.EffectiveSettings{Servers: []v1alpha1.EffectiveServer{
		{Name: "github", Profile: "team", Use: v1alpha1.ServerRequired, Reason: v1alpha1.ReasonChoiceIgnored},
	}}
	for name, tt := range map[string]struct {
		choices   *v1alpha1.Choices
		effective *v1alpha1.EffectiveSettings
		profiles  []v1alpha1.ProfileUse
		reason    string
		says      string
	}{
		"no profile and no choice":       {nil, nil, nil, "", ""},
		"a choice without a profile":     {choose("github", "On"), nil, nil, v1alpha1.ReasonChoiceIgnored, "no BridgeProfile selects the bridge; choices without effect: servers[github]"},
		"a required server that is off":  {choose("github", "Off"), required, []v1alpha1.ProfileUse{{Name: "team"}}, v1alpha1.ReasonChoiceIgnored, "because BridgeProfile team requires the server"},
		"a choice about another server":  {choose("jira", "On"), &v1alpha1.EffectiveSettings{}, []v1alpha1.ProfileUse{{Name: "team"}}, v1alpha1.ReasonChoiceIgnored, "servers[jira], because no BridgeProfile of the bridge offers the server"},
		"a profile, and nothing to note": {nil, &v1alpha1.EffectiveSettings{}, []v1alpha1.ProfileUse{{Name: "team"}}, v1alpha1.ReasonProfilesApplied, "team"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &v1alpha1.HostedBridge{}
			b.Spec.Choices, b.Status.Effective, b.Status.Profiles = tt.choices, tt.effective, tt.profiles
			c, ok := profilesApplied(Observed{Bridge: effective.Of(b)})
			if ok != (tt.reason != "") || ok && (c.Reason != tt.reason || c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, tt.says)) {
				t.Errorf("%v %+v", ok, c)
			}
		})
	}
}
