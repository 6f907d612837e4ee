// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"
	"unicode/utf8"

	"k8s.io/utils/ptr"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// digests are of the form that versions have.
var digests = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// adminHandler answers the administrators of the catalog.
type adminHandler struct{ *core }

// setQuality replaces the administrators' overlay of a recipe.
func (a *adminHandler) setQuality(c httpapi.Call) error {
	tried, err := dryRun(c)
	if err != nil {
		return err
	}
	overlay, err := readOverlay(c)
	if err != nil {
		return err
	}
	revision, err := ifMatch(c.Request())
	if err != nil {
		return err
	}
	ctx, cancel := httpapi.ActContext(c.Request().Context())
	defer cancel()
	name := c.Param("name")
	e, created, err := a.store.SetQuality(ctx, name, overlay, revision, tried)
	if err := tell(c, httpapi.Act{Name: "recipes.quality", Target: name}, err, tried, refusedBody); err != nil {
		return err
	}
	status := http.StatusOK
	if !tried {
		e = a.settled(ctx, e, func(now catalog.Entry, there bool) bool { return there && sameOverlay(now.Quality, e.Quality) })
		tagged(c, e.Revision)
		if created {
			status = http.StatusCreated
		}
	}
	return httpapi.AnswerJSON(c, status, overlaid{Name: name, Revision: e.Revision, Quality: e.Quality, DryRun: tried, Served: e.Accepted})
}

// readOverlay reads an overlay. If it is verified and has no time, the time is
// now.
func readOverlay(c httpapi.Call) (catalog.Overlay, error) {
	var overlay catalog.Overlay
	found, err := decode(c, &overlay)
	if err != nil {
		return overlay, err
	}
	if found = append(found, checkOverlay(overlay)...); len(found) > 0 {
		return overlay, bodyProblem(found)
	}
	if overlay.Verified != nil && *overlay.Verified && overlay.VerifiedAt == nil {
		overlay.VerifiedAt = new(c.Now().UTC().Truncate(time.Second))
	}
	return overlay, nil
}

// overlaid is the answer to an overlay.
type overlaid struct {
	Name     string           `json:"name"`
	Revision string           `json:"revision"`
	Quality  *catalog.Overlay `json:"quality"`
	// Served means that the catalog serves the recipe, and the overlay with it.
	Served bool `json:"served"`
	DryRun bool `json:"dryRun,omitempty"`
}

// clearQuality removes the administrators' overlay of a recipe.
func (a *adminHandler) clearQuality(c httpapi.Call) error {
	if c.Request().URL.RawQuery != "" {
		return errQuery.Saying("This route takes no query.")
	}
	ctx, cancel := httpapi.ActContext(c.Request().Context())
	defer cancel()
	name := c.Param("name")
	err := a.store.ClearQuality(ctx, name)
	if err := tell(c, httpapi.Act{Name: "recipes.quality.clear", Target: name}, err, false, refused); err != nil {
		return err
	}
	a.await(ctx, name, func(e catalog.Entry, there bool) bool { return !there || e.Quality == nil })
	return done(c)
}

// free removes a recipe with its overlay and versions. Its name is free then.
func (a *adminHandler) free(c httpapi.Call) error {
	tried, err := dryRun(c)
	if err != nil {
		return err
	}
	revision, err := ifMatch(c.Request())
	if err != nil {
		return err
	}
	ctx, cancel := httpapi.ActContext(c.Request().Context())
	defer cancel()
	name := c.Param("name")
	err = a.store.DeleteRecipe(ctx, name, revision, tried)
	if err := tell(c, httpapi.Act{Name: "recipes.delete", Target: name}, err, tried, refused); err != nil {
		return err
	}
	if !tried {
		a.await(ctx, name, func(_ catalog.Entry, there bool) bool { return !there })
	}
	return done(c)
}

// checkOverlay returns all reasons why an overlay is refused; the limits are
// the API's.
func checkOverlay(o catalog.Overlay) []catalog.Problem {
	var found []catalog.Problem
	if o.Score != nil && (*o.Score < 0 || *o.Score > 100) {
		found = append(found, invalid("score", "must be from 0 to 100"))
	}
	if o.RecipeDigest != "" && !digests.MatchString(o.RecipeDigest) {
		found = append(found, invalid("recipeDigest", "must be the digest of one of the recipe's versions: sha256: and 64 hexadecimal digits"))
	}
	for _, text := range []struct {
		field, value string
		most         int
	}{
		{"verifiedBy", o.VerifiedBy, 128},
		{"badge", o.Badge, 64},
		{"upstreamHash", o.UpstreamHash, 256},
		{"auditedVersion", o.AuditedVersion, 64},
		{"notes", o.Notes, 4096},
	} {
		if utf8.RuneCountInString(text.value) > text.most {
			found = append(found, invalid(text.field, fmt.Sprintf("must be at most %d characters", text.most)))
		}
	}
	return found
}

// sameOverlay compares the API server's answer with the overlay that was read.
func sameOverlay(a, b *catalog.Overlay) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	same := ptr.Equal(x.Verified, y.Verified) && ptr.Equal(x.Score, y.Score) &&
		(x.VerifiedAt == nil) == (y.VerifiedAt == nil) && (x.VerifiedAt == nil || x.VerifiedAt.Equal(*y.VerifiedAt))
	x.Verified, x.Score, x.VerifiedAt = nil, nil, nil
	y.Verified, y.Score, y.VerifiedAt = nil, nil, nil
	return same && x == y
}

// setOwner gives a recipe to another owner.
func (a *adminHandler) setOwner(c httpapi.Call) error {
	var asked struct {
		Owner string `json:"owner"`
	}
	found, err := decode(c, &asked)
	if err != nil {
		return err
	}
	if asked.Owner == "" {
		found = append(found, invalid("owner", `must be a publisher's id, or "seed"`))
	}
	if len(found) > 0 {
		return bodyProblem(found)
	}
	ctx, cancel := httpapi.ActContext(c.Request().Context())
	defer cancel()
	name := c.Param("name")
	e, err := a.store.SetOwner(ctx, name, asked.Owner)
	if err := tell(c, httpapi.Act{Name: "recipes.owner", Target: name}, err, false, refused); err != nil {
		return err
	}
	e = a.settled(ctx, e, func(now catalog.Entry, there bool) bool { return there && now.Owner == asked.Owner })
	tagged(c, e.Revision)
	return httpapi.AnswerJSON(c, http.StatusOK, struct {
		Name     string `json:"name"`
		Owner    string `json:"owner"`
		Revision string `json:"revision"`
	}{name, asked.Owner, e.Revision})
}

// seedTimeout bounds a seed: ten thousand new recipes take some minutes.
const seedTimeout = 10 * time.Minute

// seed brings the catalog in line with its source.
func (a *adminHandler) seed(c httpapi.Call) error {
	tried, err := dryRun(c)
	if err != nil {
		return err
	}
	if a.seeder == nil {
		return errNoSeed
	}
	if _, err := a.snapshot(); err != nil {
		return err
	}
	// As httpapi.ActContext, for longer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), seedTimeout)
	defer cancel()
	report, err := a.seeder.Seed(ctx, tried)
	if err := tell(c, httpapi.Act{Name: "seed", Target: report.Source}, err, tried, seedRefused); err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusOK, report)
}

// seedRefused is refused for a seed. A failed seed may have written a part.
func seedRefused(err error) (certain bool, answer error) {
	parts, ok := errors.AsType[catalog.ChangeErrors](err)
	if !ok {
		return false, fmt.Errorf("%w: %w", errSeed.Saying("The seed failed: "+err.Error()+"."), err)
	}
	found := make([]seedProblem, len(parts))
	for i, part := range parts {
		found[i] = seedProblem{part.Name, part.Err.Error()}
	}
	return false, fmt.Errorf("%w: %w", errSeedPart.With(found), err)
}

// seedProblem is why one change of a seed was not made.
type seedProblem struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}
