// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package news

import (
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// UserRoutes are those by which users see what has changed, and programs note that they have shown
// it. The caller sets what all routes of users have in common. News tell of keys, as the routes of
// keys do, and so need the same access.
func (n *News) UserRoutes() []httpapi.Route {
	return []httpapi.Route{
		{Method: http.MethodGet, Path: "/u/:userId/news", Access: httpapi.UserManage, Handle: n.list},
		{Method: http.MethodPut, Path: "/u/:userId/visit", Access: httpapi.UserManage, Handle: n.visit},
	}
}

func (n *News) list(c httpapi.Call) error {
	return httpapi.AnswerOf(c, func(of route.Backend) (List, error) { return n.List(c.Request().Context(), of) })
}

func (n *News) visit(c httpapi.Call) error {
	return httpapi.AnswerOf(c, func(of route.Backend) (List, error) { return n.Visit(c.Request().Context(), of) })
}
