// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"cmp"
	"context"
	"fmt"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/grant"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// endLogins ends all grants for a user's bridge. Users can log in again. The answer is
// the same whether or not there is such a bridge, or was a login.
func (s *tokenHandler) endLogins(c httpapi.Call) error {
	user, err := v1alpha1.ParseUserID(c.Param("userId"))
	if err != nil {
		return err // The form of paths lets none other in.
	}
	// The logins are ended and audited even if the caller hangs up.
	if err := s.grants.EndAll(context.WithoutCancel(c.Request().Context()), user); err != nil {
		return fmt.Errorf("%w: %w", errStoreAway, err)
	}
	if err := c.Audit(httpapi.Act{Name: actEnd, Target: string(user), User: string(user)}); err != nil {
		return err
	}
	httpapi.AnswerNothing(c)
	return nil
}

// isEnded reports whether an administrator has ended the logins for the bridge of a
// grant.
func (s *tokenHandler) isEnded(ctx context.Context, g grant.Grant) (bool, error) {
	user, _ := userOf(g.Resource, s.Issuer)
	return s.grants.Ended(ctx, g.Began, cmp.Or(user, g.User))
}
