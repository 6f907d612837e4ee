// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"errors"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

// Connections implements selfservice.SecretActions. While the keybroker is away, the status
// of the HostedBridge says which tokens are stored.
func (s *Self) Connections(ctx context.Context, of route.Backend) (selfservice.Connections, error) {
	v, err := s.viewOf(ctx, of)
	if err != nil {
		return selfservice.Connections{}, err
	}
	if c := selfservice.ConnectionsOf(v, nil); len(c.Connections) == 0 {
		return c, nil
	}
	secrets, err := s.Secrets(ctx, of)
	if err != nil {
		return selfservice.KnownConnectionsOf(v), nil //nolint:nilerr // The answer has what is known otherwise.
	}
	return selfservice.ConnectionsOf(v, secrets.Secrets), nil
}

// Disconnect implements selfservice.SecretActions.
func (s *Self) Disconnect(ctx context.Context, by selfservice.Actor, of route.Backend, server string) error {
	v, err := s.viewOf(ctx, of)
	if err != nil {
		return err
	}
	c, ok := selfservice.ConnectionsOf(v, nil).ConnectionTo(server)
	if !ok {
		return problems.ConnectionNone
	}
	act := httpapi.Act{Self: true, Name: "connections.delete", Target: server, User: string(of.User)}
	err = s.remove(context.WithoutCancel(ctx), refOf(of), c.Secret)
	if errors.Is(err, problems.SecretNotFound) {
		return problems.ConnectionNone
	}
	return noteSecret(by, act, err)
}
