// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package sealing_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// resolve writes what the operator would of the bridge's only server.
func (f *fixture) resolve(t *testing.T, b *v1alpha1.HostedBridge, source string, secrets ...string) {
	t.Helper()
	recipe := v1alpha1.RecipeStatus{Server: "mine", Recipe: "notes", Reason: v1alpha1.ReasonRecipeInUse, Source: source, Secrets: secrets}
	status := apply.Status(v1alpha1.HostedBridgeStatus{Recipes: []v1alpha1.RecipeStatus{recipe}})
	object := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}
	must.Succeed(t, f.Status().Patch(t.Context(), object, status, client.FieldOwner(v1alpha1.FieldOwnerOperator), client.ForceOwnership))
}

func TestSecretsOfARecipeAreMissedLikeThoseOfTheSpec(t *testing.T) {
	f := newFixture(t)
	b := f.bridge(t, "alice")
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) {
		s.Servers = []v1alpha1.Server{{Name: "mine", Recipe: &v1alpha1.RecipeReference{Name: "notes"}}}
	})
	if s := f.reconcile(t, b); s.ObservedRecipes != "" || len(s.Missing) != 0 {
		t.Errorf("before the operator has looked at the recipe: %+v", s)
	}
	f.resolve(t, b, `{"transport":"streamable-http","url":"https://a","headers":[{"name":"X","value":"${NOTES_TOKEN} ${NOTES_LANG:-en}"}]}`, "NOTES_TOKEN", "NOTES_LANG")
	s := f.reconcile(t, b)
	if diff := cmp.Diff([]string{"NOTES_TOKEN"}, s.Missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if want := bridgestate.SecretsBesideSpec(effective.Of(b)); want == "" || s.ObservedRecipes != want {
		t.Errorf("the report is about %q, want %q", s.ObservedRecipes, want)
	}
	f.set(t, b, "NOTES_TOKEN", "value")
	if s := f.reconcile(t, b); len(s.Missing) != 0 || s.Count != 1 {
		t.Errorf("after it was set: %+v", s)
	}
	f.resolve(t, b, "", "NOTES_TOKEN")
	f.set(t, b, "OTHER", "value")
	if s := f.reconcile(t, b); len(s.Missing) != 0 {
		t.Errorf("of a server that is out of service for its recipe: %+v", s)
	}
}

func TestARecipesSecretsAreReportedWhenTheOperatorNamesThem(t *testing.T) {
	f := newFixture(t)
	f.start(t)
	b := f.bridge(t, "alice")
	f.change(t, b, func(s *v1alpha1.HostedBridgeSpec) {
		s.Servers = []v1alpha1.Server{{Name: "mine", Recipe: &v1alpha1.RecipeReference{Name: "notes"}}}
	})
	wait.Until(t, "the spec is reported on", func() bool {
		testenv.ExpectExists(t, f.Client, b)
		return b.Status.Secrets != nil && b.Status.Secrets.ObservedGeneration == b.Generation
	})
	f.resolve(t, b, `{"transport":"streamable-http","url":"https://a","headers":[{"name":"X","value":"${NOTES_TOKEN}"}]}`, "NOTES_TOKEN")
	wait.Until(t, "the recipe's secret is missed", func() bool {
		testenv.ExpectExists(t, f.Client, b)
		return len(b.Status.Secrets.Missing) == 1 && b.Status.Secrets.ObservedRecipes == bridgestate.SecretsBesideSpec(effective.Of(b))
	})
}
