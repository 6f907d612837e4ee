// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"crypto/ed25519"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
)

const (
	// maxVersions is how many versions an object keeps, and maxHistory how many
	// bytes all but the newest may have: an object of the API server has at most
	// 1.5 MiB.
	maxVersions = 10
	maxHistory  = 512 << 10
	// maxProblems is how many problems a condition names.
	maxProblems = 10
	// maxMessage is how long its message may be, in bytes.
	maxMessage = 4096
)

// Verdict is what the catalog says of an object.
type Verdict struct {
	Accepted        bool
	Reason, Message string
	// Versions are what to keep of the recipe, the newest first, with which of
	// them are withdrawn now.
	Versions []v1alpha1.RecipeVersion
}

// Accept decides whether the catalog takes an object's recipe. publicKeys are
// those of each of the object's Signers, as recipe.ParseKey reads them.
func Accept(o *v1alpha1.CatalogRecipe, publicKeys map[string][]string, now time.Time) Verdict {
	v := Verdict{Versions: withWithdrawn(o.Status.Versions, publicKeys)}
	if o.Spec.Recipe == nil {
		v.Reason, v.Message = v1alpha1.ReasonRecipeMissing, "spec.recipe is not there"
		return v
	}
	r, source, found := readObject(o)
	previous, err := previousOf(o)
	if err != nil {
		found = append(found, Problem{Field: "status.versions[0]", Code: CodeInvalid, Message: err.Error()})
	}
	if len(found) == 0 {
		found = Check(r, Checks{
			Name: o.Name, Source: source, PublicKeys: PublicKeys(publicKeys[signerOf(r)]), Publisher: publisherOf(o.Spec.Owner),
			Now: now, Previous: previous,
		})
	}
	fresh := previous == nil || !Same(r, previous.Recipe)
	newest := versionOf(o, r, now)
	if len(found) == 0 && fresh {
		found = taken(newest, v.Versions)
	}
	if len(found) > 0 {
		v.Reason, v.Message = reasonOf(found), messageOf(found)
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

// taken refuses another content under the name of a version that is kept: who
// pinned it would get that.
func taken(newest v1alpha1.RecipeVersion, kept []v1alpha1.RecipeVersion) []Problem {
	for _, old := range kept {
		if old.Version == newest.Version && old.Digest != newest.Digest {
			return []Problem{{Field: "recipeVersion", Code: CodeVersion, Message: fmt.Sprintf("%.64s is a version that the catalog has with another content", old.Version)}}
		}
	}
	return nil
}

// PublicKeys returns those of the texts that are keys.
func PublicKeys(texts []string) []ed25519.PublicKey {
	var keys []ed25519.PublicKey
	for _, text := range texts {
		if key, err := recipe.ParseKey(text); err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// publisherOf returns the publisher whose signature alone will do. Recipes that
// were seeded or applied may be signed by anyone who is known.
func publisherOf(owner string) string {
	if owner == SeedOwner {
		return ""
	}
	return owner
}

// readObject returns an object's recipe and what its signature covers. What the
// author signed must be what the object says.
func readObject(o *v1alpha1.CatalogRecipe) (recipe.Recipe, *jsondoc.Value, []Problem) {
	r, err := FromObject(o.Spec.Recipe)
	if err != nil {
		return r, nil, []Problem{{Code: CodeInvalid, Message: err.Error()}}
	}
	if o.Spec.Source == "" {
		return r, nil, nil
	}
	signed, doc, err := ReadSource(o.Spec.Source)
	switch {
	case err != nil:
		return r, nil, []Problem{{Field: "spec.source", Code: CodeInvalid, Message: err.Error()}}
	case !Same(signed, r):
		return r, nil, []Problem{{Field: "spec.source", Code: CodeSignature, Message: "is another recipe than spec.recipe"}}
	}
	return r, &doc, nil
}

func previousOf(o *v1alpha1.CatalogRecipe) (*Version, error) {
	if len(o.Status.Versions) == 0 {
		return nil, nil //nolint:nilnil // Nothing was accepted before.
	}
	v := o.Status.Versions[0]
	r, _, err := ReadSource(v.Recipe)
	if err != nil {
		return nil, err
	}
	return &Version{Version: v.Version, Digest: v.Digest, At: v.AcceptedAt.Time, Recipe: r, Source: v.Recipe}, nil
}

// versionOf returns the object's recipe as a version that is accepted now.
func versionOf(o *v1alpha1.CatalogRecipe, r recipe.Recipe, now time.Time) v1alpha1.RecipeVersion {
	source := SourceOf(r)
	if o.Spec.Source != "" && r.Signature != nil {
		source = o.Spec.Source
	}
	digest := Digest(source)
	return v1alpha1.RecipeVersion{
		Version: VersionOf(r, digest), Digest: digest, Recipe: source,
		AcceptedAt: metav1.NewTime(now.UTC().Truncate(time.Second)), // The API has whole seconds.
	}
}

// withVersion puts a version before those that there were.
func withVersion(newest v1alpha1.RecipeVersion, before []v1alpha1.RecipeVersion) []v1alpha1.RecipeVersion {
	kept := []v1alpha1.RecipeVersion{newest}
	size := 0
	for _, old := range before {
		size += len(old.Recipe)
		if len(kept) == maxVersions || size > maxHistory {
			break
		}
		// A recipe without versions may come back to what it was.
		if old.Digest != newest.Digest {
			kept = append(kept, old)
		}
	}
	return kept
}

// reasonOf returns what the problems have in common.
func reasonOf(found []Problem) string {
	reason := ""
	for _, p := range found {
		this := v1alpha1.ReasonRecipeInvalid
		switch p.Code {
		case CodeSignature, CodeUnknownKey:
			this = v1alpha1.ReasonRecipeSignature
		case CodeVersion, CodeReplay:
			this = v1alpha1.ReasonRecipeVersion
		}
		if reason != "" && reason != this {
			return v1alpha1.ReasonRecipeInvalid
		}
		reason = this
	}
	return reason
}

func messageOf(found []Problem) string {
	lines := make([]string, 0, maxProblems+1)
	for i, p := range found {
		if i == maxProblems {
			lines = append(lines, fmt.Sprintf("and %d more", len(found)-i))
			break
		}
		lines = append(lines, p.String())
	}
	message := strings.Join(lines, "; ")
	if len(message) > maxMessage {
		return strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	return message
}
