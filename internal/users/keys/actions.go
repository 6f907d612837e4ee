// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// Keys are the keys of users' bridges, as users and administrators see and change them.
type Keys struct {
	// Store keeps the keys.
	Store Store
	// Routes says which bridge is a user's.
	Routes Routes
	// Known returns the HostedBridge of a user as it is known, also while the API server is
	// away.
	Known func(context.Context, route.Backend) (*effective.Bridge, error)
}

// Store keeps the keys of bridges: Cluster, which says what its errors are.
type Store interface {
	Create(ctx context.Context, of route.Backend, name string, expiresAt time.Time) (*Minted, error)
	List(ctx context.Context, of route.Backend) ([]Info, error)
	Revoke(ctx context.Context, of route.Backend, id string) error
}

// Routes is what is known of users and bridges.
type Routes interface {
	// Current returns the newest snapshot, nil before the first one.
	Current() *route.Table
}

// Actor is the caller of a request and the bridge whose keys the caller sees and changes. The
// audit trail has each change, and each look of an administrator. Errors are or wrap
// *httpapi.Problem.
type Actor struct {
	keys *Keys
	call httpapi.Call
	find func() (route.Backend, error)
	// own means that the bridge is the caller's. All other callers are administrators.
	own bool
}

// Own returns a user as the actor on the keys of their own bridge.
func (k *Keys) Own(c httpapi.Call) Actor { return Actor{k, c, c.Bridge, true} }

// Of returns an administrator as the actor on the keys of a user's bridge.
func (k *Keys) Of(c httpapi.Call, user v1alpha1.UserID) Actor {
	return Actor{k, c, func() (route.Backend, error) { return k.bridgeOf(user) }, false}
}

func (k *Keys) bridgeOf(user v1alpha1.UserID) (route.Backend, error) {
	t := k.Routes.Current()
	if t == nil {
		return route.Backend{}, httpapi.NotReady
	}
	b, known := t.Lookup(user)
	if !known {
		return route.Backend{}, httpapi.NotFound
	}
	return b, nil
}

// List returns what may be told of the keys. While the API server is away, users are told of
// the keys that are known to work.
func (a Actor) List() (List, error) {
	of, err := a.find()
	if err != nil {
		return List{}, err
	}
	ctx := a.call.Request().Context()
	infos, err := a.keys.Store.List(ctx, of)
	switch {
	case err == nil && a.own:
		return List{Keys: infos, Limit: Max}, nil
	case err == nil:
		return List{Keys: infos, Limit: Max}, a.call.Audit(a.act("keys.list", of, ""))
	case a.own && !errors.Is(err, ErrNoBridge):
		if b, unknown := a.keys.Known(ctx, of); unknown == nil {
			return knownOf(b.HostedBridge), nil
		}
	}
	return List{}, problemOf(err)
}

// Create makes a key, which is in its answer and nowhere else. No key outlives the one that
// made it, or whoever had one for a time kept access.
func (a Actor) Create(name string, lifetime time.Duration) (Created, error) {
	of, err := a.find()
	if err != nil {
		return Created{}, err
	}
	expiresAt := apikey.Expiry(time.Now(), lifetime)
	if a.own {
		if expiresAt, err = expiryBy(a.call.KeyEnds(), expiresAt); err != nil {
			return Created{}, err
		}
	}
	ctx, cancel := httpapi.ActContext(a.call.Request().Context())
	defer cancel()
	minted, err := a.keys.Store.Create(ctx, of, name, expiresAt)
	if err != nil {
		return Created{}, a.failed("keys.create", of, err)
	}
	if err := a.call.Audit(a.act("keys.create", of, minted.ID)); err != nil {
		return Created{}, err
	}
	return createdOf(minted, name, time.Now()), nil
}

// Revoke removes a key that was added as one of its own.
func (a Actor) Revoke(id string) error {
	of, err := a.find()
	if err != nil {
		return err
	}
	ctx, cancel := httpapi.ActContext(a.call.Request().Context())
	defer cancel()
	if err := a.keys.Store.Revoke(ctx, of, id); err != nil {
		return a.failed("keys.revoke", of, err)
	}
	return a.call.Audit(a.act("keys.revoke", of, id))
}

// act returns an act for the audit trail. id is the key that it is about, empty for none.
func (a Actor) act(name string, of route.Backend, id string) httpapi.Act {
	return httpapi.Act{Self: a.own, Name: name, User: string(of.User), Target: id}
}

// failed returns what the caller may know of err. An act that may have been done is one for
// the audit trail.
func (a Actor) failed(name string, of route.Backend, err error) error {
	if unsure, ok := errors.AsType[*UnsureError](err); ok {
		act := a.act(name, of, unsure.KeyID)
		act.Unsure = true
		if err := a.call.Audit(act); err != nil {
			return err
		}
	}
	return problemOf(err)
}

// What users and administrators are refused. The others are of all that is served.
var (
	errRequest         = httpapi.New(http.StatusUnprocessableEntity, "key_request_invalid", `Send {"name": "laptop", "expires": "90d"}; both may be left out.`)
	errRequestTooLarge = httpapi.New(http.StatusRequestEntityTooLarge, "body_too_large", "A request for a key is limited to 4 KiB.")
	errNotFound        = httpapi.New(http.StatusNotFound, "key_not_found", "The user has no key of this id.")
	errManaged         = httpapi.New(http.StatusConflict, "key_managed", "The key was not added as one of its own; remove it from spec.apiKeys.")
	errLimit           = httpapi.New(http.StatusConflict, "key_limit_reached", "The user has as many keys as a HostedBridge takes; revoke one first.")
)

// expiryBy returns when a key expires that is made with a key that expires at makers, zero for
// never.
func expiryBy(makers, asked time.Time) (time.Time, error) {
	switch {
	case makers.IsZero():
		return asked, nil
	case asked.IsZero():
		return makers, nil
	case asked.After(makers):
		return time.Time{}, errRequest.Saying("Your key ends at " + makers.UTC().Format(time.RFC3339) +
			", and a key that it makes ends then at the latest: ask for a shorter time, or leave out expires. An administrator makes keys that are good for longer.")
	}
	return asked, nil
}

// problemOf returns err of the store as the caller may know it.
func problemOf(err error) error {
	managed, isManaged := errors.AsType[*ManagedError](err)
	p := httpapi.ClusterAway
	switch {
	case isManaged:
		p = errManaged.Saying("The key is held by " + strings.Join(managed.By, ", ") + "; remove it from spec.apiKeys where they have it from.")
	case errors.Is(err, ErrNoBridge):
		p = httpapi.NotFound
	case errors.Is(err, ErrNoKey):
		p = errNotFound
	case errors.Is(err, ErrTooMany):
		p = errLimit
	}
	return fmt.Errorf("%w: %w", p, err)
}
