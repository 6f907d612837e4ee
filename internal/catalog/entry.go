// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// EntryOf returns the entry of an object. It serves the version that was
// accepted last: a recipe that was just written, or was refused, does not
// replace the one before. A version is not served if it was accepted and is
// refused now, for instance because its publisher withdrew a key. A withdrawn
// version is not served either while another one waits or is refused.
func EntryOf(o *v1alpha1.CatalogRecipe) (Entry, error) {
	e := Entry{
		Name: o.Name, Owner: o.Spec.Owner, Created: o.CreationTimestamp.Time,
		Quality: OverlayOf(o.Spec.Quality), Deprecated: deprecationOf(o.Spec.Deprecated), Deleted: timeOf(o.Spec.Deleted),
	}
	var current *recipe.Recipe
	if o.Spec.Recipe != nil {
		current = &o.Spec.Recipe.Recipe
	}
	if err := e.readVersions(o); err != nil {
		return Entry{}, err
	}
	e.serve(o, current)
	e.Here = hereOf(o)
	e.StatusAt = statusAt(o, e)
	e.Revision = RevisionOf(o, e)
	return e, nil
}

// readVersions reads the accepted versions.
func (e *Entry) readVersions(o *v1alpha1.CatalogRecipe) error {
	for _, v := range o.Status.Versions {
		kept, _, err := ReadVersion(v)
		if err != nil {
			return fmt.Errorf("read version %.64s of recipe %s: %w", v.Version, o.Name, err)
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
		// The author deleted the recipe; an overlay alone cannot be served.
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
	switch c := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionRecipeAccepted); {
	case c == nil:
		return false, ""
	case c.Status != metav1.ConditionTrue && c.ObservedGeneration != o.Generation:
		return false, "" // It was said of the recipe before.
	case c.Status == metav1.ConditionTrue:
		return true, ""
	default:
		return false, c.Message
	}
}

// hereOf returns whether bridges of the installation can run the recipe.
func hereOf(o *v1alpha1.CatalogRecipe) *Here {
	c := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionRecipeHostable)
	switch {
	case c == nil:
		return nil
	case c.Status == metav1.ConditionTrue:
		return &Here{Runs: true}
	}
	return &Here{Reason: c.Reason, Why: c.Message}
}

// statusAt returns when the deprecation last began or ended. The operator notes
// its end, which leaves no trace in the spec.
func statusAt(o *v1alpha1.CatalogRecipe, e Entry) time.Time {
	var at time.Time
	if e.Deprecated != nil {
		at = e.Deprecated.Since
	}
	if c := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionRecipeDeprecated); c != nil {
		at = later(at, c.LastTransitionTime.Time)
	}
	return at
}

// Changed returns when the recipe was last accepted, deprecated, or
// undeprecated.
func (e Entry) Changed() time.Time { return later(e.Updated, e.StatusAt) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Of returns the overlay for the version that the entry serves, or would serve,
// unless the overlay names a version.
func (o Overlay) Of(e Entry) Overlay {
	if o.RecipeDigest == "" {
		o.RecipeDigest = e.RecipeDigest()
	}
	return o
}

// RecipeDigest returns the digest of the version that is served, or would be.
func (e Entry) RecipeDigest() string {
	if len(e.Versions) > 0 {
		return e.Versions[0].Digest
	}
	return Digest(e.SourceText())
}

// SourceText returns the recipe file.
func (e Entry) SourceText() string { return FileOf(e.Recipe, e.Source) }

// OverlayOf reads an overlay of an object; it is nil if the object has none.
func OverlayOf(q *v1alpha1.QualityOverlay) *Overlay {
	if q == nil {
		return nil
	}
	o := &Overlay{
		Verified: q.Verified, VerifiedBy: q.VerifiedBy, Badge: q.Badge,
		UpstreamHash: q.UpstreamHash, AuditedVersion: q.AuditedVersion, RecipeDigest: q.RecipeDigest, Notes: q.Notes,
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
		UpstreamHash: o.UpstreamHash, AuditedVersion: o.AuditedVersion, RecipeDigest: o.RecipeDigest, Notes: o.Notes,
	}
	if o.VerifiedAt != nil {
		// The API has whole seconds.
		q.VerifiedAt = new(metav1.NewTime(o.VerifiedAt.UTC().Truncate(time.Second)))
	}
	if o.Score != nil {
		q.Score = new(int32(min(max(*o.Score, 0), MaxScore)))
	}
	return q
}

// MaxScore is the highest score of an overlay.
const MaxScore = 100
