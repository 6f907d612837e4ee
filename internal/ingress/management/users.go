// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
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
func (a *Administration) listUsers(c httpapi.Call) error {
	u := c.Request().URL
	if u.ForceQuery {
		return problems.UsersQuery
	}
	page, err := a.Users(c, u.RawQuery)
	if err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusOK, page)
}

// Users returns the users that a query asks for, as the route has it.
func (a *Administration) Users(c httpapi.Call, query string) (overview.Page, error) {
	q, err := parseUsersQuery(query)
	if err != nil {
		return overview.Page{}, problems.UsersQuery.Saying(err.Error())
	}
	state, err := a.o.Users.State(c.Request().Context())
	if err != nil {
		return overview.Page{}, fmt.Errorf("%w: %w", problems.InventoryUnknown, err)
	}
	return state.List(q), c.Audit(httpapi.Act{Name: "users.list"})
}

// getUser answers with one user.
func (a *Administration) getUser(c httpapi.Call) error {
	detail, err := a.User(c, v1alpha1.UserID(c.Param("userId")))
	if err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusOK, detail)
}

// User returns one user.
func (a *Administration) User(c httpapi.Call, user v1alpha1.UserID) (overview.Detail, error) {
	ctx, cancel := httpapi.ActContext(c.Request().Context())
	defer cancel()
	detail, err := a.o.Users.User(ctx, user)
	switch {
	case errors.Is(err, access.ErrNoUser):
		return detail, fmt.Errorf("%w: %w", problems.NotFound, err)
	case err != nil:
		return detail, fmt.Errorf("%w: %w", problems.InventoryUnknown, err)
	}
	return detail, c.Audit(httpapi.Act{Name: "users.get", User: string(user)})
}

// Known returns which of some users there is something to say of: those with a bridge, or with
// a record of their access. What cannot be read now is not known.
func (a *Administration) Known(ctx context.Context, users []v1alpha1.UserID) map[v1alpha1.UserID]bool {
	known := map[v1alpha1.UserID]bool{}
	table := a.o.Routes.Current()
	missing := false
	for _, user := range users {
		known[user] = false
		if table != nil {
			_, known[user] = table.Lookup(user)
		}
		missing = missing || !known[user]
	}
	if !missing {
		return known
	}
	state, err := a.o.Users.State(ctx)
	if err != nil {
		return known
	}
	for _, p := range state.Persons {
		if _, asked := known[p.Spec.User]; asked {
			known[p.Spec.User] = true
		}
	}
	return known
}

// listProblems answers with what keeps users from their servers.
func (a *Administration) listProblems(c httpapi.Call) error {
	found, err := a.Problems(c)
	if err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusOK, found)
}

// Problems returns what keeps users from their servers.
func (a *Administration) Problems(c httpapi.Call) (overview.Problems, error) {
	state, err := a.o.Users.State(c.Request().Context())
	if err != nil {
		return overview.Problems{}, fmt.Errorf("%w: %w", problems.InventoryUnknown, err)
	}
	return state.Problems(), c.Audit(httpapi.Act{Name: "problems.list"})
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
	"limit": func(q *overview.Query, value string) (err error) {
		q.Limit, err = numberUpTo(value, overview.MaxPage)
		return err
	},
}

// parseUsersQuery reads a query. Its errors name the parameter and what it may be, and
// repeat nothing of what it was.
func parseUsersQuery(raw string) (overview.Query, error) {
	q := overview.Query{Limit: overview.DefaultPage}
	return q, httpapi.ParseQuery(&q, raw, usersParameters, "search, phase, profile, group, tier, reason, server, cursor and limit")
}

func setText(to *string, value string) error {
	if value == "" || len(value) > overview.MaxText {
		return fmt.Errorf("it must be a text of 1 to %d bytes", overview.MaxText)
	}
	*to = value
	return nil
}
