// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

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
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/resolve"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// connectTimeout bounds one question to the API server.
const connectTimeout = 10 * time.Second

// connections connects the accounts of users' servers: it reads from a
// HostedBridge where one is connected, and seals what came of it as the secret
// from which the bridge takes its login. The bridge need not run; it is woken, as
// what it is given is good for minutes only.
type connections struct {
	routes  interface{ Current() *route.Table }
	bridges ctrlclient.Reader
	secrets interface {
		Put(ctx context.Context, of client.Ref, name string, value []byte) (client.SecretInfo, bool, error)
	}
	wake func(ctx context.Context, b route.Backend) error
}

func newConnections(p *parts) *connections {
	return &connections{routes: p.watcher, bridges: p.cluster, secrets: &p.credentials.secrets, wake: p.status.Wake}
}

// Find implements flow.Connections.
func (c *connections) Find(ctx context.Context, user v1alpha1.UserID, server string) (flow.Connection, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	at, err := c.backend(user)
	if err != nil {
		return flow.Connection{}, err
	}
	b := &v1alpha1.HostedBridge{}
	err = c.bridges.Get(ctx, types.NamespacedName{Namespace: at.Namespace, Name: at.Name}, b)
	switch {
	case apierrors.IsNotFound(err) || err == nil && b.UID != at.BridgeUID:
		return flow.Connection{}, flow.ErrNotFound
	case err != nil:
		return flow.Connection{}, fmt.Errorf("get HostedBridge: %w", err)
	}
	found, ok := resolve.ConnectionOf(b, server)
	if !ok {
		return flow.Connection{}, flow.ErrNotFound
	}
	return flow.Connection{
		User: user, Server: server, AuthorizationURL: found.AuthorizationURL, ClientID: found.ClientID,
		Scopes: found.Scopes, Resource: found.Resource, Secret: found.TokenSecret,
	}, nil
}

// Keep implements flow.Connections.
func (c *connections) Keep(ctx context.Context, of flow.Connection, answer flow.ConnectionAnswer) error {
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
	if _, _, err := c.secrets.Put(ctx, ref, of.Secret, value); err != nil {
		return fmt.Errorf("keep the login of a server: %w", err)
	}
	if at.State != route.Sleeping {
		return nil
	}
	return c.wake(ctx, at)
}

// backend returns where the user's bridge is, or flow.ErrNotFound.
func (c *connections) backend(user v1alpha1.UserID) (route.Backend, error) {
	t := c.routes.Current()
	if t == nil {
		return route.Backend{}, errNoRoutes
	}
	b, ok := t.Lookup(user)
	if !ok {
		return route.Backend{}, flow.ErrNotFound
	}
	return b, nil
}
