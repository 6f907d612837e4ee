// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
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
	// what the longest report makes of 64 servers. pageAnswer is that for all else. A page
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
	f := httpapi.Feature{
		Name: "self", Params: params, MaxPath: maxPath, MaxQuery: maxQuery, HolderRate: selfRate, TooManyOfHolder: problems.TooManyQuestions,
		Routes: []httpapi.Route{
			{Method: http.MethodGet, Path: "/u/:userId/servers", Access: httpapi.User, MaxAnswer: listAnswer, Handle: r.servers},
			{Method: http.MethodGet, Path: server, Access: httpapi.User, Handle: r.server},
			{Method: http.MethodPut, Path: choice, Access: httpapi.UserManage, Act: true, MaxBody: MaxChoice, Handle: r.choose},
			{Method: http.MethodDelete, Path: choice, Access: httpapi.UserManage, Act: true, Handle: r.clear},
			{Method: http.MethodGet, Path: "/u/:userId/tools", Access: httpapi.User, Query: query, MaxAnswer: listAnswer, Handle: r.tools},
			{Method: http.MethodGet, Path: "/u/:userId/keys", Access: httpapi.UserManage, Handle: r.keys},
			{Method: http.MethodPost, Path: "/u/:userId/keys", Access: httpapi.UserManage, Act: true, MaxBody: MaxKeyRequest, Handle: r.createKey},
			{Method: http.MethodDelete, Path: "/u/:userId/keys/:keyId", Access: httpapi.UserManage, Handle: r.revokeKey},
			{Method: http.MethodGet, Path: "/u/:userId/connections", Access: httpapi.UserManage, Handle: r.connections},
			{Method: http.MethodDelete, Path: "/u/:userId/connections/:server", Access: httpapi.UserManage, Handle: r.disconnect},
			{Method: http.MethodGet, Path: "/u/:userId/usage", Access: httpapi.User, Query: query, Handle: r.usage},
			{Method: http.MethodGet, Path: "/u/:userId/activity", Access: httpapi.UserManage, Query: query, Handle: r.activity},
		},
	}
	for i := range f.Routes {
		f.Routes[i].AnyQuery, f.Routes[i].NoHead = true, true
		f.Routes[i].MaxAnswer = cmp.Or(f.Routes[i].MaxAnswer, pageAnswer)
		f.Routes[i].Handle = limited(f.Routes[i].Handle)
	}
	return f
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

// answer answers with what ask returns of the caller's bridge.
func answer[T any](c httpapi.Call, status int, ask func(route.Backend) (T, error)) error {
	of, err := c.Bridge()
	if err != nil {
		return err
	}
	v, err := ask(of)
	if err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, status, v)
}

// done does something to the caller's bridge, and answers with nothing.
func done(c httpapi.Call, do func(route.Backend) error) error {
	of, err := c.Bridge()
	if err != nil {
		return err
	}
	if err := do(of); err != nil {
		return err
	}
	c.Writer().Header().Set("Cache-Control", "no-store")
	c.Writer().WriteHeader(http.StatusNoContent)
	return nil
}

func (r *selfRoutes) servers(c httpapi.Call) error {
	return answer(c, http.StatusOK, func(of route.Backend) (selfservice.Servers, error) { return r.self.Servers(c.Request().Context(), of) })
}

func (r *selfRoutes) server(c httpapi.Call) error {
	return answer(c, http.StatusOK, func(of route.Backend) (selfservice.Server, error) {
		return r.self.Server(c.Request().Context(), of, c.Param("server"))
	})
}

func (r *selfRoutes) choose(c httpapi.Call) error {
	choice, err := readChoice(c)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, func(of route.Backend) (selfservice.Server, error) {
		return r.self.Choose(c.Request().Context(), c, of, c.Param("server"), choice)
	})
}

func (r *selfRoutes) clear(c httpapi.Call) error {
	return answer(c, http.StatusOK, func(of route.Backend) (selfservice.Server, error) {
		return r.self.ClearChoice(c.Request().Context(), c, of, c.Param("server"))
	})
}

// readQuery reads the query of a request into q, or returns invalid, saying why.
func readQuery[Q any](c httpapi.Call, q *Q, parameters map[string]func(q *Q, value string) error, names string, invalid *httpapi.Problem) error {
	u := c.Request().URL
	if u.ForceQuery {
		return invalid
	}
	if err := parseQuery(q, u.RawQuery, parameters, names); err != nil {
		return invalid.Saying(err.Error())
	}
	return nil
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
	if err := readQuery(c, &q, toolParameters, "search, cursor and limit", problems.ToolsQuery); err != nil {
		return err
	}
	return answer(c, http.StatusOK, func(of route.Backend) (selfservice.Tools, error) {
		return r.self.Tools(c.Request().Context(), of, q)
	})
}

func (r *selfRoutes) keys(c httpapi.Call) error {
	return answer(c, http.StatusOK, func(of route.Backend) (selfservice.Keys, error) { return r.self.Keys(c.Request().Context(), of) })
}

func (r *selfRoutes) createKey(c httpapi.Call) error {
	name, lifetime, err := readKeyRequest(c)
	if err != nil {
		return err
	}
	return answer(c, http.StatusCreated, func(of route.Backend) (selfservice.CreatedKey, error) {
		return r.self.CreateKey(c.Request().Context(), c, of, name, lifetime)
	})
}

func (r *selfRoutes) revokeKey(c httpapi.Call) error {
	return done(c, func(of route.Backend) error { return r.self.RevokeKey(c.Request().Context(), c, of, c.Param("keyId")) })
}

func (r *selfRoutes) connections(c httpapi.Call) error {
	return answer(c, http.StatusOK, func(of route.Backend) (selfservice.Connections, error) {
		return r.self.Connections(c.Request().Context(), of)
	})
}

func (r *selfRoutes) disconnect(c httpapi.Call) error {
	return done(c, func(of route.Backend) error {
		return r.self.Disconnect(c.Request().Context(), c, of, c.Param("server"))
	})
}

func (r *selfRoutes) usage(c httpapi.Call) error {
	var q analyticsQuery
	if err := readQuery(c, &q, usageParameters, "from, to, step and top", problems.UsageQuery); err != nil {
		return err
	}
	return answer(c, http.StatusOK, func(of route.Backend) (selfservice.Usage, error) {
		return r.self.Usage(c.Request().Context(), of, selfservice.UsageQuery{From: q.From, To: q.To, Step: q.step, Top: q.Top})
	})
}

func (r *selfRoutes) activity(c httpapi.Call) error {
	q := audit.Query{Limit: audit.DefaultPage}
	if err := readQuery(c, &q, activityParameters, "server, tool, status, from, to, cursor and limit", problems.ActivityQuery); err != nil {
		return err
	}
	return answer(c, http.StatusOK, func(of route.Backend) (selfservice.Activity, error) {
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

// readChoice returns what the body asks for.
func readChoice(c httpapi.Call) (selfservice.Choice, error) {
	body, err := c.Body()
	switch {
	case errors.Is(err, problems.BodyTooLarge):
		return selfservice.Choice{}, problems.ChoiceTooLarge
	case err != nil:
		return selfservice.Choice{}, err
	}
	return parseChoice(body)
}

// parseChoice reads {"use": "On", "deny": ["delete_file"]}.
func parseChoice(body []byte) (choice selfservice.Choice, err error) {
	doc, err := jsondoc.Parse(body)
	if err != nil || doc.Kind != jsondoc.Object {
		return choice, problems.ChoiceRequest
	}
	var wrong []string
	for _, p := range jsondoc.Decode(doc, &choice) {
		wrong = append(wrong, p.String())
	}
	if len(wrong) > 0 {
		return choice, problems.ChoiceRequest.Saying(strings.Join(wrong, "; ") + ". " + problems.ChoiceRequest.Detail)
	}
	return choice, nil
}
