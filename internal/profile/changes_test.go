// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

func TestWhatChangesIsSaidInAFewWords(t *testing.T) {
	before := bridge(func(s *v1alpha1.HostedBridgeSpec) { s.DesiredState = v1alpha1.StateOnDemand }, "kept", "gone", "other")
	after := before.DeepCopy()
	if changes := Changes(effective.Of(before), effective.Of(after)); changes != nil {
		t.Errorf("nothing changed, and it says %q", changes)
	}
	s := &after.Spec
	s.Tier, s.Mode, s.RuntimeClassName, s.IdleTimeout = "pro", v1alpha1.ModeRouter, new("gvisor"), &metav1.Duration{Duration: time.Hour}
	s.Servers = []v1alpha1.Server{before.Spec.Servers[0], at("other", "https://elsewhere.example.com"), at("new", "https://new.example.com")}
	want := []string{
		"tier: free -> pro", "mode: Direct -> Router", "idleTimeout: 15m0s -> 1h0m0s", "runtimeClassName: none -> gvisor",
		"- server gone", "~ server other", "+ server new",
	}
	if diff := cmp.Diff(want, words(Changes(effective.Of(before), effective.Of(after)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func words(changes []Change) (list []string) {
	for _, c := range changes {
		list = append(list, c.String())
	}
	return list
}

func TestAPreviewSaysWhomAProfileTouches(t *testing.T) {
	was := profiled("p", 1, nil, "Required mail", "Optional wiki", "Default docs")
	in := Inputs{Profiles: []Profile{was}, Tiers: tiers, People: access.NewPeople(nil)}
	var bridges []*v1alpha1.HostedBridge
	for _, name := range []string{"carol", "alice", "bob"} {
		b := bridge(func(s *v1alpha1.HostedBridgeSpec) { s.UserID = v1alpha1.UserID(name) })
		if name == "alice" {
			b.Spec.Choices = &v1alpha1.Choices{Mode: v1alpha1.ModeRouter, Servers: []v1alpha1.ServerChoice{{Name: "wiki", Use: v1alpha1.ChoiceOn}, {Name: "docs", Use: v1alpha1.ChoiceOff}}}
		}
		after, selected := in.After(b)
		if len(selected) != 1 || b.Status.Effective != nil {
			t.Fatalf("%s is selected by %q, or was changed", name, selected)
		}
		b.Status.Effective = after.Status.Effective
		bridges = append(bridges, b)
	}
	is := profiled("p", 1, func(s *v1alpha1.BridgeProfileSpec) { s.Tier = "pro" }, "Required docs", "Default files")
	stored := []v1alpha1.BridgeProfile{
		{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: v1alpha1.BridgeProfileStatus{Revisions: []v1alpha1.ProfileRevision{{Generation: 1, Spec: "{"}}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "never-accepted"}, Spec: is.Spec},
	}
	newest, err := Newest(stored, []v1alpha1.BridgeProfile{{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: is.Spec}})
	if err != nil || len(newest) != 1 {
		t.Fatalf("%+v, %v", newest, err)
	}
	in.Profiles = newest
	var p Preview
	for _, b := range append(bridges, bridges[0]) { // Two bridges claim one user id.
		after, _ := in.After(b)
		p.Add(b.User(), Changes(effective.Of(b), after))
	}
	p.Sort()
	everybody, alice := []v1alpha1.UserID{"alice", "bob", "carol"}, []v1alpha1.UserID{"alice"}
	want := []Effect{
		{Change{Kind: ServerLost, Name: "mail"}, everybody}, {Change{Kind: ServerLost, Name: "wiki"}, alice},
		{Change{Kind: ChoiceEnded, Name: "servers[docs]"}, alice}, {Change{Kind: ChoiceEnded, Name: "servers[wiki]"}, alice},
		{Change{FieldChanged, "tier", "free", "pro"}, everybody},
		{Change{Kind: ServerGained, Name: "files"}, everybody}, {Change{Kind: ServerGained, Name: "docs"}, alice},
	}
	if diff := cmp.Diff(want, p.Effects); diff != "" || p.Bridges != 4 || p.Changed != 4 {
		t.Errorf("%d of %d (-want +got):\n%s", p.Changed, p.Bridges, diff)
	}
}

func TestAProfileIsRefusedAsTheInstallationIs(t *testing.T) {
	known := Known{Namespace: "system", Tiers: tiers, Versions: func(name string) ([]v1alpha1.RecipeVersion, bool, error) {
		switch name {
		case "good":
			return []v1alpha1.RecipeVersion{{Version: "2"}, {Version: "1", Withdrawn: true}}, true, nil
		case "new":
			return nil, true, nil
		}
		return nil, false, nil
	}}
	recipe := func(name, version string) v1alpha1.BridgeProfileSpec {
		return v1alpha1.BridgeProfileSpec{Servers: []v1alpha1.ProfileServer{{Server: v1alpha1.Server{Name: "x", Recipe: &v1alpha1.RecipeReference{Name: name, Version: version}}}}}
	}
	for want, spec := range map[string]v1alpha1.BridgeProfileSpec{
		"": recipe("good", "2"),
		"spec.tier: \"gold\" is not a tier of this installation; it must be one of: free, pro": {Tier: "gold"},
		"spec.servers[0].recipe: the catalog has no recipe none":                               recipe("none", ""),
		"spec.servers[0].recipe: recipe new has no version that was accepted":                  recipe("new", ""),
		"spec.servers[0].recipe: recipe good has no version 1":                                 recipe("good", "1"),
		"spec.servers[0].shared: there is no SharedServer team in namespace system": {Servers: []v1alpha1.ProfileServer{{
			Server: v1alpha1.Server{Name: "x"}, Shared: &v1alpha1.SharedReference{Name: "team"},
		}}},
	} {
		if got, err := known.Refuses(&spec); err != nil || got.Message != want {
			t.Errorf("%q, %v; want %q", got.Message, err, want)
		}
	}
}
