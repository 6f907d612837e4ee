// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package requests

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
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

// Store keeps requests: Cluster, which says what its errors are.
type Store interface {
	Of(ctx context.Context, of route.Backend, servers []string) ([]v1alpha1.BridgeRequest, error)
	Ask(ctx context.Context, asked v1alpha1.BridgeRequestSpec) (*v1alpha1.BridgeRequest, error)
	Withdraw(ctx context.Context, of route.Backend, server string) error
	All(ctx context.Context) ([]v1alpha1.BridgeRequest, error)
	Decide(ctx context.Context, d Decision, check func(*v1alpha1.BridgeRequest) error) (*v1alpha1.BridgeRequest, error)
}

// KnownBridges are the HostedBridges as they are known, also while the API server is away.
type KnownBridges interface {
	Current() *route.Table
	Bridge(ctx context.Context, of route.Backend) (*effective.Bridge, error)
}

// Requests are users' requests for servers, and administrators' answers.
type Requests struct {
	// Store keeps them.
	Store Store
	// Bridges are the HostedBridges.
	Bridges KnownBridges
	// Recipes is nil for no catalog.
	Recipes selfservice.Recipes
}

// List returns what a user has asked for.
func (r *Requests) List(ctx context.Context, of route.Backend) (List, error) {
	_, known, err := r.requests(ctx, of)
	return known, err
}

func (r *Requests) requests(ctx context.Context, of route.Backend) (*effective.Bridge, List, error) {
	b, err := r.Bridges.Bridge(ctx, of)
	if err != nil {
		return nil, List{}, fmt.Errorf("%w: %w", httpapi.BridgeUnknown, err)
	}
	found, err := r.Store.Of(ctx, of, selfservice.OnRequest(b))
	if err != nil {
		return nil, List{}, problemOf(err)
	}
	return b, listOf(b, r.Recipes, found), nil
}

// Ask asks an administrator for a server. One that was refused can be asked for again.
func (r *Requests) Ask(ctx context.Context, by selfservice.Actor, of route.Backend, server, reason string) (Request, error) {
	if err := checkReason(reason); err != nil {
		return Request{}, err
	}
	b, known, err := r.requests(ctx, of)
	if err != nil {
		return Request{}, err
	}
	open := 0
	for _, q := range known.Requests {
		if q.State == Open {
			open++
		}
	}
	_, isKnown := known.To(server)
	switch {
	case !isKnown && !slices.Contains(known.Offered, server):
		return Request{}, errNone
	case open >= MaxOpen:
		return Request{}, errLimit
	}
	acting, cancel := httpapi.ActContext(ctx)
	defer cancel()
	q, err := r.Store.Ask(acting, v1alpha1.BridgeRequestSpec{
		User: of.User, BridgeUID: of.BridgeUID, Server: server, Offer: selfservice.OfferOf(b, server), Reason: reason,
	})
	if err := finish(by, httpapi.Act{Self: true, Name: "requests.create", Target: server, User: string(of.User)}, err); err != nil {
		return Request{}, err
	}
	return requestOf(b, q), nil
}

// Withdraw removes a request. An approved one is given up by it.
func (r *Requests) Withdraw(ctx context.Context, by selfservice.Actor, of route.Backend, server string) error {
	acting, cancel := httpapi.ActContext(ctx)
	defer cancel()
	err := r.Store.Withdraw(acting, of, server)
	return finish(by, httpapi.Act{Self: true, Name: "requests.delete", Target: server, User: string(of.User)}, err)
}

// finish notes an act, and returns why it was not done.
func finish(by selfservice.Actor, act httpapi.Act, err error) error {
	problem := problemOf(err)
	if errors.Is(problem, httpapi.ClusterAway) {
		act.Unsure = true
		return errors.Join(problem, by.Audit(act))
	}
	if problem != nil {
		return problem
	}
	return by.Audit(act)
}

// problemOf returns err of the store as the caller may know it, nil for none.
func problemOf(err error) error {
	p := httpapi.ClusterAway
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotFound):
		p = errNone
	case errors.Is(err, ErrOpen):
		p = errIsOpen
	case errors.Is(err, ErrApproved):
		p = errIsApproved
	case errors.Is(err, ErrChanged):
		p = errIsChanged
	case errors.Is(err, ErrOutdated):
		p = errIsOutdated
	}
	return fmt.Errorf("%w: %w", p, err)
}

// bridgeOf returns the HostedBridge for which a request is, nil if its user has another one
// now or none.
func (r *Requests) bridgeOf(ctx context.Context, q *v1alpha1.BridgeRequest) *effective.Bridge {
	t := r.Bridges.Current()
	if t == nil {
		return nil
	}
	of, ok := t.Lookup(q.Spec.User)
	if !ok || of.BridgeUID != q.Spec.BridgeUID {
		return nil
	}
	b, err := r.Bridges.Bridge(ctx, of)
	if err != nil {
		return nil // It was replaced just now.
	}
	return b
}

// All returns the requests of all users in a state, in all states if it is empty: the
// oldest open ones first, and then the others, the newest answer first. Those for HostedBridges
// that are gone are not among them.
func (r *Requests) All(ctx context.Context, by selfservice.Actor, state string) ([]UserRequest, error) {
	all, err := r.Store.All(ctx)
	if err != nil {
		return nil, problemOf(err)
	}
	list := []UserRequest{}
	for i := range all {
		b := r.bridgeOf(ctx, &all[i])
		if b == nil {
			continue
		}
		q := userRequestOf(b, &all[i])
		if state == "" || q.State == state {
			list = append(list, q)
		}
	}
	slices.SortFunc(list, func(a, b UserRequest) int {
		return cmp.Or(a.Compare(b.Request), cmp.Compare(a.User, b.User), cmp.Compare(a.Server, b.Server))
	})
	return list, by.Audit(httpapi.Act{Name: "requests.list"})
}

// Decide answers a user's request.
func (r *Requests) Decide(ctx context.Context, by selfservice.Actor, d Decision) (UserRequest, error) {
	act := httpapi.Act{Name: "requests.approve", Target: d.Server, User: string(d.User)}
	switch d.Verdict {
	case v1alpha1.RequestApproved:
	case v1alpha1.RequestRefused:
		if act.Name = "requests.refuse"; strings.TrimSpace(d.Reason) == "" {
			return UserRequest{}, errDecision
		}
	default:
		return UserRequest{}, errDecision
	}
	if d.Version == "" {
		return UserRequest{}, errDecision
	}
	if err := checkReason(d.Reason); err != nil {
		return UserRequest{}, err
	}
	acting, cancel := httpapi.ActContext(ctx)
	defer cancel()
	var b *effective.Bridge
	q, err := r.Store.Decide(acting, d, func(q *v1alpha1.BridgeRequest) error {
		if b = r.bridgeOf(acting, q); b == nil {
			return ErrNotFound
		}
		if d.Verdict == v1alpha1.RequestApproved && requestOf(b, q).State == Outdated {
			return ErrOutdated
		}
		return nil
	})
	if err := finish(by, act, err); err != nil {
		return UserRequest{}, err
	}
	return userRequestOf(b, q), nil
}

// checkReason refuses a text that is too long for a reason.
func checkReason(reason string) error {
	if !utf8.ValidString(reason) || utf8.RuneCountInString(reason) > MaxReason {
		return errReason
	}
	return nil
}

// The answers to requests that are not accepted.
var (
	errInvalid    = httpapi.New(http.StatusUnprocessableEntity, "request_invalid", `Send {"reason": "why you need the server"}; an administrator sends {"version": "that of the request", "verdict": "Approved"}, or the verdict Refused and a reason.`)
	errDecision   = httpapi.New(http.StatusUnprocessableEntity, "decision_invalid", "verdict must be Approved or Refused, version must be that of the request in GET /admin/requests, and a refusal needs a reason, which the user reads.")
	errReason     = httpapi.New(http.StatusUnprocessableEntity, "reason_too_long", "A reason has at most 500 characters.")
	errNone       = httpapi.New(http.StatusNotFound, "request_not_found", "There is no such request, and no profile offers the server on request.")
	errIsOpen     = httpapi.New(http.StatusConflict, "request_open", "The server is asked for already, and nobody has answered yet.")
	errIsApproved = httpapi.New(http.StatusConflict, "request_approved", "The request is approved: turn the server on.")
	errIsChanged  = httpapi.New(http.StatusConflict, "request_changed", "The request is not the version that you read. Read it again, and answer that version.")
	errIsOutdated = httpapi.New(http.StatusConflict, "request_outdated", "The profile offers something else under this name now than the user asked for. The user has to ask again.")
	errLimit      = httpapi.New(http.StatusConflict, "request_limit_reached", "Ten requests are open, which is the most. Withdraw one, or wait for an answer.")
	errQuery      = httpapi.New(http.StatusBadRequest, "query_invalid", "A parameter of the query is unknown, or its value is invalid.")
)
