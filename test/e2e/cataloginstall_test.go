// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// catalogIsInstalled goes the whole way: published, looked at, named by two
// bridges, given its secret, called, counted, changed and deprecated.
func catalogIsInstalled(t *testing.T) {
	p, name, boss := newPublisher(t, "maker"), installed.name("installed"), admin(t)
	first := p.mustPublish(t, name, p.signed(t, remote(name, left, "1.0.0")))
	boss.must(t, http.StatusCreated, http.MethodPut, "/admin/recipes/"+name+"/quality", `{"verified":true,"score":90}`)
	awaitRead(t, "/recipes?verified=true&owner="+p.id, mentions(name))

	follows, pins := newOfRecipe(t, "follower", name, ""), newOfRecipe(t, "pinned", name, "1.0.0")
	both := []tenant{follows, pins}
	tokens := map[string]string{}
	for _, n := range both {
		missing := awaitSecrets(t, n, metav1.ConditionFalse, v1alpha1.ReasonSecretsMissing).Message
		if !strings.Contains(missing, left.secret) || !strings.Contains(missing, "https://example.com/"+name+"/keys") {
			t.Errorf("the missing secret is not named, or not where it comes from: %s", missing)
		}
		awaitOutOfService(t, n, left)
		where := newCurl(n.key.secret).must(t, http.StatusOK, http.MethodGet, "/u/"+n.name+"/servers", "")
		if !strings.Contains(string(where.body), `"url":"https://example.com/`+name+`/keys"`) || !strings.Contains(string(where.body), `"state":"not_set"`) {
			t.Errorf("the user does not see where the secret comes from: %s", where.body)
		}
		tokens[n.name] = left.token(t)
		mustPut(t, n, left.secret, tokens[n.name], http.StatusCreated)
	}
	for _, n := range both {
		awaitEdition(t, n, tokens[n.name], "1.0.0")
	}
	wait.NoError(t, wait.Limit, "the calls are counted", func(context.Context) error {
		return counted(t, boss, name)
	})

	pod := bridgePod(t, pins.uid)
	revision := `"` + first.Revision + `"`
	if a := p.ask(t, http.MethodPut, "/recipes/"+name, p.signed(t, remote(name, left, "2.0.0")), "If-Match", revision); a.status != http.StatusPreconditionFailed {
		t.Errorf("with the revision before the overlay: status %d", a.status)
	}
	revision = p.must(t, http.StatusOK, http.MethodGet, "/recipes/"+name, "").header.Get("Etag")
	p.must(t, http.StatusOK, http.MethodPut, "/recipes/"+name, p.signed(t, remote(name, left, "2.0.0")), "If-Match", revision)
	awaitEdition(t, follows, tokens[follows.name], "2.0.0")
	if saw := awaitPresented(t, pins, left, tokens[pins.name]); !slices.Equal(saw.Headers[edition], []string{apikey.HashOf("1.0.0").String()}) {
		t.Errorf("the pinned server has another version: headers %v", saw.Headers)
	}
	isSamePod(t, pins, pod)

	p.must(t, http.StatusOK, http.MethodPut, "/recipes/"+name+"/deprecation", `{"reason":"Use another."}`)
	for _, n := range both {
		wait.NoError(t, wait.Limit, "it is said that the recipe of "+n.name+" is deprecated", func(ctx context.Context) error {
			b, err := getBridge(ctx, n.name)
			if err != nil {
				return err
			}
			c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionAccepted)
			if c == nil || c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "Use another.") {
				return fmt.Errorf("conditions are %s", describe(b.Status.Conditions))
			}
			return nil
		})
		awaitPresented(t, n, left, tokens[n.name])
	}
}

// newOfRecipe makes a tenant with a server of the recipe, beside one that needs
// nothing.
func newOfRecipe(t *testing.T, short, name, version string) tenant {
	t.Helper()
	n := tenant{name: installed.name(short), key: mint(t)}
	b := bridge(n.name, []credential{n.key}, "open")
	b.Spec.Servers = append(b.Spec.Servers, v1alpha1.Server{
		Name: left.name, Recipe: &v1alpha1.RecipeReference{Name: name, Version: version},
	})
	n.uid = create(t, b)
	awaitReady(t, n.name)
	return n
}

// awaitEdition waits until the server of the tenant's recipe is called as a version
// of the recipe says.
func awaitEdition(t *testing.T, n tenant, token, version string) {
	t.Helper()
	c := newHTTPClient(false)
	wait.NoError(t, wait.Limit, "the server of "+n.name+" is that of version "+version, func(ctx context.Context) error {
		if err := presents(ctx, c, n, left, token); err != nil {
			return err
		}
		saw, err := whoami(ctx, c, n, left)
		if err != nil {
			return err
		}
		if !slices.Equal(saw.Headers[edition], []string{apikey.HashOf(version).String()}) {
			return fmt.Errorf("the headers are %v", saw.Headers)
		}
		return nil
	})
}

// counted looks for the recipe among those that were called. Each replica counts
// what went through itself.
func counted(t *testing.T, boss curl, name string) error {
	t.Helper()
	for range 6 {
		var figures struct {
			Totals  struct{ Users, Recipes, Publishers int }
			Calls   struct{ Total int }
			Recipes []struct {
				Recipe string
				Calls  int
			}
		}
		a := curl{newHTTPClient(false), boss.key}.must(t, http.StatusOK, http.MethodGet, "/admin/analytics?top=100", "")
		a.into(t, &figures)
		for _, r := range figures.Recipes {
			if r.Recipe == name && r.Calls > 0 && figures.Calls.Total >= r.Calls && figures.Totals.Users >= 2 &&
				figures.Totals.Recipes > len(seededRecipes(t)) && figures.Totals.Publishers > 0 {
				return nil
			}
		}
	}
	return fmt.Errorf("no replica has counted a call of recipe %s", name)
}
