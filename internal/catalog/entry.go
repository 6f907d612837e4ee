// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// EntryOf returns the entry of an object. What it serves is the version that was
// accepted last: a recipe that was just written, or was refused, does not take
// the place of the one before. One that was accepted and is refused now, for
// instance since its publisher withdrew a key, is not served, and one that is
// withdrawn is not either while another one waits or is refused.
func EntryOf(o *v1alpha1.CatalogRecipe) (Entry, error) {
	e := Entry{
		Name: o.Name, Owner: o.Spec.Owner, Created: o.CreationTimestamp.Time,
		Quality: overlayOf(o.Spec.Quality), Deprecated: deprecationOf(o.Spec.Deprecated),
	}
	var current *recipe.Recipe
	if o.Spec.Recipe != nil {
		r, err := FromObject(o.Spec.Recipe)
		if err != nil {
			return Entry{}, fmt.Errorf("read recipe %s: %w", o.Name, err)
		}
		current = &r
	}
	if err := e.readVersions(o, current); err != nil {
		return Entry{}, err
	}
	e.serve(o, current)
	e.Revision = revision(e)
	return e, nil
}

// readVersions reads the versions that were accepted. The newest one mostly is
// the recipe that the object has, which is read already.
func (e *Entry) readVersions(o *v1alpha1.CatalogRecipe, current *recipe.Recipe) error {
	written := ""
	if current != nil {
		written = SourceOf(*current)
	}
	for _, v := range o.Status.Versions {
		kept := Version{Version: v.Version, Digest: v.Digest, At: v.AcceptedAt.Time, Source: v.Recipe, Withdrawn: v.Withdrawn}
		if v.Recipe == written {
			kept.Recipe = *current
		} else {
			r, _, err := ReadSource(v.Recipe)
			if err != nil {
				return fmt.Errorf("read version %.64s of recipe %s: %w", v.Version, o.Name, err)
			}
			kept.Recipe = r
		}
		e.Versions = append(e.Versions, kept)
	}
	return nil
}

// serve decides which recipe the entry serves.
func (e *Entry) serve(o *v1alpha1.CatalogRecipe, current *recipe.Recipe) {
	accepted, refused := condition(o)
	switch {
	case current == nil:
		// The author took the recipe back; an overlay alone is nothing to serve.
		e.Refused = refused
		return
	case len(e.Versions) == 0:
		e.Recipe, e.Source, e.Refused = *current, o.Spec.Source, refused
		return
	}
	latest := e.Versions[0]
	e.Recipe, e.Updated = latest.Recipe, latest.At
	if e.Recipe.Signature != nil {
		e.Source = latest.Source
	}
	if Same(*current, latest.Recipe) {
		e.Accepted, e.Refused = accepted && !latest.Withdrawn, refused
		return
	}
	e.Accepted, e.Pending, e.Refused = !latest.Withdrawn, current, refused
}

// condition returns whether the recipe was accepted when it was last checked,
// and why not.
func condition(o *v1alpha1.CatalogRecipe) (accepted bool, refused string) {
	for _, c := range o.Status.Conditions {
		if c.Type == v1alpha1.ConditionRecipeAccepted {
			if c.Status == metav1.ConditionTrue {
				return true, ""
			}
			return false, c.Message
		}
	}
	return false, ""
}

// revisionBytes are enough that two revisions of one recipe are never the same.
const revisionBytes = 12

// revision is also of what waits for its check: of two writers who read the same
// the second would undo the first.
func revision(e Entry) string {
	var withdrawn []string
	for _, v := range e.Versions {
		if v.Withdrawn {
			withdrawn = append(withdrawn, v.Version)
		}
	}
	b, err := json.Marshal(struct {
		Owner, Source string
		Quality       *Overlay
		Deprecated    *Deprecation
		Accepted      bool
		Pending       *recipe.Recipe `json:",omitempty"`
		Withdrawn     []string       `json:",omitempty"`
	}{e.Owner, e.source(), e.Quality, e.Deprecated, e.Accepted, e.Pending, withdrawn})
	if err != nil {
		return "" // All of these are texts, numbers and times of the API.
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:revisionBytes])
}

// source returns the recipe file.
func (e Entry) source() string {
	if e.Source != "" {
		return e.Source
	}
	return SourceOf(e.Recipe)
}

func overlayOf(q *v1alpha1.QualityOverlay) *Overlay {
	if q == nil {
		return nil
	}
	o := &Overlay{
		Verified: q.Verified, VerifiedBy: q.VerifiedBy, Badge: q.Badge,
		UpstreamHash: q.UpstreamHash, AuditedVersion: q.AuditedVersion, Notes: q.Notes,
	}
	if q.VerifiedAt != nil {
		o.VerifiedAt = new(q.VerifiedAt.UTC())
	}
	if q.Score != nil {
		o.Score = new(int(*q.Score))
	}
	return o
}

func deprecationOf(d *v1alpha1.RecipeDeprecation) *Deprecation {
	if d == nil {
		return nil
	}
	return &Deprecation{Since: d.Since.UTC(), Reason: d.Reason, ReplacedBy: d.ReplacedBy}
}

// DeprecationObject returns a deprecation as the API has it, nil for none.
func DeprecationObject(d *Deprecation) *v1alpha1.RecipeDeprecation {
	if d == nil {
		return nil
	}
	// The API has whole seconds.
	since := metav1.NewTime(d.Since.UTC().Truncate(time.Second))
	return &v1alpha1.RecipeDeprecation{Since: since, Reason: d.Reason, ReplacedBy: d.ReplacedBy}
}

// OverlayObject returns an overlay as the API has it.
func OverlayObject(o Overlay) *v1alpha1.QualityOverlay {
	q := &v1alpha1.QualityOverlay{
		Verified: o.Verified, VerifiedBy: o.VerifiedBy, Badge: o.Badge,
		UpstreamHash: o.UpstreamHash, AuditedVersion: o.AuditedVersion, Notes: o.Notes,
	}
	if o.VerifiedAt != nil {
		// The API has whole seconds.
		q.VerifiedAt = new(metav1.NewTime(o.VerifiedAt.UTC().Truncate(time.Second)))
	}
	if o.Score != nil {
		q.Score = new(int32(min(max(*o.Score, 0), maxScore)))
	}
	return q
}

// maxScore is the highest score of an overlay.
const maxScore = 100
