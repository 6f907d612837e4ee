// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package watch

import (
	"errors"
	"log/slog"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/internal/catalog/usage"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// TestBridgesHaveWhatIsCounted leaves out of bridges nothing that figures are
// made of.
func TestBridgesHaveWhatIsCounted(t *testing.T) {
	for name, among := range map[string]func(namespace string) namespaces.Set{
		"of all namespaces": func(string) namespaces.Set { return nil },
		"of two namespaces": func(namespace string) namespaces.Set {
			return namespaces.Set{namespace, metav1.NamespaceDefault}
		},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := testenv.Namespace(t, testenv.Client(t))
			expectCounted(t, namespace, among(namespace))
		})
	}
}

func expectCounted(t *testing.T, namespace string, watched namespaces.Set) {
	t.Helper()
	c := testenv.Client(t)
	w := must.Value(New(testenv.Config(), watched, "hosted-bridge-system", bundling.Package, slog.New(slog.DiscardHandler)))(t)
	if _, err := w.Bridges(t.Context()); !errors.Is(err, ErrUnknown) {
		t.Errorf("before anything is known: %v", err)
	}
	if restored, err := route.Restore(route.Content{}); err != nil || !w.Restore(restored, metav1.Now().Time) {
		t.Fatal(err)
	}
	if _, err := w.Bridges(t.Context()); !errors.Is(err, ErrUnknown) {
		t.Errorf("with a table of another time: %v", err)
	}
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "alice"},
		Spec:       v1alpha1.HostedBridgeSpec{Servers: []v1alpha1.Server{{Name: "gh", Recipe: &v1alpha1.RecipeReference{Name: "github"}}}},
	}
	b.Spec.UserID = v1alpha1.UserID(b.Namespace)
	testenv.ExpectApplied(t, c, b)
	b.Status.Phase = v1alpha1.PhaseFailed
	must.Succeed(t, c.Status().Update(t.Context(), b))
	run(t, w)
	await(t, w, "the bridge", func(table *route.Table) bool { _, ok := table.Lookup(b.Spec.UserID); return ok })
	bridges := must.Value(w.Bridges(t.Context()))(t)
	var ours []*effective.Bridge
	for _, found := range bridges {
		if found.Namespace == b.Namespace {
			ours = append(ours, found)
		}
	}
	has := usage.Of(ours)
	if has.Users != 1 || has.Phases[v1alpha1.PhaseFailed] != 1 {
		t.Errorf("%+v", has)
	}
	if top := has.TopRecipes(nil, 1); len(top) != 1 || top[0].Recipe != "github" || top[0].Bridges != 1 {
		t.Errorf("recipes %+v", top)
	}
}
