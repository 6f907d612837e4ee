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
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/route"
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
			stripped, err := trimPod(pod.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
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
	b.Status.Outages = []v1alpha1.ServerOutage{{Server: "plain", Message: "it ended", Configuration: "x"}, {Server: "inline", Times: 2}}
	b.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: "https://login.example.com", Subject: "alice"}}}
	object, err := trimBridge(b.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	stripped := object.(*v1alpha1.HostedBridge)
	want, _ := route.Build([]*v1alpha1.HostedBridge{b}, nil).Lookup("alice")
	got, _ := route.Build([]*v1alpha1.HostedBridge{stripped}, nil).Lookup("alice")
	if got != want || len(got.Grants.Servers("NOTES")) != 1 || got.Grants.Servers("MORE") != nil {
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
