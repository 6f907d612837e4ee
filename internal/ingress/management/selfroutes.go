// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

const (
	// MaxChoice holds the longest list of tools that a choice may deny.
	MaxChoice = 64 << 10
	// selfRate is how many requests in a second a user may make here, on average: a page
	// asks several things at once.
	selfRate = 10
	// listAnswer is the memory for what a bridge says: 200 tools with the longest texts, or
	// what the longest report makes of 64 servers, and for a page of programs. pageAnswer is that for all else. A page
	// that asks for everything at once stays below what a user may have.
	listAnswer = 512 << 10
	pageAnswer = 128 << 10
)

// selfRoutes answers users about their own bridge.
type selfRoutes struct{ self *Self }

// Feature returns the feature by which users see and change their own bridge.
func (s *Self) Feature() httpapi.Feature {
	r := &selfRoutes{s}
	const server, choice = "/u/:userId/servers/:server", "/u/:userId/servers/:server/choice"
	return ofUsers("self", slices.Concat([]httpapi.Route{
		{Method: http.MethodGet, Path: "/u/:userId/servers", Access: httpapi.User, MaxAnswer: listAnswer, Handle: r.servers},
		{Method: http.MethodGet, Path: server, Access: httpapi.User, Handle: r.server},
		{Method: http.MethodPut, Path: choice, Access: httpapi.UserManage, Act: true, MaxBody: MaxChoice, Handle: r.choose},
		{Method: http.MethodDelete, Path: choice, Access: httpapi.UserManage, Act: true, Handle: r.clear},
		{Method: http.MethodGet, Path: "/u/:userId/tools", Access: httpapi.User, Query: query, MaxAnswer: listAnswer, Handle: r.tools},
		{Method: http.MethodGet, Path: "/u/:userId/connections", Access: httpapi.UserManage, Handle: r.connections},
		{Method: http.MethodDelete, Path: "/u/:userId/connections/:server", Access: httpapi.UserManage, Handle: r.disconnect},
		{Method: http.MethodGet, Path: "/u/:userId/usage", Access: httpapi.User, Query: query, Handle: r.usage},
		{Method: http.MethodGet, Path: "/u/:userId/activity", Access: httpapi.UserManage, Query: query, Handle: r.activity},
	}, s.o.Keys.UserRoutes()))
}

// ofUsers returns a feature of routes of users on their own bridge, with what all of these have in
// common.
func ofUsers(name string, routes []httpapi.Route) httpapi.Feature {
	for i := range routes {
		routes[i].AnyQuery, routes[i].NoHead = true, true
		routes[i].MaxAnswer = cmp.Or(routes[i].MaxAnswer, pageAnswer)
		routes[i].Handle = limited(routes[i].Handle)
	}
	return httpapi.Feature{
		Name: name, Params: params, MaxPath: maxPath, MaxQuery: maxQuery, HolderRate: selfRate, TooManyOfHolder: problems.TooManyQuestions,
		Routes: routes,
	}
}

// limited limits how often a user asks.
func limited(handle func(httpapi.Call) error) func(httpapi.Call) error {
	return func(c httpapi.Call) error {
		if err := c.LimitRate(c.Param("userId")); err != nil {
			return err
		}
		return handle(c)
	}
}

func (r *selfRoutes) servers(c httpapi.Call) error {
	return httpapi.AnswerOf(c, func(of route.Backend) (selfservice.Servers, error) { return r.self.Servers(c.Request().Context(), of) })
}

func (r *selfRoutes) server(c httpapi.Call) error {
	return httpapi.AnswerOf(c, func(of route.Backend) (selfservice.Server, error) {
		return r.self.Server(c.Request().Context(), of, c.Param("server"))
	})
}

func (r *selfRoutes) choose(c httpapi.Call) error {
	var choice selfservice.Choice
	if err := httpapi.ReadObject(c, &choice, problems.ChoiceRequest, problems.ChoiceTooLarge); err != nil {
		return err
	}
	return httpapi.AnswerOf(c, func(of route.Backend) (selfservice.Server, error) {
		return r.self.Choose(c.Request().Context(), c, of, c.Param("server"), choice)
	})
}

func (r *selfRoutes) clear(c httpapi.Call) error {
	return httpapi.AnswerOf(c, func(of route.Backend) (selfservice.Server, error) {
		return r.self.ClearChoice(c.Request().Context(), c, of, c.Param("server"))
	})
}

// toolParameters are what a query for tools may have.
var toolParameters = map[string]func(q *selfservice.ToolQuery, value string) error{
	"search": func(q *selfservice.ToolQuery, value string) error { return setText(&q.Search, value) },
	"cursor": func(q *selfservice.ToolQuery, value string) error { return setText(&q.Cursor, value) },
	"limit": func(q *selfservice.ToolQuery, value string) (err error) {
		q.Limit, err = numberUpTo(value, selfservice.MaxTools)
		return err
	},
}

func (r *selfRoutes) tools(c httpapi.Call) error {
	var q selfservice.ToolQuery
	if err := httpapi.ReadQuery(c, &q, toolParameters, "search, cursor and limit", problems.ToolsQuery); err != nil {
		return err
	}
	return httpapi.AnswerOf(c, func(of route.Backend) (selfservice.Tools, error) {
		return r.self.Tools(c.Request().Context(), of, q)
	})
}

func (r *selfRoutes) connections(c httpapi.Call) error {
	return httpapi.AnswerOf(c, func(of route.Backend) (selfservice.Connections, error) {
		return r.self.Connections(c.Request().Context(), of)
	})
}

func (r *selfRoutes) disconnect(c httpapi.Call) error {
	return httpapi.Done(c, func(of route.Backend) error {
		return r.self.Disconnect(c.Request().Context(), c, of, c.Param("server"))
	})
}

func (r *selfRoutes) usage(c httpapi.Call) error {
	var q analyticsQuery
	if err := httpapi.ReadQuery(c, &q, usageParameters, "from, to, step and top", problems.UsageQuery); err != nil {
		return err
	}
	return httpapi.AnswerOf(c, func(of route.Backend) (selfservice.Usage, error) {
		return r.self.Usage(c.Request().Context(), of, selfservice.UsageQuery{From: q.From, To: q.To, Step: q.step, Top: q.Top})
	})
}

func (r *selfRoutes) activity(c httpapi.Call) error {
	q := audit.Query{Limit: audit.DefaultPage}
	if err := httpapi.ReadQuery(c, &q, activityParameters, "server, tool, status, from, to, cursor and limit", problems.ActivityQuery); err != nil {
		return err
	}
	return httpapi.AnswerOf(c, func(of route.Backend) (selfservice.Activity, error) {
		return r.self.Activity(c.Request().Context(), of, q)
	})
}

// activityParameters are those of a query for audit entries, without the user.
var activityParameters = func() map[string]func(*audit.Query, string) error {
	own := map[string]func(*audit.Query, string) error{}
	for name, set := range auditParameters {
		if name != "userId" {
			own[name] = set
		}
	}
	return own
}()
