// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"fmt"
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

var errTooManyRecipes = httpapi.New(http.StatusConflict, "recipe_limit_reached", "The publisher has as many recipes as there may be.")

// room refuses a new name for a publisher who has as many recipes as allowed.
// Parallel requests may exceed the limit a little: a replica counts the recipes
// that it knows of.
func (p publication) room(name string) error {
	most := p.api.maxRecipes
	if most == 0 || p.snapshot.Owned(p.publisher.ID) < most {
		return nil
	}
	if e, there := p.snapshot.Entry(name); there && e.Owner == p.publisher.ID {
		return nil // It is counted already.
	}
	return errTooManyRecipes.Saying(fmt.Sprintf("The publisher has as many recipes as there may be: %d. An administrator can raise --catalog-max-recipes-per-publisher.", most))
}
