// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"crypto/ed25519"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// Signers returns the publishers whom the signatures of an object's recipe and of
// its versions name, each once: what their keys are decides what is served.
func Signers(o *v1alpha1.CatalogRecipe) []string {
	var names []string
	add := func(s *recipe.Signature) {
		if s != nil && s.PublisherID != "" && !slices.Contains(names, s.PublisherID) {
			names = append(names, s.PublisherID)
		}
	}
	if o.Spec.Recipe != nil && o.Spec.Recipe.Signature != nil {
		add(&recipe.Signature{PublisherID: o.Spec.Recipe.Signature.PublisherID})
	}
	for _, v := range o.Status.Versions {
		if !maybeSigned(v.Recipe) {
			continue
		}
		if r, _, err := ReadSource(v.Recipe); err == nil {
			add(r.Signature)
		}
	}
	return names
}

// maybeSigned spares the reading of files that cannot have the member, which may
// be spelled with escapes.
func maybeSigned(source string) bool {
	return strings.Contains(source, `"signature"`) || strings.Contains(source, `\u`)
}

// withWithdrawn returns the versions with what is known of their signatures now.
// It leaves the given ones as they are.
func withWithdrawn(versions []v1alpha1.RecipeVersion, publicKeys map[string][]string) []v1alpha1.RecipeVersion {
	versions = slices.Clone(versions)
	for i := range versions {
		versions[i].Withdrawn = isWithdrawn(versions[i].Recipe, publicKeys)
	}
	return versions
}

// isWithdrawn reports whether a recipe that was accepted once is signed, and by
// none of the keys that its publisher has now.
func isWithdrawn(source string, publicKeys map[string][]string) bool {
	if !maybeSigned(source) {
		return false
	}
	r, doc, err := ReadSource(source)
	if err != nil || r.Signature == nil {
		return false // What cannot be read is not served either.
	}
	keys := PublicKeys(publicKeys[r.Signature.PublisherID])
	return !slices.ContainsFunc(keys, func(key ed25519.PublicKey) bool { return recipe.Verify(doc, key) == nil })
}
