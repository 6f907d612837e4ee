// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

// maxRequest holds a reason of selfservice.MaxReason characters.
const maxRequest = 8 << 10

// UserRequests keep what users ask for: requests.Store. Errors are those of package
// selfservice about requests, and of the API server.
type UserRequests interface {
	Of(ctx context.Context, of route.Backend, servers []string) ([]v1alpha1.BridgeRequest, error)
	Ask(ctx context.Context, asked v1alpha1.BridgeRequestSpec) (*v1alpha1.BridgeRequest, error)
	Withdraw(ctx context.Context, of route.Backend, server string) error
	All(ctx context.Context) ([]v1alpha1.BridgeRequest, error)
	Decide(ctx context.Context, d selfservice.Decision, check func(*v1alpha1.BridgeRequest) error) (*v1alpha1.BridgeRequest, error)
}

// KnownBridges are the HostedBridges as they are known, also while the API server is away.
type KnownBridges interface {
	Current() *route.Table
	Bridge(ctx context.Context, of route.Backend) (*v1alpha1.HostedBridge, error)
}

// Requests are users' requests for servers, and administrators' answers.
type Requests struct {
	kept    UserRequests
	bridges KnownBridges
}

var _ selfservice.RequestActions = (*Requests)(nil)

// NewRequests returns the requests in a store.
func NewRequests(kept UserRequests, bridges KnownBridges) *Requests { return &Requests{kept, bridges} }

// Feature returns the feature by which users ask, and administrators answer.
func (r *Requests) Feature() httpapi.Feature {
	const own, ownOne, one = "/u/:userId/requests", "/u/:userId/requests/:server", "/admin/requests/:userId/:server"
	f := httpapi.Feature{
		Name: "requests", Params: params, MaxPath: maxPath, MaxQuery: maxQuery, HolderRate: selfRate, TooManyOfHolder: problems.TooManyQuestions,
		Routes: []httpapi.Route{
			{Method: http.MethodGet, Path: own, Access: httpapi.User, Handle: limited(r.list)},
			{Method: http.MethodPut, Path: ownOne, Access: httpapi.UserManage, Act: true, MaxBody: maxRequest, Handle: limited(r.ask)},
			{Method: http.MethodDelete, Path: ownOne, Access: httpapi.UserManage, Act: true, Handle: limited(r.withdraw)},
			{Method: http.MethodGet, Path: "/admin/requests", Access: httpapi.Admin, Query: query, Roles: []oauth.Role{oauth.RoleAuditor, oauth.RoleCurator}, Handle: r.listAll},
			{Method: http.MethodPut, Path: one, Access: httpapi.Admin, MaxBody: maxRequest, Roles: []oauth.Role{oauth.RoleCurator}, Handle: r.decide},
		},
	}
	for i := range f.Routes {
		f.Routes[i].AnyQuery, f.Routes[i].NoHead = true, true
		f.Routes[i].MaxAnswer = pageAnswer
	}
	return f
}

// Requests implements selfservice.RequestActions.
func (r *Requests) Requests(ctx context.Context, of route.Backend) (selfservice.Requests, error) {
	_, known, err := r.requests(ctx, of)
	return known, err
}

func (r *Requests) requests(ctx context.Context, of route.Backend) (*v1alpha1.HostedBridge, selfservice.Requests, error) {
	b, err := r.bridges.Bridge(ctx, of)
	if err != nil {
		return nil, selfservice.Requests{}, fmt.Errorf("%w: %w", problems.BridgeUnknown, err)
	}
	found, err := r.kept.Of(ctx, of, selfservice.OnRequest(b))
	if err != nil {
		return nil, selfservice.Requests{}, requestProblem(err)
	}
	return b, selfservice.RequestsOf(b, found), nil
}

// Ask implements selfservice.RequestActions.
func (r *Requests) Ask(ctx context.Context, by selfservice.Actor, of route.Backend, server, reason string) (selfservice.Request, error) {
	if err := checkReason(reason); err != nil {
		return selfservice.Request{}, err
	}
	b, known, err := r.requests(ctx, of)
	if err != nil {
		return selfservice.Request{}, err
	}
	open := 0
	for _, q := range known.Requests {
		if q.State == selfservice.RequestOpen {
			open++
		}
	}
	_, isKnown := known.To(server)
	switch {
	case !isKnown && !slices.Contains(known.Offered, server):
		return selfservice.Request{}, problems.RequestNone
	case open >= selfservice.MaxOpenRequests:
		return selfservice.Request{}, problems.RequestLimit
	}
	acting, cancel := context.WithTimeout(context.WithoutCancel(ctx), actTimeout)
	defer cancel()
	q, err := r.kept.Ask(acting, v1alpha1.BridgeRequestSpec{
		User: of.User, BridgeUID: of.BridgeUID, Server: server, Offer: selfservice.OfferOf(b, server), Reason: reason,
	})
	if err := finish(by, httpapi.Act{Self: true, Name: "requests.create", Target: server, User: string(of.User)}, err); err != nil {
		return selfservice.Request{}, err
	}
	return selfservice.RequestOf(b, q), nil
}

// Withdraw implements selfservice.RequestActions.
func (r *Requests) Withdraw(ctx context.Context, by selfservice.Actor, of route.Backend, server string) error {
	acting, cancel := context.WithTimeout(context.WithoutCancel(ctx), actTimeout)
	defer cancel()
	err := r.kept.Withdraw(acting, of, server)
	return finish(by, httpapi.Act{Self: true, Name: "requests.delete", Target: server, User: string(of.User)}, err)
}

// finish notes an act, and returns why it was not done.
func finish(by selfservice.Actor, act httpapi.Act, err error) error {
	problem := requestProblem(err)
	if errors.Is(problem, problems.KeysAway) {
		act.Unsure = true
		return errors.Join(problem, by.Audit(act))
	}
	if problem != nil {
		return problem
	}
	return by.Audit(act)
}

// requestProblem returns err of the store as the caller may know it, nil for none.
func requestProblem(err error) error {
	p := problems.KeysAway
	switch {
	case err == nil:
		return nil
	case errors.Is(err, selfservice.ErrNoRequest):
		p = problems.RequestNone
	case errors.Is(err, selfservice.ErrRequestOpen):
		p = problems.RequestIsOpen
	case errors.Is(err, selfservice.ErrRequestApproved):
		p = problems.RequestIsApproved
	case errors.Is(err, selfservice.ErrRequestChanged):
		p = problems.RequestChanged
	case errors.Is(err, selfservice.ErrRequestOutdated):
		p = problems.RequestIsOutdated
	}
	return fmt.Errorf("%w: %w", p, err)
}

func (r *Requests) list(c httpapi.Call) error {
	return answer(c, http.StatusOK, func(of route.Backend) (selfservice.Requests, error) { return r.Requests(c.Request().Context(), of) })
}

func (r *Requests) ask(c httpapi.Call) error {
	var asked struct {
		Reason string `json:"reason"`
	}
	if err := readRequest(c, &asked); err != nil {
		return err
	}
	return answer(c, http.StatusOK, func(of route.Backend) (selfservice.Request, error) {
		return r.Ask(c.Request().Context(), c, of, c.Param("server"), asked.Reason)
	})
}

func (r *Requests) withdraw(c httpapi.Call) error {
	return done(c, func(of route.Backend) error { return r.Withdraw(c.Request().Context(), c, of, c.Param("server")) })
}

// bridgeOf returns the HostedBridge for which a request is, nil if its user has another one
// now or none.
func (r *Requests) bridgeOf(ctx context.Context, q *v1alpha1.BridgeRequest) *v1alpha1.HostedBridge {
	t := r.bridges.Current()
	if t == nil {
		return nil
	}
	of, ok := t.Lookup(q.Spec.User)
	if !ok || of.BridgeUID != q.Spec.BridgeUID {
		return nil
	}
	b, err := r.bridges.Bridge(ctx, of)
	if err != nil {
		return nil // It was replaced just now.
	}
	return b
}

// AllRequests returns the requests of all users in a state, in all states if it is empty: the
// oldest open ones first, and then the others, the newest answer first. Those for HostedBridges
// that are gone are not among them.
func (r *Requests) AllRequests(ctx context.Context, by selfservice.Actor, state string) ([]selfservice.UserRequest, error) {
	all, err := r.kept.All(ctx)
	if err != nil {
		return nil, requestProblem(err)
	}
	list := []selfservice.UserRequest{}
	for i := range all {
		b := r.bridgeOf(ctx, &all[i])
		if b == nil {
			continue
		}
		q := selfservice.UserRequestOf(b, &all[i])
		if state == "" || q.State == state {
			list = append(list, q)
		}
	}
	slices.SortFunc(list, func(a, b selfservice.UserRequest) int {
		return cmp.Or(a.Compare(b.Request), cmp.Compare(a.User, b.User), cmp.Compare(a.Server, b.Server))
	})
	return list, by.Audit(httpapi.Act{Name: "requests.list"})
}

var requestStates = []string{selfservice.RequestOpen, selfservice.RequestApproved, selfservice.RequestRefused, selfservice.RequestOutdated}

func (r *Requests) listAll(c httpapi.Call) error {
	state := ""
	err := readQuery(c, &state, map[string]func(*string, string) error{"state": func(to *string, value string) error {
		if !slices.Contains(requestStates, value) {
			return errors.New("it must be one of " + strings.Join(requestStates, ", "))
		}
		*to = value
		return nil
	}}, "state", problems.RequestsQuery)
	if err != nil {
		return err
	}
	list, err := r.AllRequests(c.Request().Context(), c, state)
	if err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusOK, struct {
		Requests []selfservice.UserRequest `json:"requests"`
	}{list})
}

func (r *Requests) decide(c httpapi.Call) error {
	var asked struct {
		Version string                  `json:"version"`
		Verdict v1alpha1.RequestVerdict `json:"verdict"`
		Reason  string                  `json:"reason"`
	}
	if err := readRequest(c, &asked); err != nil {
		return err
	}
	q, err := r.Decide(c.Request().Context(), c, selfservice.Decision{
		User: v1alpha1.UserID(c.Param("userId")), Server: c.Param("server"), Version: asked.Version, Verdict: asked.Verdict, Reason: asked.Reason,
	})
	if err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusOK, q)
}

// Decide answers a user's request.
func (r *Requests) Decide(ctx context.Context, by selfservice.Actor, d selfservice.Decision) (selfservice.UserRequest, error) {
	act := httpapi.Act{Name: "requests.approve", Target: d.Server, User: string(d.User)}
	switch d.Verdict {
	case v1alpha1.RequestApproved:
	case v1alpha1.RequestRefused:
		if act.Name = "requests.refuse"; strings.TrimSpace(d.Reason) == "" {
			return selfservice.UserRequest{}, problems.DecisionInvalid
		}
	default:
		return selfservice.UserRequest{}, problems.DecisionInvalid
	}
	if d.Version == "" {
		return selfservice.UserRequest{}, problems.DecisionInvalid
	}
	if err := checkReason(d.Reason); err != nil {
		return selfservice.UserRequest{}, err
	}
	acting, cancel := context.WithTimeout(context.WithoutCancel(ctx), actTimeout)
	defer cancel()
	var b *v1alpha1.HostedBridge
	q, err := r.kept.Decide(acting, d, func(q *v1alpha1.BridgeRequest) error {
		if b = r.bridgeOf(acting, q); b == nil {
			return selfservice.ErrNoRequest
		}
		if d.Verdict == v1alpha1.RequestApproved && selfservice.RequestOf(b, q).State == selfservice.RequestOutdated {
			return selfservice.ErrRequestOutdated
		}
		return nil
	})
	if err := finish(by, act, err); err != nil {
		return selfservice.UserRequest{}, err
	}
	return selfservice.UserRequestOf(b, q), nil
}

// checkReason refuses a text that is too long for a reason.
func checkReason(reason string) error {
	if !utf8.ValidString(reason) || utf8.RuneCountInString(reason) > selfservice.MaxReason {
		return problems.ReasonTooLong
	}
	return nil
}

// readRequest reads the JSON object of the body. An empty body is an empty object.
func readRequest(c httpapi.Call, into any) error {
	body, err := c.Body()
	switch {
	case errors.Is(err, problems.BodyTooLarge):
		return problems.ReasonTooLong
	case err != nil || len(body) == 0:
		return err
	}
	doc, err := jsondoc.Parse(body)
	if err != nil || doc.Kind != jsondoc.Object {
		return problems.RequestInvalid
	}
	var wrong []string
	for _, p := range jsondoc.Decode(doc, into) {
		wrong = append(wrong, p.String())
	}
	if len(wrong) > 0 {
		return problems.RequestInvalid.Saying(strings.Join(wrong, "; ") + ". " + problems.RequestInvalid.Detail)
	}
	return nil
}
