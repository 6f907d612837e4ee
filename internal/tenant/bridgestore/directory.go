// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestore

import (
	"context"
	"errors"
	"fmt"
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
// delivers it within a fraction of a second, here and at the other replicas.
const routeTimeout = 5 * time.Second

// errUnknownRoutes says that the routes are not known yet.
var errUnknownRoutes = errors.New("the HostedBridges are not known yet")

// errUnknownRoute says that a new HostedBridge is not routed. The person can try
// again. It lasts if an older HostedBridge elsewhere has the user id.
var errUnknownRoute = errors.New("the new HostedBridge has no route yet")

// Directory reads from the routes which bridges a person may use, and admits
// new people as the installation's mode allows.
type Directory struct {
	Routes interface {
		Current() *route.Table
		Changed() <-chan struct{}
	}
	Onboarding *Onboarding
	// Persons keeps the groups of those who log in.
	Persons *Persons
	Mode    string
	// Trusted are the namespaces whose HostedBridges say for the installation whose
	// bridges they are.
	Trusted []string
}

func personOf(who flow.Identity) route.Person {
	return route.Person{Subject: oauth.KeyOf(who.Issuer, who.Subject), Ruled: who.User, Since: who.Since}
}

// Closed implements flow.Users.
func (l *Directory) Closed(_ context.Context, who flow.Identity) (bool, error) {
	t := l.Routes.Current()
	if t == nil {
		return false, errUnknownRoutes
	}
	return t.Standing(oauth.KeyOf(who.Issuer, who.Subject)).Closed, nil
}

// MayCome implements flow.Users.
func (l *Directory) MayCome(_ context.Context, who flow.Identity, user v1alpha1.UserID) (bool, error) {
	t := l.Routes.Current()
	if t == nil {
		return false, errUnknownRoutes
	}
	_, known := t.Lookup(user)
	return !known && t.IsOpen(personOf(who)), nil
}

// checkOpen returns an error that wraps flow.ErrNotInvited for a person whose access was
// taken away.
func (l *Directory) checkOpen(ctx context.Context, who flow.Identity) error {
	closed, err := l.Closed(ctx, who)
	if err == nil && closed {
		return fmt.Errorf("%w: the person's access was taken away", flow.ErrNotInvited)
	}
	return err
}

// Bridges implements flow.Users.
func (l *Directory) Bridges(_ context.Context, who flow.Identity) ([]flow.Bridge, error) {
	t := l.Routes.Current()
	if t == nil {
		return nil, errUnknownRoutes
	}
	var bridges []flow.Bridge
	for b := range t.BridgesOf(personOf(who)) {
		bridges = append(bridges, l.bridge(b, who))
	}
	return bridges, nil
}

func (l *Directory) bridge(b route.Backend, who flow.Identity) flow.Bridge {
	return flow.Bridge{
		User: b.User, UID: b.BridgeUID, Namespace: b.Namespace, Trusted: slices.Contains(l.Trusted, b.Namespace),
		Onboarded: l.Onboarding.Made(types.NamespacedName{Namespace: b.Namespace, Name: b.Name}, who.Issuer, who.Subject),
	}
}

// Offer implements flow.Users.
func (l *Directory) Offer(ctx context.Context, who flow.Identity) (v1alpha1.UserID, error) {
	if l.Mode != settings.Auto {
		return "", flow.ErrNotInvited
	}
	if err := l.checkOpen(ctx, who); err != nil {
		return "", err
	}
	user, err := l.Onboarding.Offer(ctx, who.Issuer, who.Subject)
	return user, loginError(err)
}

// Invite implements flow.Users.
func (l *Directory) Invite(user v1alpha1.UserID) (flow.Invited, error) {
	t := l.Routes.Current()
	if t == nil {
		return flow.Invited{}, errUnknownRoutes
	}
	b, _ := t.Lookup(user)
	return flow.Invited{User: user, Bridge: b.BridgeUID}, nil
}

// Onboard implements flow.Users.
func (l *Directory) Onboard(ctx context.Context, who flow.Identity, invited flow.Invited) (flow.Bridge, error) {
	if err := l.checkOpen(ctx, who); err != nil {
		return flow.Bridge{}, err
	}
	switch {
	case l.Mode == settings.Off:
		return flow.Bridge{}, flow.ErrNotInvited
	case invited.User != "":
		return l.bind(ctx, who, invited)
	case l.Mode == settings.Auto:
		return l.create(ctx, who)
	default:
		return flow.Bridge{}, flow.ErrNotInvited
	}
}

// bind gives a person access to the bridge that they are invited to, if it
// still exists. A later one of the same user id is another one.
func (l *Directory) bind(ctx context.Context, who flow.Identity, invited flow.Invited) (flow.Bridge, error) {
	t := l.Routes.Current()
	if t == nil {
		return flow.Bridge{}, errUnknownRoutes
	}
	b, ok := t.Lookup(invited.User)
	if !ok || invited.Bridge != "" && invited.Bridge != b.BridgeUID {
		return flow.Bridge{}, flow.ErrNotInvited
	}
	of := BridgeRef{NamespacedName: types.NamespacedName{Namespace: b.Namespace, Name: b.Name}, UID: b.BridgeUID}
	return l.bridge(b, who), loginError(l.Onboarding.Bind(ctx, of, who.Issuer, who.Subject))
}

// create makes a bridge for a person, and waits until its route is known: the
// client calls it at once.
func (l *Directory) create(ctx context.Context, who flow.Identity) (flow.Bridge, error) {
	if _, err := l.Onboarding.Create(ctx, who.Issuer, who.Subject); err != nil {
		return flow.Bridge{}, loginError(err)
	}
	return l.awaitRoute(ctx, who)
}

// awaitRoute returns the bridge that the person's first login made. Another bridge of
// theirs is not what they agreed to.
func (l *Directory) awaitRoute(ctx context.Context, who flow.Identity) (flow.Bridge, error) {
	ctx, cancel := context.WithTimeout(ctx, routeTimeout)
	defer cancel()
	for {
		changed := l.Routes.Changed()
		bridges, err := l.Bridges(ctx, who)
		if at := slices.IndexFunc(bridges, func(b flow.Bridge) bool { return b.Onboarded }); err == nil && at >= 0 {
			return bridges[at], nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return flow.Bridge{}, errUnknownRoute
		}
	}
}

// RecordGroups implements flow.Users.
func (l *Directory) RecordGroups(ctx context.Context, who flow.Identity, at time.Time) error {
	return l.Persons.Record(ctx, NamedGroups{who.Issuer, who.Subject, who.User, who.Groups, at})
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
