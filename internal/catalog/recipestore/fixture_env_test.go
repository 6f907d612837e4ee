// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package recipestore

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestMain(m *testing.M) { os.Exit(testenv.MainOfController(m)) }

// fixture is a catalog of its own.
type fixture struct {
	*Store

	t         *testing.T
	api       client.Client
	namespace string
}

// start makes a catalog of the test's own. The store has the rights of the
// ingress alone.
func start(t *testing.T) *fixture {
	t.Helper()
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	testenv.ExpectInstalled(t, c, rights, namespace)
	testenv.ExpectInstalled(t, c, policy, namespace)
	return startIn(t, ingressConfig(), namespace)
}

// What an installation has for the ingress.
const (
	rights = "../../../config/rbac/ingress.yaml"
	policy = "../../../config/rbac/catalog-admission.yaml"
)

// ingressConfig is how the ingress reaches the API server.
func ingressConfig() *rest.Config {
	config := testenv.Config()
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:hosted-bridge-system:hosted-bridge-ingress",
		Groups:   []string{"system:serviceaccounts", "system:authenticated"},
	}
	return config
}

// startIn runs a replica on a catalog.
func startIn(t *testing.T, config *rest.Config, namespace string) *fixture {
	t.Helper()
	s := must.Value(New(config, Options{Namespace: namespace, Random: rand.Reader, Now: time.Now, Log: slog.New(slog.DiscardHandler)}))(t)
	testenv.Run(t, s.Run)
	f := &fixture{Store: s, t: t, api: testenv.Client(t), namespace: namespace}
	f.await("the first list", s.Synced)
	return f
}

// await returns when the store shows what is expected.
func (f *fixture) await(what string, fulfilled func() bool) {
	f.t.Helper()
	deadline := time.After(wait.Limit)
	for {
		changed := f.Changed()
		if fulfilled() {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			f.t.Fatalf("never seen: %s", what)
		}
	}
}

// valid returns a recipe with which nothing is wrong.
func valid(id string) recipe.Recipe {
	return recipe.Recipe{
		SchemaVersion: 2, ID: id, Name: "Notes", Description: "Keeps notes", Repository: "https://example.com/notes", RecipeVersion: "1.0.0",
		Transports: []recipe.Transport{{Type: recipe.Stdio, Command: "npx", Args: []string{"-y", "@example/notes@1.2.3"}}},
		Install:    &recipe.Install{Method: "npx", Package: "@example/notes", Version: "1.2.3"},
		Metadata:   recipe.Metadata{Category: "productivity", License: "MIT", Tags: []string{"notes"}},
	}
}

func draft(owner string, r recipe.Recipe) catalog.Draft {
	return catalog.Draft{Name: r.ID, Owner: owner, Recipe: r}
}

// put replaces a recipe by the draft, whatever is there.
func put(d catalog.Draft, ifMatch string, dryRun bool) catalog.Replacement {
	return catalog.Replacement{
		Name: d.Name, Owner: d.Owner, IfMatch: ifMatch, DryRun: dryRun,
		Draft: func(catalog.Entry) (catalog.Draft, error) { return d, nil },
	}
}

// create publishes a recipe and returns it.
func (f *fixture) create(d catalog.Draft) catalog.Entry {
	f.t.Helper()
	return must.Value(f.CreateRecipe(f.t.Context(), put(d, "", false)))(f.t)
}

// object reads a recipe's object.
func (f *fixture) object(name string) *v1alpha1.CatalogRecipe {
	f.t.Helper()
	o := &v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
	testenv.ExpectExists(f.t, f.api, o)
	return o
}

func (f *fixture) read(name string) catalog.Entry {
	f.t.Helper()
	return must.Value(catalog.EntryOf(f.object(name)))(f.t)
}

// judge says of a recipe what the operator would.
func (f *fixture) judge(name string) catalog.Entry {
	f.t.Helper()
	o := f.object(name)
	v := validate.Accept(o, nil, time.Now())
	o.Status.Versions, o.Status.ObservedGeneration = v.Versions, o.Generation
	status := metav1.ConditionFalse
	if v.Accepted {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&o.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionRecipeAccepted, Status: status, Reason: v.Reason, Message: v.Message, ObservedGeneration: o.Generation,
	})
	must.Succeed(f.t, f.api.Status().Update(f.t.Context(), o, client.FieldOwner(v1alpha1.FieldOwnerOperator)))
	return f.read(name)
}

// kubectl changes a recipe as somebody does with other tools.
func (f *fixture) kubectl(name string, change func(*v1alpha1.CatalogRecipeSpec)) {
	f.t.Helper()
	o := f.object(name)
	before := o.DeepCopy()
	change(&o.Spec)
	must.Succeed(f.t, f.api.Patch(f.t.Context(), o, client.MergeFrom(before), client.FieldOwner("kubectl-edit")))
}

// managers returns who holds what of the object, as text, without the operator.
func managers(o *v1alpha1.CatalogRecipe) map[string]string {
	held := map[string]string{}
	for _, entry := range o.ManagedFields {
		if entry.Subresource == "" {
			held[fmt.Sprintf("%s %s", entry.Manager, entry.Operation)] = string(entry.FieldsV1.GetRawBytes())
		}
	}
	return held
}

// expectHeld compares who holds the parts of the spec.
func expectHeld(t *testing.T, o *v1alpha1.CatalogRecipe, want map[string][]string) {
	t.Helper()
	held := managers(o)
	for manager, fields := range want {
		for _, field := range []string{"recipe", "source", "owner", "deprecated", "deleted", "quality"} {
			holds := strings.Contains(held[manager], `"f:`+field+`":`)
			expected := false
			for _, w := range fields {
				expected = expected || w == field
			}
			if holds != expected {
				t.Errorf("%s holds %s: %t, want %t: %s", manager, field, holds, expected, held[manager])
			}
		}
		delete(held, manager)
	}
	for manager, fields := range held {
		if strings.Contains(fields, "f:spec") {
			t.Errorf("%s holds %s", manager, fields)
		}
	}
}

func keyOf(o client.Object) client.ObjectKey { return client.ObjectKeyFromObject(o) }
