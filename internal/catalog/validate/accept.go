// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

const (
	// maxVersions is how many versions an object keeps, and maxHistory how many
	// bytes all but the newest may take: an object of the API server has at
	// most 1.5 MiB.
	maxVersions = 10
	maxHistory  = 512 << 10
)

// Verdict is the catalog's decision about an object.
type Verdict struct {
	Accepted        bool
	Reason, Message string
	// Versions are the versions to keep of the recipe, the newest first, with
	// the mark of those that are withdrawn now.
	Versions []v1alpha1.RecipeVersion
}

// Accept decides whether the catalog accepts an object's recipe. publicKeys are
// those of each of the object's Signers, as recipe.ParseKey reads them.
func Accept(o *v1alpha1.CatalogRecipe, publicKeys map[string][]string, now time.Time) Verdict {
	v := Verdict{Versions: withWithdrawn(o.Status.Versions, publicKeys)}
	if o.Spec.Recipe == nil {
		v.Reason, v.Message = v1alpha1.ReasonRecipeMissing, "spec.recipe is not there"
		return v
	}
	r := o.Spec.Recipe.Recipe
	source, found := signedSource(o, r)
	previous, err := previousOf(o)
	if err != nil {
		found = append(found, catalog.Problem{Field: "status.versions[0]", Code: catalog.CodeInvalid, Message: err.Error()})
	}
	checks := Checks{
		Name: o.Name, Source: source, PublicKeys: catalog.PublicKeys(publicKeys[signerOf(r)]), Publisher: publisherOf(o.Spec.Owner),
		Now: now, Previous: previous,
	}
	if len(found) > 0 {
		checks.Previous = nil // What its signer did not write is no version to compare.
	}
	found = append(found, Check(r, checks)...)
	fresh := previous == nil || !catalog.Same(r, previous.Recipe)
	newest := versionOf(o, r, now)
	if len(found) == 0 && fresh {
		found = taken(newest, v.Versions)
	}
	if len(found) > 0 {
		v.Reason, v.Message = reasonOf(found), catalog.MessageOf(found)
		return v
	}
	v.Accepted, v.Reason, v.Message = true, v1alpha1.ReasonRecipeValid, "the recipe is served"
	if fresh {
		v.Versions = withVersion(newest, v.Versions)
	}
	return v
}

func signerOf(r recipe.Recipe) string {
	if r.Signature == nil {
		return ""
	}
	return r.Signature.PublisherID
}

// taken refuses other content under the name of a stored version: users who
// pinned it would get that content.
func taken(newest v1alpha1.RecipeVersion, kept []v1alpha1.RecipeVersion) []catalog.Problem {
	for _, old := range kept {
		if old.Version == newest.Version && old.Digest != newest.Digest {
			return []catalog.Problem{{Field: "recipeVersion", Code: catalog.CodeVersion, Message: fmt.Sprintf("%.64s is a version that the catalog has with another content", old.Version)}}
		}
	}
	return nil
}

// publisherOf returns the publisher whose signature is required. Recipes that
// were seeded or applied may be signed by any known publisher.
func publisherOf(owner string) string {
	if owner == catalog.SeedOwner {
		return ""
	}
	return owner
}

// signedSource returns what the signature of an object's recipe covers. The
// signed text and the object must say the same.
func signedSource(o *v1alpha1.CatalogRecipe, r recipe.Recipe) (*jsondoc.Value, []catalog.Problem) {
	if o.Spec.Source == "" {
		return nil, nil
	}
	signed, doc, err := catalog.ReadSource(o.Spec.Source)
	switch {
	case err != nil:
		return nil, []catalog.Problem{{Field: "spec.source", Code: catalog.CodeInvalid, Message: err.Error()}}
	case !catalog.Same(signed, r):
		return &doc, []catalog.Problem{{Field: "spec.source", Code: catalog.CodeSignature, Message: "is another recipe than spec.recipe"}}
	}
	return &doc, nil
}

func previousOf(o *v1alpha1.CatalogRecipe) (*catalog.Version, error) {
	if len(o.Status.Versions) == 0 {
		return nil, nil //nolint:nilnil // Nothing was accepted before.
	}
	v, _, err := catalog.ReadVersion(o.Status.Versions[0])
	if err != nil {
		return nil, err
	}
	return &v, nil
}

// versionOf returns the object's recipe as a version that is accepted now.
func versionOf(o *v1alpha1.CatalogRecipe, r recipe.Recipe, now time.Time) v1alpha1.RecipeVersion {
	source := catalog.FileOf(r, o.Spec.Source)
	digest := catalog.Digest(source)
	return v1alpha1.RecipeVersion{
		Version: catalog.VersionOf(r, digest), Digest: digest, Recipe: source,
		AcceptedAt: metav1.NewTime(now.UTC().Truncate(time.Second)), // The API has whole seconds.
	}
}

// withVersion puts a version before the earlier ones.
func withVersion(newest v1alpha1.RecipeVersion, before []v1alpha1.RecipeVersion) []v1alpha1.RecipeVersion {
	kept := []v1alpha1.RecipeVersion{newest}
	size := 0
	for _, old := range before {
		size += len(old.Recipe)
		if len(kept) == maxVersions || size > maxHistory {
			break
		}
		// A recipe without versions may return to an earlier content.
		if old.Digest != newest.Digest {
			kept = append(kept, old)
		}
	}
	return kept
}

// reasonOf returns the common reason of the problems.
func reasonOf(found []catalog.Problem) string {
	reason := ""
	for _, p := range found {
		this := v1alpha1.ReasonRecipeInvalid
		switch p.Code {
		case catalog.CodeSignature, catalog.CodeUnknownKey:
			this = v1alpha1.ReasonRecipeSignature
		case catalog.CodeVersion, catalog.CodeReplay:
			this = v1alpha1.ReasonRecipeVersion
		}
		if reason != "" && reason != this {
			return v1alpha1.ReasonRecipeInvalid
		}
		reason = this
	}
	return reason
}
