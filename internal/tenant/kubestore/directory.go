// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package kubestore

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
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// routeTimeout bounds the wait for the route of a new bridge. The watch
// delivers it within a fraction of a second, here and at the other replicas. A
// call that comes earlier is refused, and its client gets another token.
const routeTimeout = 5 * time.Second

// errUnknownRoutes says that the routes are not known yet.
var errUnknownRoutes = errors.New("the HostedBridges are not known yet")

// Directory reads from the routes which bridges a person may use, and admits
// new people as the installation's mode allows.
type Directory struct {
	Routes interface {
		Current() *route.Table
		Changed() <-chan struct{}
	}
	Onboarding *Onboarding
	Mode       string
}

// Bridges implements flow.Users.
func (l *Directory) Bridges(_ context.Context, who flow.Identity) ([]v1alpha1.UserID, error) {
	t := l.Routes.Current()
	if t == nil {
		return nil, errUnknownRoutes
	}
	users := slices.Clone(t.Subjects(oauth.KeyOf(who.Issuer, who.Subject)))
	if _, ok := t.Lookup(who.User); ok {
		users = append(users, who.User)
	}
	slices.Sort(users)
	return slices.Compact(users), nil
}

// Offer implements flow.Users.
func (l *Directory) Offer(ctx context.Context, who flow.Identity) (v1alpha1.UserID, error) {
	if l.Mode != settings.Auto {
		return "", flow.ErrNotInvited
	}
	user, err := l.Onboarding.Offer(ctx, who.Issuer, who.Subject)
	return user, loginError(err)
}

// Onboard implements flow.Users.
func (l *Directory) Onboard(ctx context.Context, who flow.Identity, invited v1alpha1.UserID) (v1alpha1.UserID, error) {
	switch {
	case l.Mode == settings.Off:
		return "", flow.ErrNotInvited
	case invited != "":
		return l.bind(ctx, who, invited)
	case l.Mode == settings.Auto:
		return l.create(ctx, who)
	default:
		return "", flow.ErrNotInvited
	}
}

// bind gives a person access to the bridge that they are invited to, if it
// still exists.
func (l *Directory) bind(ctx context.Context, who flow.Identity, invited v1alpha1.UserID) (v1alpha1.UserID, error) {
	t := l.Routes.Current()
	if t == nil {
		return "", errUnknownRoutes
	}
	b, ok := t.Lookup(invited)
	if !ok {
		return "", flow.ErrNotInvited
	}
	of := BridgeRef{NamespacedName: types.NamespacedName{Namespace: b.Namespace, Name: b.Name}, UID: b.BridgeUID}
	return invited, loginError(l.Onboarding.Bind(ctx, of, who.Issuer, who.Subject))
}

// create makes a bridge for a person, and waits until its route is known: the
// client calls it at once.
func (l *Directory) create(ctx context.Context, who flow.Identity) (v1alpha1.UserID, error) {
	user, err := l.Onboarding.Create(ctx, who.Issuer, who.Subject)
	if err == nil {
		l.awaitRoute(ctx, who)
	}
	return user, loginError(err)
}

func (l *Directory) awaitRoute(ctx context.Context, who flow.Identity) {
	ctx, cancel := context.WithTimeout(ctx, routeTimeout)
	defer cancel()
	for {
		changed := l.Routes.Changed()
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

// loginError joins err with flow.ErrNotInvited if it says that the person has
// no bridge.
func loginError(err error) error {
	for _, none := range []error{ErrNoBridge, ErrTooMany, ErrRemoved, ErrSubject, ErrOff} {
		if errors.Is(err, none) {
			return errors.Join(flow.ErrNotInvited, err)
		}
	}
	return err
}
