// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/authserver/grant"
)

// errUnconfirmed refuses a refresh and leaves the grant: a client tries again later, and its
// person does not have to log in when the provider, which is asked once a minute, is back.
var errUnconfirmed = &jsonError{status: http.StatusServiceUnavailable, code: codeUnavailable, description: "The identity provider has not said for too long who the person is. Try again in a minute: the login stays.", retryAfter: "60"}

// renew asks the provider of a grant who its person is now, and ends the grant if the
// provider lets them in no more. A provider that says nothing of the person, because it is
// away or refuses us, changes nothing for its grace, counted from what it said last.
func (s *tokenHandler) renew(ctx context.Context, p flow.Provider, g *grant.Stored) error {
	renewer, ok := p.(flow.Renewer)
	grace := p.Limits().Grace
	if !ok || grace == 0 {
		return nil
	}
	due, err := s.grants.BeginRenewal(ctx, g, grace)
	if err != nil || !due {
		return s.renewalError(p, err)
	}
	// What the provider answers is kept also if the client leaves: it may have withdrawn
	// the former refresh token.
	ctx = context.WithoutCancel(ctx)
	who, err := renewer.Renew(ctx, g.Who)
	if errors.Is(err, flow.ErrLogin) {
		s.metrics.CountRecheck(p, recheckEnded)
		s.Log.InfoContext(ctx, "a provider lets a person in no more", slog.String("provider", p.ID()), slog.Any("error", err))
		return s.end(ctx, *g, errRefresh)
	}
	if err != nil {
		return s.renewalFailed(ctx, p, g, err)
	}
	s.metrics.CountRecheck(p, recheckConfirmed)
	s.known.Answered(p)
	s.recordGroups(ctx, p, who)
	who.Name = ""
	return s.renewalError(p, s.grants.FinishRenewal(ctx, g, who))
}

// renewalFailed notes that the provider did not say who the person of a grant is, and why.
func (s *tokenHandler) renewalFailed(ctx context.Context, p flow.Provider, g *grant.Stored, why error) error {
	s.Log.WarnContext(ctx, "a provider does not say who a person is now", slog.String("provider", p.ID()), slog.Any("error", why))
	s.known.Failed(p, why)
	if err := s.grants.FailRenewal(ctx, g); err != nil {
		return s.renewalError(p, err)
	}
	if err := s.grants.CheckConfirmed(g, p.Limits().Grace); err != nil {
		return s.renewalError(p, err)
	}
	s.metrics.CountRecheck(p, recheckUnanswered)
	return nil
}

// renewalError returns what the client hears of an error of a renewal.
func (s *tokenHandler) renewalError(p flow.Provider, err error) error {
	switch {
	case errors.Is(err, grant.ErrUnconfirmed):
		s.metrics.CountRecheck(p, recheckRefused)
		return errUnconfirmed
	case errors.Is(err, grant.ErrNotFound):
		return errRefresh
	case err != nil:
		return fmt.Errorf("renew login: %w", err)
	}
	return nil
}

// recordGroups records the groups that a provider has just named. Without them the person
// can use what they have, so that a failure is only logged.
func (s *core) recordGroups(ctx context.Context, p flow.Provider, who flow.Identity) {
	err := who.GroupsError
	if err == nil && who.Groups != nil {
		err = s.Users.RecordGroups(ctx, who, s.Now())
	}
	if err != nil {
		s.Log.WarnContext(ctx, "the groups of a person are not known", slog.String("provider", p.ID()),
			slog.String("login", loginOf(who)), slog.Any("error", err))
	}
}
