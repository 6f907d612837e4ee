// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bridge returns the HostedBridge of a user, whose servers are each name:State:Reason.
func bridge(user string, phase v1alpha1.Phase, servers ...string) *v1alpha1.HostedBridge {
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: "people", Name: user, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
		Spec:       v1alpha1.HostedBridgeSpec{Tier: "free"},
		Status:     v1alpha1.HostedBridgeStatus{Phase: phase},
	}
	for i, s := range servers {
		parts := strings.Split(s, ":")
		state := v1alpha1.ServerState{Name: parts[0], From: "recipe-" + parts[0], State: parts[1], Since: new(metav1.NewTime(now.Add(time.Duration(-i) * time.Minute)))}
		if len(parts) > 2 {
			state.Reason, state.Message = parts[2], user+" lacks it"
		}
		b.Spec.Servers = append(b.Spec.Servers, v1alpha1.Server{Name: parts[0]})
		b.Status.ServerStates = append(b.Status.ServerStates, state)
	}
	return b
}

// state has three users, of whom two have problems.
func state() State {
	ann := bridge("ann", v1alpha1.PhaseRunning, "docs:Healthy", "mail:Unhealthy:CredentialsRefused")
	ann.Status.Profiles = []v1alpha1.ProfileUse{{Name: "staff"}}
	ann.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: "https://a", Subject: "1"}}}
	bob := bridge("bob", v1alpha1.PhaseAsleep, "mail:Unhealthy:CredentialsRefused", "wiki:Unhealthy")
	bob.Spec.Tier, bob.Spec.Groups = "pro", []string{"engineering"}
	cleo := bridge("cleo", v1alpha1.PhaseFailed)
	cleo.Namespace = "trials"
	for of, message := range map[string]string{
		v1alpha1.ConditionReady: "It does not run.", v1alpha1.ConditionAccepted: "spec.tier must be one of: free, pro.",
	} {
		meta.SetStatusCondition(&cleo.Status.Conditions, metav1.Condition{
			Type: of, Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(now), Reason: v1alpha1.ReasonUnknownTier, Message: message,
		})
	}
	gone := bridge("gone", v1alpha1.PhaseRunning)
	gone.DeletionTimestamp = &metav1.Time{Time: now}
	second := bridge("other", v1alpha1.PhaseFailed)
	second.Spec.UserID, second.CreationTimestamp = "ann", metav1.NewTime(now)
	dora := bridge("dora", v1alpha1.PhaseSuspended, "mail:Unhealthy:CredentialsRefused")
	return State{
		Bridges: inEffect(dora, cleo, second, bob, gone, ann), Now: now,
		Persons: []v1alpha1.BridgePerson{{
			ObjectMeta: metav1.ObjectMeta{Name: "p-1"}, Spec: v1alpha1.BridgePersonSpec{Issuer: "https://a", Subject: "1"},
			Status: v1alpha1.BridgePersonStatus{Login: &v1alpha1.PersonLogin{Time: metav1.NewTime(now), Groups: []string{"sales"}}},
		}, {ObjectMeta: metav1.ObjectMeta{Name: "user.dora"}, Spec: v1alpha1.BridgePersonSpec{User: "dora", Access: v1alpha1.AccessSuspended}}},
	}
}

func TestUsersAreFoundByWhatTheyHave(t *testing.T) {
	for name, test := range map[string]struct {
		query   Query
		want    string
		next    v1alpha1.UserID
		matched int
	}{
		"all":                        {Query{Limit: 10}, "ann bob cleo dora", "", 4},
		"a part of the user id":      {Query{Search: "O", Limit: 10}, "ann bob cleo dora", "", 4},
		"of one user":                {Query{Search: "CLE", Limit: 10}, "cleo", "", 1},
		"a namespace":                {Query{Search: "trial", Limit: 10}, "cleo", "", 1},
		"a phase":                    {Query{Phase: v1alpha1.PhaseAsleep, Limit: 10}, "bob", "", 1},
		"a tier":                     {Query{Tier: "pro", Limit: 10}, "bob", "", 1},
		"a profile":                  {Query{Profile: "staff", Limit: 10}, "ann", "", 1},
		"a group of the manifest":    {Query{Group: "engineering", Limit: 10}, "bob", "", 1},
		"a group of a provider":      {Query{Group: "sales", Limit: 10}, "ann", "", 1},
		"a problem":                  {Query{Reason: "CredentialsRefused", Limit: 10}, "ann bob", "", 2},
		"a problem of one server":    {Query{Reason: ReasonOther, Server: "wiki", Limit: 10}, "bob", "", 1},
		"a problem of the other one": {Query{Reason: ReasonOther, Server: "mail", Limit: 10}, "", "", 0},
		"a failed bridge":            {Query{Reason: ReasonFailed, Limit: 10}, "cleo", "", 1},
		"nothing that there is":      {Query{Search: "zoe", Limit: 10}, "", "", 0},
		"a first page":               {Query{Limit: 2}, "ann bob", "bob", 4},
		"the last page":              {Query{Limit: 2, After: "bob"}, "cleo dora", "", 4},
	} {
		t.Run(name, func(t *testing.T) {
			page := state().List(test.query)
			var found []string
			for _, u := range page.Users {
				found = append(found, string(u.User))
			}
			if diff := cmp.Diff(test.want, strings.Join(found, " ")); diff != "" || page.Next != test.next || page.Matched != test.matched || page.Total != 4 {
				t.Errorf("next %q, matched %d of %d (-want +got):\n%s", page.Next, page.Matched, page.Total, diff)
			}
		})
	}
}

func TestAUserSaysWhatTheirBridgeIs(t *testing.T) {
	page := state().List(Query{Limit: 1})
	want := User{
		User: "ann", Namespace: "people", Name: "ann", Phase: v1alpha1.PhaseRunning, Access: v1alpha1.AccessAllowed, Tier: "free",
		Profiles: []string{"staff"}, Groups: []string{"sales"}, Servers: 2, Unhealthy: 1, Created: now.Add(-time.Hour),
	}
	if diff := cmp.Diff([]User{want}, page.Users); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[v1alpha1.Phase]int{"Running": 1, "Asleep": 1, "Failed": 1, "Suspended": 1}, page.Phases); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	suspended := state().List(Query{Search: "dora", Limit: 1}).Users[0]
	if suspended.Access != v1alpha1.AccessSuspended {
		t.Errorf("access %s", suspended.Access)
	}
	d := state().DetailOf(state().Bridges[1])
	text, err := json.Marshal(d)
	if err != nil || strings.Contains(string(text), "null") || d.User.User != "cleo" {
		t.Errorf("%s %v", text, err)
	}
}

func TestProblemsAreCountedByCause(t *testing.T) {
	got := state().Problems()
	var lines []string
	for _, p := range got.Problems {
		since := "?"
		if p.Since != nil {
			since = now.Sub(*p.Since).String()
		}
		lines = append(lines, fmt.Sprint(p.Users, " ", p.Reason, " ", p.Server, " ", p.Recipe, " ", p.Named, " ", p.Message, " ", since))
	}
	want := []string{
		"2 CredentialsRefused mail recipe-mail [ann bob] ann lacks it 1m0s",
		"1 BridgeFailed   [cleo] spec.tier must be one of: free, pro. ?",
		"1 Unhealthy wiki recipe-wiki [bob]  1m0s",
	}
	if diff := cmp.Diff(want, lines); diff != "" || got.Users != 3 || got.Total != 4 {
		t.Errorf("%d of %d users (-want +got):\n%s", got.Users, got.Total, diff)
	}
	var many State
	for i := range 20 {
		many.Bridges = append(many.Bridges, effective.Of(bridge(fmt.Sprintf("u%02d", i), v1alpha1.PhaseFailed)))
	}
	if p := many.Problems().Problems[0]; p.Users != 20 || len(p.Named) != maxNamed {
		t.Errorf("%d users, %d named", p.Users, len(p.Named))
	}
	if text, err := json.Marshal(State{}.Problems()); err != nil || string(text) != `{"users":0,"total":0,"phases":{},"problems":[]}` {
		t.Errorf("%s %v", text, err)
	}
}

func TestWhatKeepsAPodFromRunningIsAProblem(t *testing.T) {
	eve, fay := bridge("eve", v1alpha1.PhasePending), bridge("fay", v1alpha1.PhaseRunning)
	eve.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionWorkloadAvailable, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonPodRefused, Message: "exceeded quota"}}
	fay.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionProfilesApplied, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonUnknownGroup, Message: "did you mean team?"}}
	want := []Problem{
		{Reason: v1alpha1.ReasonPodRefused, Message: "exceeded quota", Users: 1, Named: []v1alpha1.UserID{"eve"}},
		{Reason: v1alpha1.ReasonUnknownGroup, Message: "did you mean team?", Users: 1, Named: []v1alpha1.UserID{"fay"}},
	}
	if diff := cmp.Diff(want, State{Bridges: inEffect(eve, fay), Now: now}.Problems().Problems); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func inEffect(bridges ...*v1alpha1.HostedBridge) (all []*effective.Bridge) {
	for _, b := range bridges {
		all = append(all, effective.Of(b))
	}
	return all
}
