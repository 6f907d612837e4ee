// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package hostedbridge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/controllers/bridgeprofile"
	"github.com/hostedbridge/hostedbridge/internal/tenant/bridgestore"
	"github.com/hostedbridge/hostedbridge/test/health"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// profile returns a profile of the fixture's group engineering with one server.
func (f *fixture) profile(name, server, url string) *v1alpha1.BridgeProfile {
	return &v1alpha1.BridgeProfile{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.Settings.Namespace, Name: name},
		Spec: v1alpha1.BridgeProfileSpec{
			Who: v1alpha1.ProfileSubjects{Namespaces: []string{f.namespace}, Groups: []v1alpha1.ProfileGroup{{FromNamespace: f.namespace, Value: "engineering"}}},
			Servers: []v1alpha1.ProfileServer{{
				Server: v1alpha1.Server{Name: server, Transport: v1alpha1.Transport{URL: url}},
			}},
		},
	}
}

// follow reconciles the profile as its controller does, and reads it.
func (f *fixture) follow(t *testing.T, p *v1alpha1.BridgeProfile) {
	t.Helper()
	r := &bridgeprofile.Reconciler{
		Client: f.Client, Clock: f.clock, Namespace: f.Settings.Namespace, CatalogNamespace: f.Settings.CatalogNamespace, Tiers: f.Settings.Tiers,
	}
	testenv.ExpectReconciled(t, reconcile.AsReconciler(f.Client, r), p)
	testenv.ExpectExists(t, f.Client, p)
	seen := health.Current
	switch ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady); {
	case ready.Reason == v1alpha1.ReasonRollingOut:
		seen = health.InProgress
	case ready.Status != metav1.ConditionTrue:
		seen = health.Failed
	}
	health.Expect(t, p, seen)
}

// edit changes the profile's spec, and lets the controller see it.
func (f *fixture) edit(t *testing.T, p *v1alpha1.BridgeProfile, change func(*v1alpha1.BridgeProfileSpec)) {
	t.Helper()
	testenv.ExpectChanged(t, f.Client, p, func() { change(&p.Spec) })
	f.follow(t, p)
}

// standing says in a few words how a profile is.
func standing(p *v1alpha1.BridgeProfile) string {
	words := fmt.Sprintf("%d/%d", p.Status.Updated, p.Status.Matched)
	for _, kind := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionProgressing, v1alpha1.ConditionReady} {
		if c := meta.FindStatusCondition(p.Status.Conditions, kind); c != nil {
			words += " " + string(c.Status) + ":" + c.Reason
		}
	}
	return words
}

func (f *fixture) expectStanding(t *testing.T, p *v1alpha1.BridgeProfile, want string) {
	t.Helper()
	f.follow(t, p)
	if got := standing(p); got != want {
		t.Errorf("profile %s is %s\nwant %s", p.Name, got, want)
	}
}

func inGroup(s *v1alpha1.HostedBridgeSpec) { s.Groups = []string{"engineering"} }

// expectConfigured reconciles the bridge and looks for a text in what its pod is told.
func (f *fixture) expectConfigured(t *testing.T, b *v1alpha1.HostedBridge, with string, want bool) {
	t.Helper()
	testenv.ExpectReconciled(t, f.reconciler, b)
	testenv.ExpectExists(t, f.Client, b)
	if got := strings.Contains(f.built(t, b.Name).config, with); got != want {
		t.Errorf("%s has %s: %v, want %v", b.Name, with, got, want)
	}
}

func TestABridgeHasWhatItsProfileGives(t *testing.T) {
	f := newFixture(t)
	p := f.profile("engineering", "docs", "https://docs.example.com/mcp")
	p.Spec.Tier, p.Spec.Mode = "pro", v1alpha1.ModeRouter
	member, other := f.bridge("member", inGroup), f.bridge("other")
	testenv.ExpectApplied(t, f.Client, p, member, other)
	f.expectStanding(t, p, "0/1 True:Accepted True:RollingOut False:RollingOut")

	f.expectConfigured(t, member, "docs.example.com", true)
	f.expectConfigured(t, other, "docs.example.com", false)
	if s := member.Status; s.Tier != "pro" || s.Effective.Mode != v1alpha1.ModeRouter || len(s.Profiles) != 1 || s.Profiles[0].Name != "engineering" || s.Profiles[0].Generation != p.Generation {
		t.Errorf("status of a member: %+v", s)
	}
	if s := other.Status; s.Tier != "free" || s.Effective != nil || s.Profiles != nil {
		t.Errorf("status of another: %+v", s)
	}
	if member.Spec.Tier != "free" || len(member.Spec.Servers) != 1 {
		t.Errorf("the spec was written: %+v", member.Spec)
	}
	testenv.ExpectConditions(t, f.Client, member, map[string]string{v1alpha1.ConditionProfilesApplied: "True Applied"})
	f.expectStanding(t, p, "1/1 True:Accepted False:Complete True:Complete")
	versions := f.versions(t, member)
	f.expectConfigured(t, member, "docs.example.com", true)
	f.expectStanding(t, p, "1/1 True:Accepted False:Complete True:Complete")
	for kind, version := range f.versions(t, member) {
		if version != versions[kind] {
			t.Errorf("a %s was written although nothing changed", kind)
		}
	}

	// Groups are never paced, in either direction.
	f.change(t, other, inGroup)
	f.expectConfigured(t, other, "docs.example.com", true)
	f.change(t, member, func(s *v1alpha1.HostedBridgeSpec) { s.Groups = nil })
	f.expectConfigured(t, member, "docs.example.com", false)
	if s := member.Status; s.Tier != "free" || s.Effective != nil || s.Profiles != nil || meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionProfilesApplied) != nil {
		t.Errorf("status of one that left: %+v", s)
	}
	must.Succeed(t, f.Delete(t.Context(), p))
	f.expectConfigured(t, other, "docs.example.com", false)
}

func TestAProfileThatBreaksTakesNothingDown(t *testing.T) {
	f := newFixture(t)
	p := f.profile("engineering", "docs", "https://docs.example.com/mcp")
	b := f.bridge("member", inGroup)
	testenv.ExpectApplied(t, f.Client, p, b)
	f.follow(t, p)
	f.expectConfigured(t, b, "docs.example.com", true)
	f.follow(t, p)
	for _, tt := range []struct {
		reason string
		change func(*v1alpha1.BridgeProfileSpec)
	}{
		{v1alpha1.ReasonUnknownTier, func(s *v1alpha1.BridgeProfileSpec) { s.Tier = "gold" }},
		{v1alpha1.ReasonUnknownRecipe, func(s *v1alpha1.BridgeProfileSpec) {
			s.Tier = ""
			s.Servers = append(s.Servers, v1alpha1.ProfileServer{Server: v1alpha1.Server{Name: "lost", Recipe: &v1alpha1.RecipeReference{Name: "nowhere"}}})
		}},
		{v1alpha1.ReasonSecretNotGranted, func(s *v1alpha1.BridgeProfileSpec) {
			s.Servers[1] = v1alpha1.ProfileServer{Server: v1alpha1.Server{Name: "lost", Transport: v1alpha1.Transport{
				URL: "https://h", Headers: []v1alpha1.Header{{Name: "X-Token", Value: "${TOKEN}"}},
			}}}
		}},
	} {
		f.edit(t, p, tt.change)
		if got, want := standing(p), "1/1 False:"+tt.reason+" False:Complete False:"+tt.reason; got != want {
			t.Errorf("profile is %s\nwant %s", got, want)
		}
		f.expectConfigured(t, b, "docs.example.com", true)
		late := f.bridge("late-"+strings.ToLower(tt.reason), inGroup)
		testenv.ExpectApplied(t, f.Client, late)
		f.expectConfigured(t, late, "docs.example.com", true)
		must.Succeed(t, f.Delete(t.Context(), late))
	}
	f.edit(t, p, func(s *v1alpha1.BridgeProfileSpec) { s.Servers = s.Servers[:1] })
	f.expectConfigured(t, b, "docs.example.com", true)
	f.expectStanding(t, p, "1/1 True:Accepted False:Complete True:Complete")
}

// members makes running bridges of the group that have the profile.
func (f *fixture) members(t *testing.T, p *v1alpha1.BridgeProfile, n int) []*v1alpha1.HostedBridge {
	t.Helper()
	f.follow(t, p)
	var all []*v1alpha1.HostedBridge
	for i := range n {
		b := f.bridge(fmt.Sprint("m", i), inGroup)
		testenv.ExpectApplied(t, f.Client, b)
		testenv.ExpectReconciled(t, f.reconciler, b)
		f.roll(t, b)
		testenv.ExpectReconciled(t, f.reconciler, b)
		all = append(all, b)
	}
	f.expectStanding(t, p, fmt.Sprintf("%d/%d True:Accepted False:Complete True:Complete", n, n))
	return all
}

// reconciled reconciles all bridges, and returns how many have a text in their configuration.
func (f *fixture) reconciled(t *testing.T, all []*v1alpha1.HostedBridge, with string) (n int) {
	t.Helper()
	for _, b := range all {
		testenv.ExpectReconciled(t, f.reconciler, b)
		testenv.ExpectExists(t, f.Client, b)
		if strings.Contains(f.built(t, b.Name).config, with) {
			n++
		}
	}
	return n
}

func TestAChangeOfAProfileIsPaced(t *testing.T) {
	f := newFixture(t)
	p := f.profile("engineering", "docs", "https://old.example.com/mcp")
	p.Spec.Rollout.PerSecond = 1
	testenv.ExpectApplied(t, f.Client, p)
	all := f.members(t, p, 8)
	f.edit(t, p, func(s *v1alpha1.BridgeProfileSpec) { s.Servers[0].Transport.URL = "https://new.example.com/mcp" })
	if n := f.reconciled(t, all, "new.example.com"); n != 5 {
		t.Errorf("%d bridges had the change at once, want 5", n)
	}
	testenv.ExpectConditions(t, f.Client, all[7], map[string]string{v1alpha1.ConditionProfilesApplied: "False RolloutPending"})
	f.expectStanding(t, p, "5/8 True:Accepted True:RollingOut False:RollingOut")
	// Bridges that change themselves need not wait.
	f.change(t, all[7], func(s *v1alpha1.HostedBridgeSpec) { s.Servers[0].Description = "mine" })
	f.clock.Step(29 * time.Second)
	if n := f.reconciled(t, all, "new.example.com"); n != 6 {
		t.Errorf("%d bridges have the change after 29 s, want 6", n)
	}
	f.clock.Step(time.Second)
	if n := f.reconciled(t, all, "new.example.com"); n != 7 {
		t.Errorf("%d bridges have the change after 30 s, want 7", n)
	}
	f.restart() // The next process begins with five again, and one is left.
	if n := f.reconciled(t, all, "new.example.com"); n != 8 {
		t.Errorf("%d bridges have the change after a restart, want 8", n)
	}
	f.expectStanding(t, p, "8/8 True:Accepted False:Complete True:Complete")
	if len(p.Status.Revisions) != 1 {
		t.Errorf("revisions after the rollout: %+v", p.Status.Revisions)
	}

	f.edit(t, p, func(s *v1alpha1.BridgeProfileSpec) {
		s.Servers[0].Transport.URL, s.Rollout.Pace = "https://urgent.example.com/mcp", v1alpha1.PaceImmediate
	})
	if n := f.reconciled(t, all, "urgent.example.com"); n != 8 {
		t.Errorf("%d bridges had an immediate change at once", n)
	}
}

func TestAChangeThatFailsPausesAndTheNextGoesOn(t *testing.T) {
	f := newFixture(t)
	p := f.profile("engineering", "docs", "https://old.example.com/mcp")
	p.Spec.Rollout.PerSecond, p.Spec.Rollout.MaxFailures = 100, 2
	testenv.ExpectApplied(t, f.Client, p)
	all := f.members(t, p, 8)
	f.edit(t, p, func(s *v1alpha1.BridgeProfileSpec) { s.Servers[0].Transport.URL = "https://bad.example.com/mcp" })
	f.reconciled(t, all, "bad.example.com")
	f.clock.Step(20 * time.Second)
	fails := func(b *v1alpha1.HostedBridge) {
		f.reportServers(t, b, v1alpha1.ServerState{
			Name: "docs", Profile: "engineering", Use: v1alpha1.ServerDefault, State: v1alpha1.ServerUnhealthy, Since: &metav1.Time{Time: f.clock.Now()},
		})
	}
	fails(all[0])
	f.expectStanding(t, p, "5/8 True:Accepted True:RollingOut False:RollingOut")
	fails(all[1])
	f.expectStanding(t, p, "5/8 True:Accepted False:RolloutPaused False:RolloutPaused")
	if message := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady).Message; !strings.Contains(message, f.namespace+"/m0, "+f.namespace+"/m1") {
		t.Errorf("the pause does not name who failed: %s", message)
	}
	f.clock.Step(time.Hour)
	late := f.bridge("late", inGroup)
	testenv.ExpectApplied(t, f.Client, late)
	f.expectConfigured(t, late, "old.example.com", true)
	if n := f.reconciled(t, all, "bad.example.com"); n != 5 {
		t.Errorf("%d bridges have a change that is paused, want 5", n)
	}
	f.edit(t, p, func(s *v1alpha1.BridgeProfileSpec) { s.Servers[0].Transport.URL = "https://good.example.com/mcp" })
	f.reconciled(t, append(all, late), "good.example.com")
	if n := f.reconciled(t, all, "bad.example.com"); n != 0 {
		t.Errorf("%d bridges still have the change that failed", n)
	}
	f.clock.Step(31 * time.Second)
	if n := f.reconciled(t, append(all, late), "good.example.com"); n != 9 {
		t.Errorf("%d bridges have the next change, want 9", n)
	}
	f.expectStanding(t, p, "9/9 True:Accepted False:Complete True:Complete")
}

func TestProfilesOfEqualPriorityThatDisagree(t *testing.T) {
	f := newFixture(t)
	a, z := f.profile("a", "docs", "https://a.example.com/mcp"), f.profile("z", "docs", "https://z.example.com/mcp")
	b := f.bridge("member", inGroup)
	testenv.ExpectApplied(t, f.Client, a, z, b)
	f.follow(t, a)
	f.follow(t, z)
	f.expectConfigured(t, b, "a.example.com", true)
	testenv.ExpectConditions(t, f.Client, b, map[string]string{v1alpha1.ConditionProfilesApplied: "True ProfilesConflict"})
	for _, p := range []*v1alpha1.BridgeProfile{a, z} {
		f.follow(t, p)
		c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionConflicting)
		if c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "servers[docs] (a decides, of a, z)") {
			t.Errorf("%s: %+v", p.Name, c)
		}
	}
}

// TestAProfileReachesBridgesByItself has the operator's controllers run.
func TestAProfileReachesBridgesByItself(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("member", inGroup)
	f.start(t)
	f.run(t, b)
	p := f.profile("engineering", "docs", "https://docs.example.com/mcp")
	testenv.ExpectApplied(t, f.Client, p)
	f.follow(t, p)
	c := f.configMap(b.Name)
	f.eventually(t, "the bridge is told of the server", c, func() bool { return strings.Contains(c.Data["config.json"], "docs.example.com") })
	must.Succeed(t, f.Delete(t.Context(), p))
	f.eventually(t, "the bridge is not told of the server", c, func() bool { return !strings.Contains(c.Data["config.json"], "docs.example.com") })
}

// TestGroupsThatALoginNamesDecide has the controllers run while an ingress writes what an
// identity provider says.
func TestGroupsThatALoginNamesDecide(t *testing.T) {
	const issuer = "https://login.example.com"
	f := newFixture(t)
	f.clock.SetTime(time.Now())
	subject := f.namespace // Other tests have other people.
	b := f.bridge("member", func(s *v1alpha1.HostedBridgeSpec) {
		s.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: issuer, Subject: subject}}}
	})
	f.start(t)
	f.run(t, b)
	p := f.profile("engineering", "docs", "https://docs.example.com/mcp")
	p.Spec.Who.Groups = []v1alpha1.ProfileGroup{{Issuer: issuer, Value: "eng"}}
	testenv.ExpectApplied(t, f.Client, p)
	f.expectStanding(t, p, "0/0 True:Accepted False:Complete True:Complete")
	people := &bridgestore.Persons{Client: f.Client, Namespace: f.Settings.Namespace}
	hear := func(at time.Time, groups ...string) {
		t.Helper()
		must.Succeed(t, people.Record(t.Context(), bridgestore.NamedGroups{Issuer: issuer, Subject: subject, Groups: groups, At: at}))
	}
	c, began := f.configMap(b.Name), time.Now()
	has := func(want bool) func() bool {
		return func() bool { return strings.Contains(c.Data["config.json"], "docs.example.com") == want }
	}
	hear(began, "eng", "private")
	f.eventually(t, "a member is told of the server", c, has(true))
	// The status of the bridge, by which the profile counts, is written after the ConfigMap.
	wait.Until(t, "the profile counts the member", func() bool {
		f.follow(t, p)
		return standing(p) == "1/1 True:Accepted False:Complete True:Complete"
	})
	hear(began.Add(time.Second))
	f.eventually(t, "who left is not told of the server", c, has(false))
	hear(began.Add(2*time.Second), "eng")
	f.eventually(t, "who came back is told of the server", c, has(true))
}

func TestAServerOnRequestNeedsAnApprovedRequest(t *testing.T) {
	f := newFixture(t)
	p := f.profile("engineering", "jira", "https://jira.example.com/mcp")
	p.Spec.Servers[0].Use, p.Spec.Rollout = v1alpha1.ServerOnRequest, v1alpha1.ProfileRollout{Pace: v1alpha1.PaceImmediate}
	b := f.bridge("member", inGroup, func(s *v1alpha1.HostedBridgeSpec) {
		s.Choices = &v1alpha1.Choices{Servers: []v1alpha1.ServerChoice{{Name: "jira", Use: v1alpha1.ChoiceOn}}}
	})
	testenv.ExpectApplied(t, f.Client, p, b)
	f.follow(t, p)
	f.expectConfigured(t, b, "jira.example.com", false)
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionProfilesApplied); c == nil || c.Reason != v1alpha1.ReasonChoiceIgnored || !strings.Contains(c.Message, "no request of the user is approved") {
		t.Errorf("condition %+v", c)
	}
	q := &v1alpha1.BridgeRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.Settings.Namespace, Name: v1alpha1.RequestName(b.User(), "jira")},
		Spec:       v1alpha1.BridgeRequestSpec{User: b.User(), BridgeUID: b.UID, Server: "jira", Offer: "https://jira.example.com/mcp", Reason: "tickets"},
	}
	if offers := b.Status.Effective.Servers; len(offers) != 1 || offers[0].Offer != q.Spec.Offer {
		t.Errorf("the profile offers %+v", offers)
	}
	testenv.ExpectApplied(t, f.Client, q)
	f.expectConfigured(t, b, "jira.example.com", false)
	decide := func(d v1alpha1.RequestDecision) error {
		testenv.ExpectExists(t, f.Client, q)
		q.Spec.Decision = &d
		return f.Update(t.Context(), q)
	}
	if err := decide(v1alpha1.RequestDecision{Verdict: v1alpha1.RequestRefused}); err == nil || !strings.Contains(err.Error(), "refused with a reason") {
		t.Errorf("a refusal without a reason: %v", err)
	}
	for name, change := range map[string]func(*v1alpha1.BridgeRequestSpec){
		"another bridge": func(s *v1alpha1.BridgeRequestSpec) { s.BridgeUID = "other" }, "another offer": func(s *v1alpha1.BridgeRequestSpec) { s.Offer = "other" },
	} {
		testenv.ExpectExists(t, f.Client, q)
		changed := q.DeepCopy()
		change(&changed.Spec)
		if err := f.Update(t.Context(), changed); err == nil || !strings.Contains(err.Error(), "stays one of the same") {
			t.Errorf("a request for %s: %v", name, err)
		}
	}
	must.Succeed(t, decide(v1alpha1.RequestDecision{Verdict: v1alpha1.RequestApproved}))
	f.expectConfigured(t, b, "jira.example.com", true)

	f.edit(t, p, func(s *v1alpha1.BridgeProfileSpec) { s.Servers[0].Transport.URL = "https://payroll.example.com/mcp" })
	f.expectConfigured(t, b, "payroll.example.com", false)
	f.expectConfigured(t, b, "jira.example.com", false)
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionProfilesApplied); c == nil || !strings.Contains(c.Message, "offers another server under this name than the one that was approved") {
		t.Errorf("condition %+v", c)
	}
	f.edit(t, p, func(s *v1alpha1.BridgeProfileSpec) { s.Servers[0].Transport.URL = "https://jira.example.com/mcp?all=1" })
	f.expectConfigured(t, b, "jira.example.com", true)
	must.Succeed(t, f.Delete(t.Context(), q))
	f.expectConfigured(t, b, "jira.example.com", false)
}

func TestAGroupThatNothingNamesIsSaid(t *testing.T) {
	f := newFixture(t)
	b := f.bridge("alice", func(s *v1alpha1.HostedBridgeSpec) { s.Groups = []string{"enigneering"} })
	testenv.ExpectApplied(t, f.Client, b)
	f.expect(t, b, v1alpha1.PhasePending, progressing)
	f.expectEvents(t, "Warning UnknownGroup")
	expectMessage(t, b, v1alpha1.ConditionProfilesApplied, `nothing else has these groups, so they give the bridge nothing: "enigneering";`)

	p := f.profile("team", "wiki", "https://wiki.example.com/mcp")
	testenv.ExpectApplied(t, f.Client, p)
	f.follow(t, p)
	testenv.ExpectReconciled(t, f.reconciler, b)
	testenv.ExpectExists(t, f.Client, b)
	expectMessage(t, b, v1alpha1.ConditionProfilesApplied, `"enigneering" (did you mean engineering?)`)
	f.expectEvents(t, "Warning UnknownGroup")

	testenv.ExpectChanged(t, f.Client, b, func() { b.Spec.Groups = []string{"engineering"} })
	testenv.ExpectReconciled(t, f.reconciler, b)
	testenv.ExpectExists(t, f.Client, b)
	expectMessage(t, b, v1alpha1.ConditionProfilesApplied, "decided by BridgeProfiles, the first of them first: team")
	f.expectEvents(t, "Normal Applied")
}
