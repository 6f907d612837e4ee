// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

func TestASummarySaysWhatMattersMost(t *testing.T) {
	waits := []metav1.Condition{{Type: v1alpha1.ConditionWorkloadAvailable, Status: metav1.ConditionFalse, Message: "exceeded quota: none"}}
	runs := User{Access: v1alpha1.AccessAllowed, Phase: v1alpha1.PhaseRunning, Servers: 3, Tools: 12}
	with := func(change func(*User), conditions ...metav1.Condition) Detail {
		u := runs
		change(&u)
		return Detail{User: u, Conditions: conditions}
	}
	for want, d := range map[string]Detail{
		"This person's keys and logins are refused.":               with(func(u *User) { u.Access, u.Phase = v1alpha1.AccessSuspended, v1alpha1.PhaseFailed }),
		"The bridge does not run: spec.tier must be one of: free.": with(func(u *User) { u.Phase = v1alpha1.PhaseFailed }, metav1.Condition{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionFalse, Message: "spec.tier must be one of: free."}),
		"The bridge does not run.":                                 with(func(u *User) { u.Phase = v1alpha1.PhaseFailed }),
		"The bridge is suspended, and refuses calls.":              with(func(u *User) { u.Phase = v1alpha1.PhaseSuspended }),
		"The bridge is starting: exceeded quota: none.":            with(func(u *User) { u.Phase = v1alpha1.PhasePending }, waits...),
		"The bridge is starting.":                                  with(func(u *User) { u.Phase = v1alpha1.PhaseWaking }),
		"The operator has not looked at the bridge yet.":           with(func(u *User) { u.Phase = "" }),
		"1 of 3 servers cannot be used.":                           with(func(u *User) { u.Phase, u.Unhealthy = v1alpha1.PhaseAsleep, 1 }),
		"The bridge is asleep, and wakes at the next call.":        with(func(u *User) { u.Phase = v1alpha1.PhaseAsleep }),
		"The bridge has no servers.":                               with(func(u *User) { u.Servers = 0 }),
		"3 servers, 12 tools. Nothing is reported to be wrong.":    with(func(*User) {}),
		"1 server, 1 tool. Nothing is reported to be wrong.":       with(func(u *User) { u.Servers, u.Tools = 1, 1 }),
	} {
		if got := d.Summary(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestABridgeWhoseUserIDIsTakenHasItsOwnDetail(t *testing.T) {
	s := state()
	if got := s.DetailOf(s.Bridges[2]); got.Name != "other" || got.User.User != "ann" {
		t.Errorf("%+v", got)
	}
}
