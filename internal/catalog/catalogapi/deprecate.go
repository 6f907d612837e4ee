// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"regexp"
	"time"
	"unicode/utf8"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

// maxReason is how long the reason of a deprecation may be, in characters.
const maxReason = 1024

var recipeID = regexp.MustCompile(`^` + recipeName + `$`)

// deprecate marks a recipe as one that should not be used anymore. It is still
// served.
func (p publication) deprecate() error {
	var asked struct {
		Reason     string `json:"reason"`
		ReplacedBy string `json:"replacedBy"`
	}
	found, err := decode(p.Call, &asked)
	if err != nil {
		return err
	}
	if utf8.RuneCountInString(asked.Reason) > maxReason {
		found = append(found, invalid("reason", "must be at most 1024 characters"))
	}
	if asked.ReplacedBy != "" && (!recipeID.MatchString(asked.ReplacedBy) || asked.ReplacedBy == p.Param("name")) {
		found = append(found, invalid("replacedBy", "must be the id of another recipe"))
	}
	if len(found) > 0 {
		return bodyProblem(found)
	}
	since := p.Now().UTC().Truncate(time.Second)
	return p.setDeprecation("recipes.deprecate", &catalog.Deprecation{Since: since, Reason: asked.Reason, ReplacedBy: asked.ReplacedBy})
}

// undeprecate ends a deprecation.
func (p publication) undeprecate() error { return p.setDeprecation("recipes.undeprecate", nil) }

// setDeprecation writes the same recipe with another deprecation.
func (p publication) setDeprecation(name string, deprecated *catalog.Deprecation) error {
	e, revision, err := p.ownAt()
	if err != nil {
		return err
	}
	if revision == "" {
		revision = catalog.AnyRevision
	}
	return p.replace(name, e.Name, revision, func(live catalog.Entry) (catalog.Draft, []string, error) {
		d := catalog.Draft{Name: live.Name, Owner: live.Owner, Recipe: live.Recipe, Source: live.Source, Deprecated: deprecated}
		if live.Pending != nil {
			if live.Pending.Signature != nil {
				return d, nil, errPending // The author's text is not known here.
			}
			d.Recipe, d.Source = *live.Pending, ""
		}
		if was := live.Deprecated; was != nil && deprecated != nil && was.Reason == deprecated.Reason && was.ReplacedBy == deprecated.ReplacedBy {
			d.Deprecated = was // It was deprecated before: the time stays.
		}
		return d, nil, nil
	})
}
