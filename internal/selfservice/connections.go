// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"net/url"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// Connections are the accounts at other services that servers of a bridge use.
type Connections struct {
	Connections []Connection `json:"connections"`
}

// Connection is the account with which a server is used.
type Connection struct {
	Server string `json:"server"`
	// Host is where the user logs in, such as accounts.example.com.
	Host   string   `json:"host"`
	Scopes []string `json:"scopes,omitempty"`
	// Connected says whether tokens of the account are stored. They may have ended: State
	// and Message are those of the server.
	Connected bool          `json:"connected"`
	Updated   time.Time     `json:"updated,omitzero"`
	State     health.Status `json:"state"`
	Message   string        `json:"message,omitempty"`
	// ConnectURL is the page on which the account is connected, empty for an installation
	// without one: then the tokens are set as the secret.
	ConnectURL string `json:"connectURL,omitempty"`
	// Secret is the name of the secret with the tokens.
	Secret string `json:"secret"`
}

// ConnectionsOf returns the accounts that the servers of a bridge use. secrets are those
// of the user.
func ConnectionsOf(v View, secrets []Secret) Connections {
	out := Connections{Connections: []Connection{}}
	for _, s := range ServersOf(v).Servers {
		login := loginOf(v.Bridge, s.Name)
		if login == nil {
			continue
		}
		c := Connection{
			Server: s.Name, Host: hostOf(login.AuthorizationURL), Scopes: login.Scopes, State: s.State, Message: s.Message,
			ConnectURL: v.page(s), Secret: string(login.TokenSecret),
		}
		for _, known := range secrets {
			if known.Name == c.Secret {
				c.Connected, c.Updated = true, known.Updated
			}
		}
		out.Connections = append(out.Connections, c)
	}
	return out
}

// KnownConnectionsOf returns the accounts by what the status of the HostedBridge says, which
// lacks when they were connected.
func KnownConnectionsOf(v View) Connections {
	out := ConnectionsOf(v, nil)
	for i := range out.Connections {
		c := &out.Connections[i]
		c.Connected = v.Bridge.Status.Secrets != nil && !slices.Contains(v.Bridge.Status.Secrets.Missing, c.Secret)
	}
	return out
}

// ConnectionTo returns the account of a server.
func (c Connections) ConnectionTo(server string) (Connection, bool) {
	for _, one := range c.Connections {
		if one.Server == server {
			return one, true
		}
	}
	return Connection{}, false
}

// loginOf returns how the account of a server is connected, nil if it has none.
func loginOf(b *effective.Bridge, server string) *v1alpha1.OAuth {
	for _, s := range b.Spec.Servers {
		if s.Name == server && s.Auth != nil && s.Auth.OAuth != nil && s.Auth.OAuth.Grant == v1alpha1.OAuthAuthorizationCode {
			return s.Auth.OAuth
		}
	}
	return nil
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}
