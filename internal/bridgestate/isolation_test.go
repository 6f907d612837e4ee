// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

func TestTwoAttemptsTellWhetherPoliciesHold(t *testing.T) {
	reached, refused := Attempt{Ended: true, Reached: true}, Attempt{Ended: true}
	stuck := Attempt{Why: "no node has room"}
	tests := map[string]struct {
		open, denied Attempt
		want         Enforcement
		why          string
	}{
		"only the one that may connect does":      {reached, refused, Enforced, ""},
		"both connect":                            {reached, reached, NotEnforced, ""},
		"neither connects":                        {refused, refused, Undetermined, "nothing can be said"},
		"only the one that may not connects":      {refused, reached, Undetermined, "nothing can be said"},
		"the one that may connect does not run":   {stuck, refused, Undetermined, "may connect did not try: no node has room"},
		"the one that may not does not run":       {reached, stuck, Undetermined, "may not connect did not try: no node has room"},
		"neither runs":                            {stuck, stuck, Undetermined, "may connect did not try"},
		"only the one that may not run, and does": {stuck, reached, Undetermined, "may connect did not try"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, why := JudgeAttempts(tt.open, tt.denied)
			if got != tt.want || !strings.Contains(why, tt.why) || (tt.why == "") != (why == "") {
				t.Errorf("%s %q, want %s %q", got, why, tt.want, tt.why)
			}
		})
	}
}

func withIsolation(i Isolation) func(*Observed) { return func(o *Observed) { o.Isolation = i } }

func withCondition(kind string, status metav1.ConditionStatus, reason string) func(*Observed) {
	return func(o *Observed) {
		o.Bridge = effective.Of(o.Bridge.DeepCopy())
		meta.SetStatusCondition(&o.Bridge.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "before"})
	}
}

func TestTheConditionSaysWhetherTheNetworkIsolates(t *testing.T) {
	const accepted, isolated = v1alpha1.ConditionAccepted, v1alpha1.ConditionNetworkIsolated
	at := func(e Enforcement) Isolation {
		return Isolation{Policies: true, PolicyExists: true, Probed: true, Enforcement: e, Why: "why"}
	}
	unprobed := Isolation{Policies: true, PolicyExists: true}
	required := func(i Isolation) Isolation { i.Required = true; return i }
	wasAccepted := withCondition(accepted, "True", "Accepted")
	const taken, refused = "True Accepted", "False NetworkPolicyNotEnforced"
	tests := map[string]struct {
		o               Observed
		isolated, taken string
	}{
		"no policies are made":                     {observed(), "False NetworkPolicyOff", taken},
		"the namespace has none":                   {observed(withIsolation(Isolation{Policies: true, Enforcement: Enforced})), "False NetworkPolicyMissing", taken},
		"they hold":                                {observed(withIsolation(at(Enforced))), "True Enforced", taken},
		"they do not":                              {observed(withIsolation(at(NotEnforced))), "Unknown NetworkPolicyNotEnforced", taken},
		"nobody can say":                           {observed(withIsolation(at(Undetermined))), "Unknown ProbeFailed", taken},
		"nobody has tried":                         {observed(withIsolation(at(Untried))), "Unknown ProbePending", taken},
		"nobody has tried again: they held":        {observed(withIsolation(at(Untried)), withCondition(isolated, "True", "Enforced")), "True Enforced", taken},
		"nobody has tried again: they did not":     {observed(withIsolation(at(Untried)), withCondition(isolated, "False", "NetworkPolicyNotEnforced")), "Unknown NetworkPolicyNotEnforced", taken},
		"nobody has tried again: there was none":   {observed(withIsolation(at(Untried)), withCondition(isolated, "False", "NetworkPolicyMissing")), "Unknown ProbePending", taken},
		"nobody is to try":                         {observed(withIsolation(unprobed)), "Unknown NotProbed", taken},
		"nobody is to try any more: they held":     {observed(withIsolation(unprobed), withCondition(isolated, "True", "Enforced")), "Unknown NotProbed", taken},
		"nobody is to try: the namespace has none": {observed(withIsolation(Isolation{Policies: true})), "False NetworkPolicyMissing", taken},

		"required, they hold":                       {observed(withIsolation(required(at(Enforced)))), "True Enforced", taken},
		"required, they do not":                     {observed(withIsolation(required(at(NotEnforced)))), "False NetworkPolicyNotEnforced", refused},
		"required, they do not any more":            {observed(withIsolation(required(at(NotEnforced))), wasAccepted), "False NetworkPolicyNotEnforced", refused},
		"required, none are made":                   {observed(withIsolation(Isolation{Required: true}), wasAccepted), "False NetworkPolicyOff", refused},
		"required, nobody can say":                  {observed(withIsolation(required(at(Undetermined)))), "Unknown ProbeFailed", refused},
		"required, nobody can say any more":         {observed(withIsolation(required(at(Undetermined))), wasAccepted), "Unknown ProbeFailed", taken},
		"required, nobody has tried":                {observed(withIsolation(required(at(Untried)))), "Unknown ProbePending", refused},
		"required, the namespace has none":          {observed(withIsolation(Isolation{Policies: true, Required: true, Enforcement: Enforced})), "False NetworkPolicyMissing", refused},
		"required, the namespace's was removed":     {observed(withIsolation(Isolation{Policies: true, Required: true, Enforcement: Enforced}), wasAccepted), "False NetworkPolicyMissing", taken},
		"required, and the user id is another's":    {observed(withIsolation(required(at(NotEnforced))), withRival(bridge("other", "first", 2*time.Hour))), "False NetworkPolicyNotEnforced", "False UserIDConflict"},
		"required, they held for the one before":    {observed(withIsolation(required(at(Untried))), withCondition(isolated, "True", "Enforced")), "True Enforced", taken},
		"required, they did not for the one before": {observed(withIsolation(required(at(Untried))), withCondition(isolated, "False", "NetworkPolicyNotEnforced")), "False NetworkPolicyNotEnforced", refused},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := Decide(tt.o, now)
			s := p.Status(tt.o, Outcome{Workload: &rolled}, now)
			for kind, want := range map[string]string{isolated: tt.isolated, accepted: tt.taken} {
				c := meta.FindStatusCondition(s.Conditions, kind)
				if got := string(c.Status) + " " + c.Reason; got != want {
					t.Errorf("%s is %q, want %q", kind, got, want)
				}
			}
			if tt.taken == refused && p.Action != Leave {
				t.Errorf("what runs is not left: %s", p.Action)
			}
		})
	}
}
