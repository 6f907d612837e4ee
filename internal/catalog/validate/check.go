// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validate has the rules that a recipe must obey to be in the catalog,
// and decides which versions of a recipe are served.
//
// The package is pure: objects, keys and times are arguments.
package validate

import (
	"crypto/ed25519"
	"regexp"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// Checks are what a recipe is checked against. The zero value checks the recipe
// by itself.
type Checks struct {
	// Name is the required name of the recipe; empty accepts any.
	Name string
	// Source is the recipe as its author wrote it, which a signature covers.
	// Without it the recipe is used as the program writes it.
	Source *jsondoc.Value
	// PublicKeys are those of the publisher that the signature names; one of
	// them must have made it.
	PublicKeys []ed25519.PublicKey
	// Publisher is the required signer; empty accepts any.
	Publisher string
	// Now is the upper bound of a signature's time; the zero time means no
	// bound.
	Now time.Time
	// Previous is the version that was accepted last, nil for none. A recipe
	// with the same content is not a new one and may have its version.
	Previous *catalog.Version
}

// digits matches VersionOf's names for recipes without a version.
var digits = regexp.MustCompile(`^[0-9a-f]{12}$`)

// numbered matches versions that begin with numbers.
var numbered = regexp.MustCompile(`^v?[0-9]+(\.[0-9]+)*([-+.].*)?$`)

// clockSkew is how far a signer's clock may be ahead.
const clockSkew = 10 * time.Minute

// Check returns all reasons why the catalog refuses the recipe.
func Check(r recipe.Recipe, c Checks) []catalog.Problem {
	var p collector
	p.checkRecipe(r, c)
	return p.all()
}

func (p *collector) checkRecipe(r recipe.Recipe, c Checks) {
	for _, found := range recipe.Validate(r) {
		p.addFound(found, catalog.CodeInvalid, found.Message)
	}
	if c.Name != "" && r.ID != c.Name {
		p.add("id", catalog.CodeName, "must be %s, the name under which the recipe is written", c.Name)
	}
	p.checkVersionName(r, c.Previous)
	if !recipe.Oversized(r) {
		p.checkSafe(r)
		p.checkPinned(r)
	}
	if r.Signature != nil {
		p.checkSignature(r, c)
	}
	if c.Previous != nil && !catalog.Same(r, c.Previous.Recipe) {
		p.checkNewer(r, *c.Previous)
	}
}

// checkVersionName refuses versions that cannot be ordered. A recipe whose last
// version has no number keeps such names: every number is lower than a word.
func (p *collector) checkVersionName(r recipe.Recipe, previous *catalog.Version) {
	switch {
	case digits.MatchString(r.RecipeVersion):
		p.add("recipeVersion", catalog.CodeInvalid, "must not be 12 hexadecimal digits: so the catalog names recipes without a version")
	case r.RecipeVersion == "" || numbered.MatchString(r.RecipeVersion):
	case previous == nil || previous.Recipe.RecipeVersion == "" || numbered.MatchString(previous.Recipe.RecipeVersion):
		p.add("recipeVersion", catalog.CodeInvalid, "must begin with numbers, such as 1.2.0: the catalog orders versions by them")
	}
}

// Parse reads a recipe in any of the formats and checks it. Unknown members of
// a recipe are refused: their author believes that they have an effect. In a
// server.json, a format of others, they are warnings.
func Parse(b []byte, c Checks) (recipe.Document, []catalog.Problem) {
	d, found, err := recipe.Read(b)
	if err != nil {
		return recipe.Document{}, []catalog.Problem{{Code: catalog.CodeSyntax, Message: err.Error()}}
	}
	var p collector
	for _, f := range found {
		switch {
		case !f.Unknown:
			p.addFound(f, catalog.CodeInvalid, f.Message)
		case d.Format == recipe.ServerJSON:
			d.Warnings = append(d.Warnings, f.String()+", ignored")
		default:
			p.addFound(f, catalog.CodeUnknownField, "is not a field of a recipe")
		}
	}
	if d.Format == recipe.V2 {
		c.Source = &d.Source
	}
	p.checkRecipe(d.Recipe, c)
	return d, p.all()
}

func (p *collector) checkSignature(r recipe.Recipe, c Checks) {
	if c.Publisher != "" && r.Signature.PublisherID != c.Publisher {
		p.add("signature.publisherId", catalog.CodeSignature, "must be %s, who owns the recipe", c.Publisher)
	}
	at, err := recipe.SignedAt(*r.Signature)
	switch {
	case err != nil:
		p.add("signature.signedAt", catalog.CodeSignature, "is not a time such as 2026-01-02T15:04:05Z")
	case !c.Now.IsZero() && at.After(c.Now.Add(clockSkew)):
		p.add("signature.signedAt", catalog.CodeSignature, "lies in the future")
	}
	if len(c.PublicKeys) == 0 {
		p.add("signature", catalog.CodeUnknownKey, "publisher %.64q has no public key here by which to check it: register one, or leave the signature out", r.Signature.PublisherID)
		return
	}
	doc, err := document(r, c)
	if err != nil {
		p.add("signature", catalog.CodeSignature, "cannot be checked: %v", err)
		return
	}
	for _, key := range c.PublicKeys {
		if err = recipe.Verify(doc, key); err == nil {
			return
		}
	}
	p.add("signature", catalog.CodeSignature, "%v", err)
}

// document returns what a signature covers.
func document(r recipe.Recipe, c Checks) (jsondoc.Value, error) {
	if c.Source != nil {
		return *c.Source, nil
	}
	return jsondoc.Encode(r)
}

// checkNewer refuses earlier content that comes as new: an older recipe, and
// another one under the same version, which users who pinned it would get.
func (p *collector) checkNewer(r recipe.Recipe, previous catalog.Version) {
	before := previous.Recipe
	switch {
	case before.RecipeVersion == "":
	case r.RecipeVersion == "":
		p.add("recipeVersion", catalog.CodeVersion, "is required, as the recipe had %.64s before", before.RecipeVersion)
	case catalog.CompareVersions(r.RecipeVersion, before.RecipeVersion) <= 0:
		p.add("recipeVersion", catalog.CodeVersion, "must be higher than %.64s, which the catalog has with another content", before.RecipeVersion)
	}
	if before.Signature == nil {
		return
	}
	if r.Signature == nil {
		p.add("signature", catalog.CodeSignature, "is required, as the recipe was signed before")
		return
	}
	now, err := recipe.SignedAt(*r.Signature)
	then, errBefore := recipe.SignedAt(*before.Signature)
	if err == nil && errBefore == nil && !now.After(then) {
		p.add("signature.signedAt", catalog.CodeReplay, "must be later than %s, when the version before was signed", then.UTC().Format(time.RFC3339))
	}
}
