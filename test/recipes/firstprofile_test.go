// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipes

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/resolve"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestTheFirstProfileOffersRecipesThatBridgesCanRun compares the profile that `make up` applies with
// the recipes: one that is gone would pause the profile, and nobody would be offered anything.
func TestTheFirstProfileOffersRecipesThatBridgesCanRun(t *testing.T) {
	var p v1alpha1.BridgeProfile
	must.Succeed(t, yaml.UnmarshalStrict(must.Value(os.ReadFile("../../config/samples/first-profile.yaml"))(t), &p))
	offered := map[string]bool{}
	for _, s := range p.Spec.Servers {
		if s.Use != v1alpha1.ServerOptional || s.Recipe == nil || s.Recipe.Name != s.Name {
			t.Errorf("%s is not an offer of its recipe", s.Name)
		}
		offered[s.Name] = true
	}
	if !p.Spec.Who.Everyone || len(offered) == 0 {
		t.Errorf("the profile is for %+v and offers %d servers", p.Spec.Who, len(offered))
	}
	each(t, func(t *testing.T, id string, content []byte) {
		if !offered[id] {
			return
		}
		delete(offered, id)
		if _, hosted := resolve.Hosted(mustParse(t, id, content).Recipe); !hosted {
			t.Error("bridges cannot run it")
		}
	})
	if len(offered) > 0 {
		t.Errorf("there are no recipes for %v", offered)
	}
}
