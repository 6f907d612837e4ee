// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/oauth/settings"
	"github.com/hostedbridge/hostedbridge/internal/onboarding"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// knownWithin bounds the waiting for the route of a bridge that was made. The watch
// brings it within a fraction of a second, here and at the other replicas. A call
// that comes too early for it is refused, and its client gets another token.
const knownWithin = 5 * time.Second

// errNoRoutes is that it cannot be said yet whose bridge is whose.
var errNoRoutes = errors.New("the HostedBridges are not known yet")

// loginUsers knows from the routes whose bridges a person may use, and lets new
// ones in as the installation's mode has it.
type loginUsers struct {
	routes interface {
		Current() *route.Table
		Changed() <-chan struct{}
	}
	onboarding *onboarding.Onboarding
	mode       string
}

// Bridges implements flow.Users.
func (l *loginUsers) Bridges(_ context.Context, who flow.Identity) ([]v1alpha1.UserID, error) {
	t := l.routes.Current()
	if t == nil {
		return nil, errNoRoutes
	}
	users := slices.Clone(t.Subjects(oauth.KeyOf(who.Issuer, who.Subject)))
	if _, ok := t.Lookup(who.User); ok {
		users = append(users, who.User)
	}
	slices.Sort(users)
	return slices.Compact(users), nil
}

// Offer implements flow.Users.
func (l *loginUsers) Offer(ctx context.Context, who flow.Identity) (v1alpha1.UserID, error) {
	if l.mode != settings.Auto {
		return "", flow.ErrNotInvited
	}
	user, err := l.onboarding.Offer(ctx, who.Issuer, who.Subject)
	return user, letIn(err)
}

// Onboard implements flow.Users.
func (l *loginUsers) Onboard(ctx context.Context, who flow.Identity, invited v1alpha1.UserID) (v1alpha1.UserID, error) {
	switch {
	case l.mode == settings.Off:
		return "", flow.ErrNotInvited
	case invited != "":
		return l.bind(ctx, who, invited)
	case l.mode == settings.Auto:
		return l.create(ctx, who)
	default:
		return "", flow.ErrNotInvited
	}
}

// bind lets who use the bridge that they are invited to, if it is still there.
func (l *loginUsers) bind(ctx context.Context, who flow.Identity, invited v1alpha1.UserID) (v1alpha1.UserID, error) {
	t := l.routes.Current()
	if t == nil {
		return "", errNoRoutes
	}
	b, ok := t.Lookup(invited)
	if !ok {
		return "", flow.ErrNotInvited
	}
	of := onboarding.Bridge{NamespacedName: types.NamespacedName{Namespace: b.Namespace, Name: b.Name}, UID: b.BridgeUID}
	return invited, letIn(l.onboarding.Bind(ctx, of, who.Issuer, who.Subject))
}

// create makes a bridge for who, and waits until its route is known: the client
// calls as soon as it is told.
func (l *loginUsers) create(ctx context.Context, who flow.Identity) (v1alpha1.UserID, error) {
	user, err := l.onboarding.Create(ctx, who.Issuer, who.Subject)
	if err == nil {
		l.awaitRoute(ctx, who)
	}
	return user, letIn(err)
}

func (l *loginUsers) awaitRoute(ctx context.Context, who flow.Identity) {
	ctx, cancel := context.WithTimeout(ctx, knownWithin)
	defer cancel()
	for {
		changed := l.routes.Changed()
		if users, err := l.Bridges(ctx, who); err == nil && len(users) > 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// letIn returns why somebody is not let in: that there is no bridge for them, or
// that it cannot be said now.
func letIn(err error) error {
	for _, none := range []error{onboarding.ErrNoBridge, onboarding.ErrTooMany, onboarding.ErrRemoved, onboarding.ErrSubject, onboarding.ErrOff} {
		if errors.Is(err, none) {
			return errors.Join(flow.ErrNotInvited, err)
		}
	}
	return err
}
