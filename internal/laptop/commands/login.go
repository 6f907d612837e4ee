// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostedbridge/hostedbridge/internal/bridge/registration"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/laptop"
	"github.com/hostedbridge/hostedbridge/internal/setting"
)

// registrationTimeout limits each request that finds an authorization server or
// registers a client there.
const registrationTimeout = 30 * time.Second

// loginOptions are the settings of bridge login.
type loginOptions struct {
	config string
	port   int
}

// newLogin returns the command by which a person logs in at a server.
func newLogin() *cobra.Command {
	var o loginOptions
	c := &cobra.Command{
		Use:   "login SERVER",
		Short: "Log in at a server's authorization server and store the tokens",
		Args:  cobra.ExactArgs(1),
		RunE:  withMachine(&o.config, func(c *cobra.Command, m *machine, args []string) error { return o.run(c, m, args[0]) }),
	}
	configFlag(c, &o.config)
	settings(c).Int(&o.port, "port", 0, "local port to which the browser comes back, for a client that was registered with http://127.0.0.1:PORT/callback (default: any free port)", setting.Between(0, 65535))
	return c
}

func (o loginOptions) run(c *cobra.Command, m *machine, name string) error {
	s, server, err := m.loadServer(c.Context(), name)
	if err != nil {
		return err
	}
	if err := s.mayLogIn(server); err != nil {
		return err
	}
	login := laptop.Login{
		OAuth: *server.OAuth, ClientSecret: string(s.secrets[server.OAuth.ClientSecret]), Port: o.port,
		Show: func(url string) { c.PrintErrf("open this in a browser:\n%s\n", url) },
	}
	found := &discovery{server: server, clientSecret: login.ClientSecret}
	if entry, _ := s.File.Servers.Get(name); entry.Auth != nil && entry.Auth.Discovers() {
		if s.Format != laptop.Ours {
			return fmt.Errorf("the server %q names no authorizationURL, and %s is a file of %s, which the bridge only reads", name, m.path, s.Format)
		}
		found.entry, login.Prepare = entry.Auth, found.prepare
	}
	tokens, err := login.Run(c.Context())
	if err != nil {
		return err
	}
	if found.entry != nil {
		if err := found.store(c, m); err != nil {
			return err
		}
	}
	return m.setSecret(c, server.OAuth.Token, string(tokens))
}

// mayLogIn says what a login at a server lacks.
func (s setup) mayLogIn(server bridgeconfig.Server) error {
	o := server.OAuth
	if o == nil || o.Grant != bridgeconfig.AuthorizationCode || o.AuthorizationURL == "" {
		return fmt.Errorf("the server %q has no auth with the grant authorization_code and an authorizationURL", server.Name)
	}
	for _, secret := range s.missing(server) {
		if secret != o.Token {
			return fmt.Errorf("a secret is missing: bridge secret set %s", secret)
		}
	}
	return nil
}

// discovery finds the authorization server of a server that names none, and
// registers a client there if the configuration has none.
type discovery struct {
	server bridgeconfig.Server
	// entry is nil where nothing has to be found.
	entry *laptop.Auth

	oauth        bridgeconfig.OAuth
	clientSecret string
	registered   bool
}

// prepare is a laptop.Login's.
func (d *discovery) prepare(ctx context.Context, redirectURI string) (bridgeconfig.OAuth, string, error) {
	find := registration.Finder{HTTP: &http.Client{
		Timeout: registrationTimeout, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	at, err := find.Find(ctx, d.server.URL)
	if err != nil {
		return bridgeconfig.OAuth{}, "", err
	}
	d.oauth = *d.server.OAuth
	d.oauth.AuthorizationURL, d.oauth.TokenURL = at.AuthorizationURL, at.TokenURL
	if d.oauth.Resource == "" {
		d.oauth.Resource = at.Resource
	}
	if d.entry.Registered || d.entry.ClientID == "" {
		client, err := find.Register(ctx, at, "hosted-bridge", redirectURI)
		if err != nil {
			return bridgeconfig.OAuth{}, "", err
		}
		d.oauth.ClientID, d.clientSecret, d.registered = client.ID, client.Secret, true
	}
	return d.oauth, d.clientSecret, nil
}

// store writes what was found into the configuration, by which the bridge
// refreshes the tokens.
func (d *discovery) store(c *cobra.Command, m *machine) error {
	name := d.server.Name
	secret := ""
	if d.registered && d.clientSecret != "" {
		secret = recipe.SecretName(name + "-client-secret")
		if err := m.setSecret(c, secret, d.clientSecret); err != nil {
			return err
		}
	}
	return m.change(func(file *laptop.File) error {
		entry, there := file.Servers.Get(name)
		if !there || entry.Auth == nil {
			return fmt.Errorf("the server %q was removed from the configuration meanwhile", name)
		}
		auth := *entry.Auth
		auth.AuthorizationURL, auth.TokenURL, auth.Resource = d.oauth.AuthorizationURL, d.oauth.TokenURL, d.oauth.Resource
		if d.registered {
			// The id is not ours: a variable in it would be filled in.
			auth.ClientID, auth.Registered, auth.ClientSecret = strings.ReplaceAll(d.oauth.ClientID, "$", "$$"), true, ""
			if secret != "" {
				auth.ClientSecret = "${" + secret + "}"
			}
		}
		entry.Auth = &auth
		file.Put(name, entry)
		return nil
	})
}
