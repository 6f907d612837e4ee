// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/authserver/grant"
)

// renew asks the provider of a grant who its person is now, and ends the grant if the
// provider lets them in no more. A provider that is away changes nothing: who the person
// is was said at the login.
func (s *tokenHandler) renew(ctx context.Context, p flow.Provider, g *grant.Stored) error {
	renewer, ok := p.(flow.Renewer)
	if !ok {
		return nil
	}
	due, err := s.grants.BeginRenewal(ctx, g)
	if err != nil || !due {
		return err
	}
	// What the provider answers is kept also if the client leaves: it may have withdrawn
	// the former refresh token.
	ctx = context.WithoutCancel(ctx)
	who, err := renewer.Renew(ctx, g.Who)
	if errors.Is(err, flow.ErrLogin) {
		s.Log.InfoContext(ctx, "a provider lets a person in no more", slog.String("provider", p.ID()), slog.Any("error", err))
		return s.end(ctx, *g, errRefresh)
	}
	if err != nil {
		s.Log.WarnContext(ctx, "a provider does not say who a person is now", slog.String("provider", p.ID()), slog.Any("error", err))
		return nil
	}
	s.recordGroups(ctx, p, who)
	who.Name = ""
	err = s.grants.FinishRenewal(ctx, g, who)
	if errors.Is(err, grant.ErrNotFound) {
		return errRefresh
	}
	if err != nil {
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
