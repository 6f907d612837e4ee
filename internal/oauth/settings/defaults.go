// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

const day = 24 * time.Hour

// defaultServer is what holds of a server where the file says nothing.
func defaultServer() Server {
	return Server{
		Name: "hosted-bridge",
		// Some clients register for each connection; ten thousand are 20 MB.
		Registration: Registration{Enabled: true, MaxClients: 10_000, Lifetime: 30 * day},
		Documents:    Documents{Enabled: true},
		// The widespread clients that take their answers at a scheme of their own.
		RedirectSchemes: []string{"cursor", "vscode", "vscode-insiders"},
		// Providers that document different origins for the two.
		AccountOrigins: []AccountOrigins{
			{Authorization: "https://accounts.google.com", Token: "https://oauth2.googleapis.com"},
			{Authorization: "https://linear.app", Token: "https://api.linear.app"},
			{Authorization: "https://www.dropbox.com", Token: "https://api.dropboxapi.com"},
		},
		Lifetimes: Lifetimes{
			// Until a token ends, no check is made whether it was revoked.
			AccessToken: 15 * time.Minute,
			// A user who returns within two weeks logs in once a month.
			RefreshToken: 30 * day,
			RefreshIdle:  14 * day,
		},
		Onboarding: Onboarding{Mode: Off},
	}
}

// UnmarshalYAML reads what the file says over the defaults.
func (s *Server) UnmarshalYAML(node *yaml.Node) error {
	type plain Server
	*s = defaultServer()
	return node.Decode((*plain)(s))
}

const (
	githubURL    = "https://github.com"
	githubAPIURL = "https://api.github.com"
	claimEmail   = "email"
)

// complete fills in what follows from the rest.
func (s *Settings) complete() {
	if s.Server == nil {
		return
	}
	for i := range s.Server.Providers {
		s.Server.Providers[i].complete()
	}
}

func (p *Provider) complete() {
	if p.Name == "" {
		p.Name = p.ID
	}
	switch p.Type {
	case OIDC:
		p.completeOIDC()
	case GitHub:
		if p.URL == "" {
			p.URL = githubURL
		}
		switch {
		case p.APIURL != "":
		case p.URL == githubURL:
			p.APIURL = githubAPIURL
		default: // Where GitHub Enterprise Server has it.
			p.APIURL = strings.TrimSuffix(p.URL, "/") + "/api/v3"
		}
	}
}

func (p *Provider) completeOIDC() {
	if len(p.Scopes) == 0 {
		p.Scopes = []string{"openid", "profile"}
		if p.User.Claim == claimEmail {
			p.Scopes = append(p.Scopes, claimEmail)
		}
	}
	if p.Groups.Claim != "" && p.Groups.Recheck == "" {
		p.Groups.Recheck = RecheckRefresh
	}
	if _, set := p.AuthorizationParameters["prompt"]; !set && isEntra(p.Issuer) {
		// It gives refresh tokens without it, and with it refuses people who may not consent
		// for themselves.
		if p.AuthorizationParameters == nil {
			p.AuthorizationParameters = map[string]string{}
		}
		p.AuthorizationParameters["prompt"] = ""
	}
	if p.Groups.Recheck == RecheckRefresh && p.Groups.RecheckGrace == 0 {
		p.Groups.RecheckGrace = time.Hour
	}
}
