// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"crypto/ed25519"
	"regexp"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
)

// Problem is one thing for which the catalog does not take a recipe.
type Problem struct {
	// Field is where, such as transports[0].url; empty for the whole recipe.
	Field   string `json:"field"`
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// String returns the problem as one line.
func (p Problem) String() string {
	return jsondoc.Problem{Path: p.Field, Message: p.Message}.String()
}

// Code is what a problem is of, for programs. It is stable.
type Code string

// The codes.
const (
	// CodeSyntax is that there is no JSON object, or one that is too long.
	CodeSyntax Code = "syntax"
	// CodeUnknownField is a member that the format does not have.
	CodeUnknownField Code = "unknown_field"
	// CodeInvalid is a value that the format does not allow.
	CodeInvalid Code = "invalid"
	// CodeName is an id that is not the name under which the recipe is to be.
	CodeName Code = "name_mismatch"
	// CodeUnpinned is what may be another program tomorrow.
	CodeUnpinned Code = "unpinned"
	// CodeDrift is that a command runs another program than install says.
	CodeDrift Code = "drift"
	// CodeHook is a command that an installer would run.
	CodeHook Code = "shell_hook"
	// CodeShell is a server that is started by way of a shell.
	CodeShell Code = "shell"
	// CodeSecret is a credential where a variable belongs.
	CodeSecret Code = "secret_value"
	// CodePlainHTTP is a remote server without TLS.
	CodePlainHTTP Code = "plain_http"
	// CodeSignature is that the signature is not one of the publisher over this
	// recipe; CodeUnknownKey that the publisher has no public key to tell by.
	CodeSignature  Code = "signature_invalid"
	CodeUnknownKey Code = "signature_unknown_key"
	// CodeVersion is that the version is not higher than the one before, or has
	// none where that one had; CodeReplay that the signature is older.
	CodeVersion Code = "version_not_newer"
	CodeReplay  Code = "replayed"
)

// Checks is what a recipe is checked against. The zero value checks the recipe
// by itself.
type Checks struct {
	// Name is under which the recipe is to be; empty is any.
	Name string
	// Source is the recipe as its author wrote it, which is what a signature
	// covers. Without it the recipe is taken as the program writes it.
	Source *jsondoc.Value
	// PublicKeys are those of the publisher that the signature names, one of
	// which must have made it.
	PublicKeys []ed25519.PublicKey
	// Publisher is whose signature alone will do; empty is anyone's.
	Publisher string
	// Now bounds a signature's time from above; the zero time bounds nothing.
	Now time.Time
	// Previous is the version that was accepted last, nil for none. A recipe
	// that says the same is not a new one and may have its version.
	Previous *Version
}

// digits is how VersionOf names a recipe without a version.
var digits = regexp.MustCompile(`^[0-9a-f]{12}$`)

// clockSkew is how far a signer's clock may be ahead.
const clockSkew = 10 * time.Minute

// Check returns all for which the catalog does not take the recipe.
func Check(r recipe.Recipe, c Checks) []Problem {
	var p problems
	p.check(r, c)
	return p.all()
}

func (p *problems) check(r recipe.Recipe, c Checks) {
	for _, found := range r.Validate() {
		p.take(found, CodeInvalid, found.Message)
	}
	if c.Name != "" && r.ID != c.Name {
		p.add("id", CodeName, "must be %s, the name under which the recipe is written", c.Name)
	}
	if digits.MatchString(r.RecipeVersion) {
		p.add("recipeVersion", CodeInvalid, "must not be 12 hexadecimal digits: so the catalog names recipes without a version")
	}
	if !r.Oversized() {
		p.safe(r)
		p.pinned(r)
	}
	if r.Signature != nil {
		p.signature(r, c)
	}
	if c.Previous != nil && !Same(r, c.Previous.Recipe) {
		p.newer(r, *c.Previous)
	}
}

// Parse reads a recipe in any of the formats and checks it. Members that a
// recipe does not have are refused: whoever wrote them believes that they do
// something. In a server.json, which others define, they are warnings.
func Parse(b []byte, c Checks) (recipe.Document, []Problem) {
	d, found, err := recipe.Read(b)
	if err != nil {
		return recipe.Document{}, []Problem{{Code: CodeSyntax, Message: err.Error()}}
	}
	var p problems
	for _, f := range found {
		switch {
		case !f.Unknown:
			p.take(f, CodeInvalid, f.Message)
		case d.Format == recipe.ServerJSON:
			d.Warnings = append(d.Warnings, f.String()+", ignored")
		default:
			p.take(f, CodeUnknownField, "is not a field of a recipe")
		}
	}
	if d.Format == recipe.V2 {
		c.Source = &d.Source
	}
	p.check(d.Recipe, c)
	return d, p.all()
}

func (p *problems) signature(r recipe.Recipe, c Checks) {
	if c.Publisher != "" && r.Signature.PublisherID != c.Publisher {
		p.add("signature.publisherId", CodeSignature, "must be %s, who owns the recipe", c.Publisher)
	}
	at, err := r.Signature.Time()
	switch {
	case err != nil:
		p.add("signature.signedAt", CodeSignature, "is not a time such as 2026-01-02T15:04:05Z")
	case !c.Now.IsZero() && at.After(c.Now.Add(clockSkew)):
		p.add("signature.signedAt", CodeSignature, "lies in the future")
	}
	if len(c.PublicKeys) == 0 {
		p.add("signature", CodeUnknownKey, "publisher %.64q has no public key here by which to check it: register one, or leave the signature out", r.Signature.PublisherID)
		return
	}
	doc, err := document(r, c)
	if err != nil {
		p.add("signature", CodeSignature, "cannot be checked: %v", err)
		return
	}
	for _, key := range c.PublicKeys {
		if err = recipe.Verify(doc, key); err == nil {
			return
		}
	}
	p.add("signature", CodeSignature, "%v", err)
}

// document returns what a signature covers.
func document(r recipe.Recipe, c Checks) (jsondoc.Value, error) {
	if c.Source != nil {
		return *c.Source, nil
	}
	return jsondoc.Encode(r)
}

// newer refuses what was there before under another cover: an older recipe, and
// another one under the same version, which those who pinned it would get.
func (p *problems) newer(r recipe.Recipe, previous Version) {
	before := previous.Recipe
	switch {
	case before.RecipeVersion == "":
	case r.RecipeVersion == "":
		p.add("recipeVersion", CodeVersion, "is required, as the recipe had %.64s before", before.RecipeVersion)
	case CompareVersions(r.RecipeVersion, before.RecipeVersion) <= 0:
		p.add("recipeVersion", CodeVersion, "must be higher than %.64s, which the catalog has with another content", before.RecipeVersion)
	}
	if before.Signature == nil {
		return
	}
	if r.Signature == nil {
		p.add("signature", CodeSignature, "is required, as the recipe was signed before")
		return
	}
	now, err := r.Signature.Time()
	then, errBefore := before.Signature.Time()
	if err == nil && errBefore == nil && !now.After(then) {
		p.add("signature.signedAt", CodeReplay, "must be later than %s, when the version before was signed", then.UTC().Format(time.RFC3339))
	}
}
