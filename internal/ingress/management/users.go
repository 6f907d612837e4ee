// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/overview"
)

// Users are the users of the installation.
type Users interface {
	// State returns what is known of all of them, or an error while that is not known.
	State(ctx context.Context) (overview.State, error)
	// User returns one of them as the API server has them. Its errors are access.ErrNoUser
	// and those of the API server.
	User(ctx context.Context, user v1alpha1.UserID) (overview.Detail, error)
}

// listUsers answers with the users that a query asks for.
func (a *admin) listUsers(c httpapi.Call) error {
	u := c.Request().URL
	if u.ForceQuery {
		return problems.UsersQuery
	}
	q, err := parseUsersQuery(u.RawQuery)
	if err != nil {
		return problems.UsersQuery.Saying(err.Error())
	}
	state, err := a.users.State(c.Request().Context())
	if err != nil {
		return fmt.Errorf("%w: %w", problems.InventoryUnknown, err)
	}
	if err := c.Audit(httpapi.Act{Name: "users.list"}); err != nil {
		return err
	}
	return answerJSON(c, http.StatusOK, state.List(q))
}

// getUser answers with one user.
func (a *admin) getUser(c httpapi.Call) error {
	user := c.Param("userId")
	ctx, cancel := actContext(c)
	defer cancel()
	detail, err := a.users.User(ctx, v1alpha1.UserID(user))
	switch {
	case errors.Is(err, access.ErrNoUser):
		return fmt.Errorf("%w: %w", problems.NotFound, err)
	case err != nil:
		return fmt.Errorf("%w: %w", problems.InventoryUnknown, err)
	}
	if err := c.Audit(httpapi.Act{Name: "users.get", User: user}); err != nil {
		return err
	}
	return answerJSON(c, http.StatusOK, detail)
}

// listProblems answers with what keeps users from their servers.
func (a *admin) listProblems(c httpapi.Call) error {
	state, err := a.users.State(c.Request().Context())
	if err != nil {
		return fmt.Errorf("%w: %w", problems.InventoryUnknown, err)
	}
	if err := c.Audit(httpapi.Act{Name: "problems.list"}); err != nil {
		return err
	}
	return answerJSON(c, http.StatusOK, state.Problems())
}

// phases are those that a user's bridge may be in.
var phases = []v1alpha1.Phase{
	v1alpha1.PhasePending, v1alpha1.PhaseRunning, v1alpha1.PhaseAsleep, v1alpha1.PhaseSuspended, v1alpha1.PhaseOffboarded, v1alpha1.PhaseWaking, v1alpha1.PhaseFailed,
}

// usersParameters are what a query may have, and how each is read.
var usersParameters = map[string]func(q *overview.Query, value string) error{
	"search":  func(q *overview.Query, value string) error { return setText(&q.Search, value) },
	"profile": func(q *overview.Query, value string) error { return setText(&q.Profile, value) },
	"group":   func(q *overview.Query, value string) error { return setText(&q.Group, value) },
	"tier":    func(q *overview.Query, value string) error { return setText(&q.Tier, value) },
	"reason":  func(q *overview.Query, value string) error { return setText(&q.Reason, value) },
	"server":  func(q *overview.Query, value string) error { return setText(&q.Server, value) },
	"phase": func(q *overview.Query, value string) error {
		q.Phase = v1alpha1.Phase(value)
		if !slices.Contains(phases, q.Phase) {
			var names []string
			for _, p := range phases {
				names = append(names, string(p))
			}
			return errors.New("it must be one of " + strings.Join(names, ", "))
		}
		return nil
	},
	"cursor": func(q *overview.Query, value string) (err error) {
		q.After, err = v1alpha1.ParseUserID(value)
		return err
	},
	"limit": func(q *overview.Query, value string) error {
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil || n < 1 || n > overview.MaxPage {
			return fmt.Errorf("it must be a number from 1 to %d", overview.MaxPage)
		}
		q.Limit = int(n)
		return nil
	},
}

// parseUsersQuery reads a query. Its errors name the parameter and what it may be, and
// repeat nothing of what it was.
func parseUsersQuery(raw string) (overview.Query, error) {
	q := overview.Query{Limit: overview.DefaultPage}
	return q, parseQuery(&q, raw, usersParameters, "search, phase, profile, group, tier, reason, server, cursor and limit")
}

func setText(to *string, value string) error {
	if value == "" || len(value) > overview.MaxText {
		return fmt.Errorf("it must be a text of 1 to %d bytes", overview.MaxText)
	}
	*to = value
	return nil
}
