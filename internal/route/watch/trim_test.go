// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/programs"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestStrippedPodsMakeTheSameTable leaves out of pods nothing that a route is
// made of.
func TestStrippedPodsMakeTheSameTable(t *testing.T) {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: "alice", UID: "uid-alice"}}
	conditions := func(ready corev1.ConditionStatus, reason string) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: corev1.PodScheduled, Status: "True"}, {Type: corev1.PodReady, Status: ready, Reason: reason}}
	}
	bridgeServes := []corev1.ContainerStatus{{Name: "another"}, {Name: v1alpha1.BridgeContainer, Ready: true}}
	for name, tt := range map[string]struct {
		status    corev1.PodStatus
		state     route.State
		candidate bool
	}{
		"ready":                      {corev1.PodStatus{PodIP: "10.0.0.1", Phase: corev1.PodRunning, Conditions: conditions("True", "")}, route.Ready, false},
		"ready but for its servers":  {corev1.PodStatus{PodIP: "10.0.0.1", Phase: corev1.PodRunning, Conditions: conditions("False", "ContainersNotReady"), ContainerStatuses: bridgeServes}, route.Ready, false},
		"starting":                   {corev1.PodStatus{PodIP: "10.0.0.1", Phase: corev1.PodRunning, Conditions: conditions("False", "ContainersNotReady")}, route.Starting, true},
		"starting without a word":    {corev1.PodStatus{PodIP: "10.0.0.1", Phase: corev1.PodPending}, route.Starting, true},
		"starting without address":   {corev1.PodStatus{Phase: corev1.PodPending, Conditions: conditions("False", "ContainersNotReady")}, route.Starting, false},
		"failed, with its address":   {corev1.PodStatus{PodIP: "10.0.0.1", Phase: corev1.PodFailed, Conditions: conditions("False", "PodFailed")}, route.Starting, false},
		"finished, with its address": {corev1.PodStatus{PodIP: "10.0.0.1", Phase: corev1.PodSucceeded, Conditions: conditions("False", "PodCompleted")}, route.Starting, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "tenants", Name: "alice-1", UID: types.UID(fmt.Sprint("uid-", name)),
				Annotations: map[string]string{v1alpha1.AnnotationBridgeUID: "uid-alice", "another": "annotation"},
			}, Status: tt.status}
			stripped := must.Value(trimPod(pod.DeepCopy()))(t)
			bridges := []*v1alpha1.HostedBridge{b}
			want, _ := route.Build(bridges, []*corev1.Pod{pod}).Lookup("alice")
			got, _ := route.Build(bridges, []*corev1.Pod{stripped.(*corev1.Pod)}).Lookup("alice")
			if got != want || got.State != tt.state || (got.Candidate.PodIP != "") != tt.candidate {
				t.Errorf("got %+v, of the whole pod %+v", got, want)
			}
		})
	}
}

// TestStrippedBridgesMakeTheSameTable leaves out of a bridge's recipes and logins
// nothing that a route is made of, and what runs by recipes.
func TestStrippedBridgesMakeTheSameTable(t *testing.T) {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: "alice", UID: "uid-alice"}}
	b.Spec.Servers = []v1alpha1.Server{
		{Name: "inline", Secrets: []v1alpha1.SecretName{"TOKEN"}, Transport: v1alpha1.Transport{URL: "https://a"}},
		{Name: "plain", Transport: v1alpha1.Transport{URL: "https://b"}},
		{Name: "mine", Recipe: &v1alpha1.RecipeReference{Name: "notes", Version: "1.0.0"}, Secrets: []v1alpha1.SecretName{"NOTES", "MORE"}},
		{Name: "lost", Recipe: &v1alpha1.RecipeReference{Name: "paper"}},
	}
	b.Status.Recipes = []v1alpha1.RecipeStatus{
		{Server: "mine", Recipe: "notes", Secrets: []string{"NOTES"}, Source: "{}", Reason: "InUse", Message: "long"},
		{Server: "lost", Recipe: "paper", Reason: "NotFound", Message: "there is none", Place: "nowhere"},
	}
	b.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonPodRefused, Message: "long"},
		{Type: v1alpha1.ConditionServersHealthy, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonServersUnhealthy, Message: "long"},
		{Type: v1alpha1.ConditionWorkloadAvailable, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonPodRefused, Message: "exceeded quota"},
	}
	b.Status.Outages = []v1alpha1.ServerOutage{{Server: "plain", Message: "it ended", Configuration: "x"}, {Server: "inline", Times: 2}}
	b.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: "https://login.example.com", Subject: "alice"}}}
	object := must.Value(PackageOf(bundling.Package).trimBridge(b.DeepCopy()))(t)
	stripped := object.(*v1alpha1.HostedBridge)
	want, _ := route.Build([]*v1alpha1.HostedBridge{b}, nil).Lookup("alice")
	got, _ := route.Build([]*v1alpha1.HostedBridge{stripped}, nil).Lookup("alice")
	if got != want || got.Blocked != v1alpha1.ReasonPodRefused || len(got.Grants.Servers("NOTES")) != 1 || got.Grants.Servers("MORE") != nil {
		t.Errorf("got %+v, of the whole bridge %+v", got, want)
	}
	if users := route.Build([]*v1alpha1.HostedBridge{stripped}, nil).Subjects(oauth.KeyOf("https://login.example.com", "alice")); len(users) != 1 {
		t.Errorf("who logs in may use the bridges of %v", users)
	}
	wantRecipes := []v1alpha1.RecipeStatus{{Server: "mine", Secrets: []string{"NOTES"}}, {Server: "lost", Reason: "NotFound", Message: "there is none"}}
	if diff := cmp.Diff(wantRecipes, stripped.Status.Recipes); diff != "" {
		t.Errorf("recipes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]v1alpha1.ServerOutage{{Server: "plain", Message: "it ended"}}, stripped.Status.Outages); diff != "" {
		t.Errorf("outages (-want +got):\n%s", diff)
	}
	if n := len(stripped.Status.Conditions); n != 2 {
		t.Errorf("%d conditions are kept", n)
	}
	var names []string
	for _, s := range stripped.Spec.Servers {
		if s.Recipe != nil {
			names = append(names, s.Recipe.Name)
		}
	}
	if fmt.Sprint(names) != "[notes paper]" {
		t.Errorf("the recipes that it names are %v", names)
	}
}

// TestStrippedBridgesTellUsersTheSame leaves out of a bridge nothing that its user is shown.
func TestStrippedBridgesTellUsersTheSame(t *testing.T) {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: "alice", UID: "uid-alice"}}
	b.Spec.Tier, b.Spec.Mode = "free", v1alpha1.ModeDirect
	b.Spec.Servers = []v1alpha1.Server{
		{Name: "own", Secrets: []v1alpha1.SecretName{"TOKEN"}, Transport: v1alpha1.Transport{URL: "https://a"}},
		{Name: "drive", Secrets: []v1alpha1.SecretName{"DRIVE"}, Transport: v1alpha1.Transport{URL: "https://b"}, Auth: &v1alpha1.Auth{OAuth: &v1alpha1.OAuth{
			Grant: v1alpha1.OAuthAuthorizationCode, AuthorizationURL: "https://login.example.com/a", TokenURL: "https://login.example.com/t", ClientID: "me", TokenSecret: "DRIVE",
		}}},
	}
	b.Spec.Choices = &v1alpha1.Choices{Servers: []v1alpha1.ServerChoice{{Name: "may", Use: "On"}, {Name: "gone", Use: "On"}}}
	b.Status.URL = "https://bridges.example.com/u/alice/mcp"
	b.Status.Secrets = &v1alpha1.SecretsStatus{Missing: []string{"TOKEN"}}
	b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionWorkloadAvailable, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonPodUnschedulable, Message: "0/1 nodes"}}
	b.Status.Effective = &v1alpha1.EffectiveSettings{LeftOut: []string{"left"}, Servers: []v1alpha1.EffectiveServer{
		{Name: "given", Profile: "team", Use: v1alpha1.ServerRequired, Source: `{"name":"given","recipe":{"name":"notes"}}`, Recipe: "notes"},
		{Name: "shared", Profile: "team", Use: v1alpha1.ServerRequired, Source: `{"name":"shared","secrets":["OURS"]}`, Shared: "ours"},
		{Name: "drive", Profile: "team", Use: v1alpha1.ServerDefault, Source: `{"name":"drive"}`, Shared: "ours"},
		{Name: "may", Profile: "team", Use: v1alpha1.ServerOptional, Reason: v1alpha1.ReasonServerNoRoom, Recipe: "paper"},
		{Name: "own", Profile: "team", Use: v1alpha1.ServerDefault, Reason: v1alpha1.ReasonServerShadowed},
	}}
	b.Status.Recipes = []v1alpha1.RecipeStatus{{
		Server: "given", Recipe: "notes", Digest: "sha256:1", Secrets: []string{"KEY"}, CredentialsURL: "https://notes.example.com/keys", Source: "{}",
	}}
	object := must.Value(PackageOf(bundling.Package).trimBridge(b.DeepCopy()))(t)
	report := health.Report{Status: health.Degraded, Servers: map[string]health.Server{
		"own": {Status: health.Unhealthy}, "drive": {Status: health.Unhealthy, Reason: health.ReasonLoginRequired}, "given": {Status: health.Healthy},
	}}
	seen := func(b *v1alpha1.HostedBridge) any {
		starts := report
		starts.Status = selfservice.Starting
		v := selfservice.View{Bridge: effective.Of(b), Report: starts, ConnectPage: func(server string) string { return "https://connect/" + server }}
		return []any{selfservice.ServersOf(v), selfservice.ConnectionsOf(v, nil), selfservice.ToolsOf(v, nil, true)}
	}
	if whole, kept := route.GrantsOf(effective.Of(b)), route.GrantsOf(effective.Of(object.(*v1alpha1.HostedBridge))); whole != kept || whole != "own TOKEN\ndrive DRIVE\ngiven KEY\n" {
		t.Errorf("grants %q, stripped %q", whole, kept)
	}
	if diff := cmp.Diff(seen(b), seen(object.(*v1alpha1.HostedBridge))); diff != "" {
		t.Errorf("(-whole +stripped):\n%s", diff)
	}
	if servers := selfservice.ServersOf(selfservice.View{Bridge: effective.Of(object.(*v1alpha1.HostedBridge)), Report: report}); len(servers.Servers) != 7 {
		t.Errorf("%d servers", len(servers.Servers))
	}
}

// TestStrippedBridgesNameThePackagesOfTheirPrograms keeps what says who uses a program.
func TestStrippedBridgesNameThePackagesOfTheirPrograms(t *testing.T) {
	stdio := func(s v1alpha1.Stdio) v1alpha1.Transport {
		return v1alpha1.Transport{Type: v1alpha1.TransportStdio, Stdio: &s}
	}
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: "alice", UID: "uid-alice"}}
	b.Spec.Servers = []v1alpha1.Server{
		{Name: "installed", Transport: stdio(v1alpha1.Stdio{Install: &v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: "@acme/a", Version: "1.0.0"}, Args: []string{"-v"}})},
		{Name: "commanded", Transport: stdio(v1alpha1.Stdio{Command: []string{"npx", "-y", "b@2.0.0"}})},
		{Name: "python", Transport: stdio(v1alpha1.Stdio{Install: &v1alpha1.Install{Method: v1alpha1.InstallUVX, Package: "c", Version: "1.0.0"}})},
		{Name: "own", Transport: stdio(v1alpha1.Stdio{Image: "example.com/own:1", Command: []string{"npx", "-y", "d@2.0.0"}})},
		{Name: "remote", Transport: v1alpha1.Transport{URL: "https://b"}},
		{Name: "by-recipe", Recipe: &v1alpha1.RecipeReference{Name: "notes"}},
	}
	b.Status.Recipes = []v1alpha1.RecipeStatus{{Server: "by-recipe", Recipe: "notes", Source: `{"program":{"command":["npx","-y","notes@3.0.0"]}}`}}
	stripped := must.Value(PackageOf(bundling.Package).trimBridge(b))(t).(*v1alpha1.HostedBridge)
	got := map[string]string{}
	for _, s := range stripped.Spec.Servers {
		if p := programs.PackageOf(s); p != nil {
			got[s.Name] = p.Package + "@" + p.Version
		}
	}
	if diff := cmp.Diff(map[string]string{"installed": "@acme/a@1.0.0", "commanded": "b@2.0.0", "by-recipe": "notes@3.0.0", "python": "c@1.0.0"}, got); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
}
