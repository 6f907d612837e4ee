// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// The problems. Their codes are part of the API.
var (
	errNotRead        = httpapi.New(http.StatusServiceUnavailable, "catalog_not_read", "This replica has not read the catalog yet.").After(5 * time.Second)
	errNoRecipe       = httpapi.New(http.StatusNotFound, "recipe_not_found", "The catalog serves no recipe of this name.")
	errWithdrawn      = httpapi.New(http.StatusGone, "version_withdrawn", "The publisher has withdrawn the key that signed this version.")
	errNoVersion      = httpapi.New(http.StatusNotFound, "version_not_found", "The recipe has no such version, or it is so old that it is not kept.")
	errNoProgram      = httpapi.New(http.StatusNotFound, "program_not_found", "No package is installed for this recipe: its server is remote or no package of npm or Python in one exact version, or this installation does not install packages once.")
	errNoPublisher    = httpapi.New(http.StatusNotFound, "publisher_not_found", "There is no publisher of this id.")
	errNoKey          = httpapi.New(http.StatusNotFound, "key_not_found", "The publisher has no key of this id.")
	errQuery          = httpapi.New(http.StatusBadRequest, "query_invalid", "The query is not one of this route.")
	errIfMatchMissing = httpapi.New(http.StatusPreconditionRequired, "if_match_required", `Send If-Match with the ETag of the recipe that this is to replace, or If-Match: * for any.`)
	errIfMatch        = httpapi.New(http.StatusBadRequest, "if_match_invalid", `If-Match must be one ETag as the catalog gave it, such as "c242bfba0842b5b6.bb1a98f9fd1ccc77", or *.`)
	errChanged        = httpapi.New(http.StatusPreconditionFailed, "revision_changed", "The recipe has changed: If-Match names another revision. Read the recipe again, and send its ETag if you still want to write.")
	errNotOwner       = httpapi.New(http.StatusForbidden, "not_owner", "The name belongs to somebody else. An administrator can transfer it.")
	errExists         = httpapi.New(http.StatusConflict, "name_taken", "The name is taken. If it is yours, change it by PUT.")
	errTakenBack      = httpapi.New(http.StatusConflict, "recipe_taken_back", "An administrator took the recipe back. They alone can free the name, or bring the recipe back.")
	errManaged        = httpapi.New(http.StatusConflict, "managed_elsewhere", "Somebody keeps this with other tools.")
	errPending        = httpapi.New(http.StatusConflict, "recipe_pending", "The last change of this signed recipe is not accepted. Replace it by PUT first.")
	errInvalid        = httpapi.New(http.StatusUnprocessableEntity, "recipe_invalid", "The catalog does not accept the recipe. Correct everything that problems names, and send the recipe again.")
	errRequest        = httpapi.New(http.StatusUnprocessableEntity, "request_invalid", "The body is not valid for this route. Correct everything that problems names, and send it again.")
	errOwnerUnknown   = httpapi.New(http.StatusUnprocessableEntity, "owner_unknown", `The new owner must be a publisher's id, or "seed".`)
	errTooManyKeys    = httpapi.New(http.StatusConflict, "key_limit_reached", "The publisher has 128 keys, revoked ones too; remove old ones from spec.keys with kubectl.")
	errClusterAway    = httpapi.New(http.StatusServiceUnavailable, "cluster_unavailable", "The API server did not answer or refused. A change may have been made or not; GET shows which.").After(5 * time.Second)
	errNoCatalogKey   = httpapi.New(http.StatusNotFound, "catalog_key_not_found", "This installation does not sign its recipes; --catalog-signing-key-file of the ingress names a key.")
	errNoSeed         = httpapi.New(http.StatusServiceUnavailable, "seed_disabled", "This installation has no source of recipes; --catalog-seed names one.")
	errSeed           = httpapi.New(http.StatusBadGateway, "seed_failed", "The source could not be used.")
	errSeedPart       = httpapi.New(http.StatusBadGateway, "seed_incomplete", "Some changes could not be made; problems has them. The others were.")
)

// bodyProblem returns the answer to a body that this route refuses.
func bodyProblem(found []catalog.Problem) error { return errRequest.With(found) }

// storeProblems are the problems that callers see for a store's errors.
var storeProblems = []struct {
	err     error
	problem *httpapi.Problem
}{
	{catalog.ErrNotFound, errNoRecipe},
	{catalog.ErrExists, errExists},
	{catalog.ErrNotOwner, errNotOwner},
	{catalog.ErrTakenBack, errTakenBack},
	{catalog.ErrChanged, errChanged},
	{catalog.ErrNoPublisher, errOwnerUnknown},
	{catalog.ErrTooManyKeys, errTooManyKeys},
}

// refused returns the problem for a store's error, and whether it is certain
// that nothing was done.
func refused(err error) (certain bool, answer error) {
	invalid, isInvalid := errors.AsType[*catalog.InvalidError](err)
	managed, isManaged := errors.AsType[*catalog.ManagedError](err)
	own, isOwn := errors.AsType[*httpapi.Problem](err)
	switch {
	case isOwn:
		return true, own // The problems of the draft.
	case isInvalid:
		return true, errInvalid.With(invalid.Problems)
	case isManaged:
		return true, errManaged.Saying("It is held by " + strings.Join(managed.By, ", ") + "; change it there.")
	}
	for _, known := range storeProblems {
		if errors.Is(err, known.err) {
			return true, known.problem
		}
	}
	return false, fmt.Errorf("%w: %w", errClusterAway, err)
}

// refusedBody is refused for a route whose body is not a recipe.
func refusedBody(err error) (certain bool, answer error) {
	if invalid, ok := errors.AsType[*catalog.InvalidError](err); ok {
		return true, bodyProblem(invalid.Problems)
	}
	return refused(err)
}

// refusedPublisher is refused for a route whose subject is a publisher.
func refusedPublisher(err error) (certain bool, answer error) {
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return true, errNoPublisher
	case errors.Is(err, catalog.ErrExists):
		return true, errExists.Saying("There is a publisher of this id.")
	}
	return refusedBody(err)
}
