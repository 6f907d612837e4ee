// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/resolve"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// Connections connects the accounts of users' servers: it reads from a
// HostedBridge where an account is connected, and seals the result as the
// secret from which the bridge reads its login. The bridge need not run; it is
// woken, since the tokens are valid for minutes only.
type Connections struct {
	Routes  interface{ Current() *route.Table }
	Bridges ctrlclient.Reader
	Secrets interface {
		Put(ctx context.Context, of client.Ref, name string, value []byte) (client.SecretInfo, bool, error)
	}
	Wake func(ctx context.Context, b route.Backend) error
}

// Find implements flow.Connections.
func (c *Connections) Find(ctx context.Context, user v1alpha1.UserID, server string) (flow.Connection, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	at, err := c.backend(user)
	if err != nil {
		return flow.Connection{}, err
	}
	b := &v1alpha1.HostedBridge{}
	err = c.Bridges.Get(ctx, types.NamespacedName{Namespace: at.Namespace, Name: at.Name}, b)
	switch {
	case apierrors.IsNotFound(err) || err == nil && b.UID != at.BridgeUID:
		return flow.Connection{}, flow.ErrNotFound
	case err != nil:
		return flow.Connection{}, fmt.Errorf("get HostedBridge: %w", err)
	}
	found, ok := resolve.ConnectionOf(effective.Of(b), server)
	if !ok {
		return flow.Connection{}, flow.ErrNotFound
	}
	login := found.OAuth
	return flow.Connection{
		User: user, Server: server, Bridge: b.UID, AuthorizationURL: login.AuthorizationURL, ClientID: login.ClientID,
		Scopes: login.Scopes, Resource: login.Resource, TokenURL: login.TokenURL, ServerURL: found.URL, Secret: login.Token,
	}, nil
}

// Keep implements flow.Connections.
func (c *Connections) Keep(ctx context.Context, of flow.Connection, answer flow.ConnectionAnswer) error {
	at, err := c.backend(of.User)
	if err != nil {
		return err
	}
	value, err := json.Marshal(map[string]string{
		"authorization_code": answer.Code, "code_verifier": answer.Verifier, "redirect_uri": answer.RedirectURL,
	})
	if err != nil {
		return fmt.Errorf("encode the login of a server: %w", err)
	}
	ref := client.Ref{Namespace: at.Namespace, Name: at.Name, UID: string(at.BridgeUID)}
	if _, _, err := c.Secrets.Put(ctx, ref, of.Secret, value); err != nil {
		return fmt.Errorf("keep the login of a server: %w", err)
	}
	if at.State != route.Sleeping {
		return nil
	}
	return c.Wake(ctx, at)
}

// backend returns the route of the user's bridge, or flow.ErrNotFound.
func (c *Connections) backend(user v1alpha1.UserID) (route.Backend, error) {
	t := c.Routes.Current()
	if t == nil {
		return route.Backend{}, errUnknownRoutes
	}
	b, ok := t.Lookup(user)
	if !ok {
		return route.Backend{}, flow.ErrNotFound
	}
	return b, nil
}
