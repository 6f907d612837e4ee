// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
)

// versionOf returns the wanted version of a recipe, or why it cannot be used. gone
// means that it may have existed: the object was deleted, or created again, or
// keeps only newer versions. An administrator who removes a recipe from its
// users does not do it that way.
func versionOf(o *v1alpha1.CatalogRecipe, ref v1alpha1.RecipeReference) (version v1alpha1.RecipeVersion, f bridgestate.Finding, gone bool) {
	none := v1alpha1.RecipeVersion{}
	switch {
	case o == nil:
		message := fmt.Sprintf("the catalog has no recipe %s", ref.Name)
		return none, bridgestate.Finding{Reason: v1alpha1.ReasonRecipeNotFound, Message: message}, true
	case len(o.Status.Versions) == 0:
		return none, notAccepted("recipe %s was not accepted yet%s", ref.Name, verdict(o)), true
	case o.Spec.Recipe == nil && o.Spec.Deleted == nil:
		return none, notAccepted("recipe %s was taken back: there is an overlay, and nothing below it", ref.Name), false
	case ref.Version == "":
		return served(o, o.Status.Versions[0])
	}
	known := make([]string, 0, len(o.Status.Versions))
	for _, v := range o.Status.Versions {
		if v.Version == ref.Version {
			return served(o, v)
		}
		known = append(known, v.Version)
	}
	if newest := o.Status.Versions[0]; newest.Withdrawn {
		return none, withdrawn(o, newest), false // And so may the one be that is not kept.
	}
	if o.Spec.Deleted != nil {
		return none, deleted(ref.Name), true
	}
	return none, bridgestate.Finding{Reason: v1alpha1.ReasonRecipeVersionUnknown, Message: fmt.Sprintf(
		"the catalog does not have version %s of recipe %s; it must be one of: %s", ref.Version, ref.Name, strings.Join(known, ", "))}, true
}

func notAccepted(format string, args ...any) bridgestate.Finding {
	return bridgestate.Finding{Reason: v1alpha1.ReasonRecipeNotAccepted, Message: fmt.Sprintf(format, args...)}
}

// served returns the version, unless it was withdrawn: that is a fact of the
// version alone. A recipe that its publisher deleted has versions too.
func served(o *v1alpha1.CatalogRecipe, v v1alpha1.RecipeVersion) (v1alpha1.RecipeVersion, bridgestate.Finding, bool) {
	if v.Withdrawn {
		return v1alpha1.RecipeVersion{}, withdrawn(o, v), false
	}
	if o.Spec.Deleted != nil {
		return v1alpha1.RecipeVersion{}, deleted(o.Name), true
	}
	return v, bridgestate.Finding{}, false
}

func deleted(name string) bridgestate.Finding {
	return bridgestate.Finding{Reason: v1alpha1.ReasonRecipeNotFound, Message: fmt.Sprintf("recipe %s was deleted by its publisher", name)}
}

func withdrawn(o *v1alpha1.CatalogRecipe, v v1alpha1.RecipeVersion) bridgestate.Finding {
	return notAccepted("version %s of recipe %s is not served any more: it was withdrawn%s", v.Version, o.Name, verdict(o))
}

// verdict returns the condition's objection to a recipe.
func verdict(o *v1alpha1.CatalogRecipe) string {
	c := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionRecipeAccepted)
	if c == nil || c.Status == metav1.ConditionTrue {
		return ""
	}
	return ": " + c.Message
}
