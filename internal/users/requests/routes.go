// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// maxRequest holds a reason of MaxReason characters.
const maxRequest = 8 << 10

// UserRoutes are those by which users ask. The caller sets what all routes of users have in
// common.
func (r *Requests) UserRoutes() []httpapi.Route {
	const all, one = "/u/:userId/requests", "/u/:userId/requests/:server"
	return []httpapi.Route{
		{Method: http.MethodGet, Path: all, Access: httpapi.User, Handle: r.list},
		{Method: http.MethodPut, Path: one, Access: httpapi.UserManage, Act: true, MaxBody: maxRequest, Handle: r.ask},
		{Method: http.MethodDelete, Path: one, Access: httpapi.UserManage, Act: true, Handle: r.withdraw},
	}
}

// AdminRoutes are those by which administrators answer, where a query has the form query. The
// caller sets what all routes of administrators have in common.
func (r *Requests) AdminRoutes(query *regexp.Regexp) []httpapi.Route {
	return []httpapi.Route{
		{Method: http.MethodGet, Path: "/admin/requests", Query: query, Roles: []oauth.Role{oauth.RoleAuditor, oauth.RoleCurator}, Handle: r.listAll},
		{Method: http.MethodPut, Path: "/admin/requests/:userId/:server", MaxBody: maxRequest, Roles: []oauth.Role{oauth.RoleCurator}, Handle: r.decide},
	}
}

func (r *Requests) list(c httpapi.Call) error {
	return httpapi.AnswerOf(c, func(of route.Backend) (List, error) { return r.List(c.Request().Context(), of) })
}

func (r *Requests) ask(c httpapi.Call) error {
	var asked struct {
		Reason string `json:"reason"`
	}
	if err := httpapi.ReadObject(c, &asked, errInvalid, errReason); err != nil {
		return err
	}
	return httpapi.AnswerOf(c, func(of route.Backend) (Request, error) {
		return r.Ask(c.Request().Context(), c, of, c.Param("server"), asked.Reason)
	})
}

func (r *Requests) withdraw(c httpapi.Call) error {
	return httpapi.Done(c, func(of route.Backend) error { return r.Withdraw(c.Request().Context(), c, of, c.Param("server")) })
}

var states = []string{Open, Approved, Refused, Outdated}

func (r *Requests) listAll(c httpapi.Call) error {
	state := ""
	err := httpapi.ReadQuery(c, &state, map[string]func(*string, string) error{"state": func(to *string, value string) error {
		if !slices.Contains(states, value) {
			return errors.New("it must be one of " + strings.Join(states, ", "))
		}
		*to = value
		return nil
	}}, "state", errQuery)
	if err != nil {
		return err
	}
	list, err := r.All(c.Request().Context(), c, state)
	if err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusOK, struct {
		Requests []UserRequest `json:"requests"`
	}{list})
}

func (r *Requests) decide(c httpapi.Call) error {
	var asked struct {
		Version string                  `json:"version"`
		Verdict v1alpha1.RequestVerdict `json:"verdict"`
		Reason  string                  `json:"reason"`
	}
	if err := httpapi.ReadObject(c, &asked, errInvalid, errReason); err != nil {
		return err
	}
	q, err := r.Decide(c.Request().Context(), c, Decision{
		User: v1alpha1.UserID(c.Param("userId")), Server: c.Param("server"), Version: asked.Version, Verdict: asked.Verdict, Reason: asked.Reason,
	})
	if err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusOK, q)
}
