// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package kubestore

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/userkey"
)

// Choices writes users' choices about servers into their HostedBridges.
type Choices struct{ Client client.Client }

// Set makes c the choice about a server, or removes the choice if c is nil, and returns the
// HostedBridge then. decide is asked first, with the HostedBridge before. The errors are those
// of decide, userkey.ErrNoBridge, a *userkey.ManagedError if a manifest holds the
// choice, or the API server's.
func (s *Choices) Set(ctx context.Context, of userkey.Bridge, server string, c *selfservice.Choice, decide func(*v1alpha1.HostedBridge) error) (*v1alpha1.HostedBridge, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	b, err := getBridge(ctx, s.Client, of)
	if err != nil {
		return nil, err
	}
	if err := decide(b); err != nil {
		return nil, err
	}
	if by := selfservice.ChoiceHolders(b, server); len(by) > 0 {
		return nil, &userkey.ManagedError{By: by}
	}
	return s.apply(ctx, b, server, c)
}

// apply writes the choice under its own field manager.
func (s *Choices) apply(ctx context.Context, b *v1alpha1.HostedBridge, server string, c *selfservice.Choice) (*v1alpha1.HostedBridge, error) {
	text, err := json.Marshal(selfservice.ChoicePatch(b, server, c))
	if err != nil {
		return nil, fmt.Errorf("encode the choice: %w", err)
	}
	after := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}
	err = s.Client.Patch(ctx, after, client.RawPatch(types.ApplyPatchType, text), client.FieldOwner(selfservice.ChoiceManager(server)))
	switch {
	case apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict), err == nil && c == nil && selfservice.ChoiceOf(after, server) != nil:
		// Somebody else applied it meanwhile.
		return nil, &userkey.ManagedError{By: managersOf(after, server)}
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil, userkey.ErrNoBridge
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
