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
)

func TestServersHealthySaysWhichServersCannotBeUsed(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	named := func(names ...string) func(*Observed) {
		return func(o *Observed) {
			o.Bridge.Spec.Servers = nil
			for _, n := range names {
				o.Bridge.Spec.Servers = append(o.Bridge.Spec.Servers, servers(v1alpha1.Server{Name: n})...)
			}
		}
	}
	states := func(list ...v1alpha1.ServerState) func(*Observed) {
		return func(o *Observed) { o.Bridge.Status.ServerStates = list }
	}
	is := func(name, state, message string) v1alpha1.ServerState {
		return v1alpha1.ServerState{Name: name, State: state, Message: message}
	}
	for name, tt := range map[string]struct {
		observed Observed
		want     metav1.ConditionStatus
		says     string
	}{
		"no servers":     {observed(named()), "True", "spec.servers is empty"},
		"no report yet":  {observed(named("a", "b")), "Unknown", "the bridge has not reported yet of a, b"},
		"all healthy":    {observed(named("a"), states(is("a", "Healthy", ""))), "True", "all servers can be used"},
		"one connecting": {observed(named("a", "b"), states(is("a", "Healthy", ""), is("b", "Connecting", ""))), "Unknown", "not reported yet of b"},
		"one unhealthy": {
			observed(named("a", "b", "c"), states(is("a", "Healthy", ""), is("b", "Unhealthy", "the server refuses B_TOKEN"))),
			"False", "1 of 3 servers cannot be used; server b: the server refuses B_TOKEN",
		},
		"a program that ended": {
			observed(named("a"), states(v1alpha1.ServerState{Name: "a", State: "Unhealthy", Reason: "ProgramEnded", Message: "it ended with status 1"})),
			"False", "server a: it ended with status 1; its log: kubectl logs --namespace=tenants deployment/alice-bridge --container=stdio-a",
		},
		"a state of a server that is not in the spec": {observed(named("a"), states(is("a", "Healthy", ""), is("z", "Unhealthy", "x"))), "True", "all servers"},
		"a recipe that cannot run here": {observed(named("a", "b"), states(is("a", "Healthy", "")), func(o *Observed) {
			o.Bridge.Status.Recipes = []v1alpha1.RecipeStatus{{Server: "b", Recipe: "time", Reason: "NotHostable", Message: "no image with uvx"}}
		}), "False", "server b: no image with uvx"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Decide(tt.observed, now)
			c := meta.FindStatusCondition(conditions(tt.observed, p, Outcome{}, now), v1alpha1.ConditionServersHealthy)
			if c == nil || c.Status != tt.want || (c.Reason == v1alpha1.ReasonServersOutOfService) != strings.HasPrefix(name, "a recipe") || !strings.Contains(c.Message, tt.says) {
				t.Errorf("%+v, want %s with %q", c, tt.want, tt.says)
			}
		})
	}
}
