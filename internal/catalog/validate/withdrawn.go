// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"crypto/ed25519"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// Signers returns the publishers that the signatures of an object's recipe and
// of its versions name, each once: their keys decide what is served.
func Signers(o *v1alpha1.CatalogRecipe) []string {
	var names []string
	add := func(s *recipe.Signature) {
		if s != nil && s.PublisherID != "" && !slices.Contains(names, s.PublisherID) {
			names = append(names, s.PublisherID)
		}
	}
	if o.Spec.Recipe != nil {
		add(o.Spec.Recipe.Signature)
	}
	for _, v := range o.Status.Versions {
		if !maybeSigned(v.Recipe) {
			continue
		}
		if kept, _, err := catalog.ReadVersion(v); err == nil {
			add(kept.Recipe.Signature)
		}
	}
	return names
}

// maybeSigned avoids reading files that cannot have the member, which may be
// spelled with escapes.
func maybeSigned(source string) bool {
	return strings.Contains(source, `"signature"`) || strings.Contains(source, `\u`)
}

// withWithdrawn returns the versions with the current state of their
// signatures. It does not change the given ones.
func withWithdrawn(versions []v1alpha1.RecipeVersion, publicKeys map[string][]string) []v1alpha1.RecipeVersion {
	versions = slices.Clone(versions)
	for i := range versions {
		versions[i].Withdrawn = isWithdrawn(versions[i], publicKeys)
	}
	return versions
}

// isWithdrawn reports whether an accepted recipe is signed, and by none of the
// keys that its publisher has now.
func isWithdrawn(v v1alpha1.RecipeVersion, publicKeys map[string][]string) bool {
	if !maybeSigned(v.Recipe) {
		return false
	}
	kept, doc, err := catalog.ReadVersion(v)
	if err != nil || kept.Recipe.Signature == nil {
		return false // An unreadable recipe is not served either.
	}
	keys := catalog.PublicKeys(publicKeys[kept.Recipe.Signature.PublisherID])
	return !slices.ContainsFunc(keys, func(key ed25519.PublicKey) bool { return recipe.Verify(doc, key) == nil })
}
