// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestore

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
)

// Choices writes users' choices about servers into their HostedBridges.
type Choices struct{ Client client.Client }

// Set makes c the choice about a server, or removes the choice if c is nil, and returns the
// HostedBridge then. decide is asked first, with the HostedBridge before. The errors are those
// of decide, keys.ErrNoBridge, a *keys.ManagedError if a manifest holds the
// choice, or the API server's.
func (s *Choices) Set(ctx context.Context, of route.Backend, server string, c *selfservice.Choice, decide func(*effective.Bridge) error) (*effective.Bridge, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	b, err := keys.ReadBridge(ctx, s.Client, of)
	if err != nil {
		return nil, err
	}
	if err := decide(effective.Of(b)); err != nil {
		return nil, err
	}
	if by := selfservice.ChoiceHolders(b, server); len(by) > 0 {
		return nil, &keys.ManagedError{By: by}
	}
	after, err := s.apply(ctx, b, server, c)
	if err != nil {
		return nil, err
	}
	return effective.Of(after), nil
}

// apply writes the choice under its own field manager.
func (s *Choices) apply(ctx context.Context, b *v1alpha1.HostedBridge, server string, c *selfservice.Choice) (*v1alpha1.HostedBridge, error) {
	patch := apply.Spec(nil)
	if c != nil {
		patch = apply.Spec(v1alpha1.HostedBridgeSpec{Choices: &v1alpha1.Choices{
			Servers: []v1alpha1.ServerChoice{{Name: server, Use: c.Use, Deny: c.Deny}},
		}})
	}
	// With a UID this never creates a HostedBridge.
	after := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name, UID: b.UID}}
	err := s.Client.Patch(ctx, after, patch, client.FieldOwner(selfservice.ChoiceManager(server)))
	switch {
	case apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict), err == nil && c == nil && selfservice.ChoiceOf(after, server) != nil:
		// Somebody else applied it meanwhile.
		return nil, &keys.ManagedError{By: managersOf(after, server)}
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil, keys.ErrNoBridge
	case err != nil:
		return nil, fmt.Errorf("write the choice: %w", err)
	}
	return after, nil
}

// managersOf returns who else holds a choice.
func managersOf(b *v1alpha1.HostedBridge, server string) []string {
	if by := selfservice.ChoiceHolders(b, server); len(by) > 0 {
		return by
	}
	return []string{"unknown"}
}
