// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"context"

	"github.com/hostedbridge/hostedbridge/internal/authserver/grant"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// endReplayed ends a grant whose code or refresh token was used twice, and returns the
// refusal of the request. One of the two senders is not the client, and nobody can say
// which (RFC 6749, sections 4.1.2 and 10.4).
func (s *tokenHandler) endReplayed(c httpapi.Call, g grant.Stored, presented grant.Kind) error {
	// The grant ends even if the caller hangs up.
	if err := s.grants.End(context.WithoutCancel(c.Request().Context()), g); err != nil {
		return err
	}
	label := replayRefresh
	if presented == grant.Code {
		label = replayCode
	}
	s.metrics.Replays.WithLabelValues(label).Inc()
	if err := c.Audit(s.loginAct(actReplay, g.Who, g.Client, g.Resource)); err != nil {
		return err
	}
	return refusalOf(presented)
}

// refusalOf returns the error for a code or a refresh token that is not valid.
func refusalOf(k grant.Kind) error {
	if k == grant.Code {
		return errCode
	}
	return errRefresh
}

// end ends a grant, and returns the reason unless that fails.
func (s *tokenHandler) end(ctx context.Context, g grant.Stored, reason error) error {
	if err := s.grants.End(ctx, g); err != nil {
		return err
	}
	return reason
}
