// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

const (
	// gitHubURL and gitHubAPI are where everybody's GitHub is.
	gitHubURL, gitHubAPI = "https://github.com", "https://api.github.com"
	// gitHubVersion is the API's that this was written for. GitHub keeps one for
	// two years at least.
	gitHubVersion = "2022-11-28"
)

// gitHub is a GitHub: the one of everybody, or an Enterprise Server.
type gitHub struct {
	base
	// api is where the API is, and issuer where the pages are.
	api, issuer string
}

// GitHub returns a GitHub as a provider. A person's subject is the number of
// their account, since another may take a name that was given up, and the issuer
// is the URL of its pages.
func GitHub(c Config) (flow.Provider, error) {
	url, api := strings.TrimSuffix(c.URL, "/"), strings.TrimSuffix(c.APIURL, "/")
	if url == "" {
		url = gitHubURL
	}
	switch {
	case api != "":
	case url == gitHubURL:
		api = gitHubAPI
	default:
		api = url + "/api/v3"
	}
	if err := errors.Join(c.check(url), c.check(api)); err != nil {
		return nil, err
	}
	c.AuthMethod = authPost
	return &gitHub{base: newBase(c), api: api, issuer: url}, nil
}

// Begin implements flow.Provider. Without a scope GitHub shows what everybody can
// see.
func (p *gitHub) Begin(_ context.Context, o flow.LoginRequest) (string, error) {
	return withQuery(p.issuer+"/login/oauth/authorize", p.request(o, p.config.Scopes)), nil
}

// Finish implements flow.Provider.
func (p *gitHub) Finish(ctx context.Context, o flow.LoginAnswer) (flow.Identity, error) {
	who, err := p.finish(ctx, o)
	if err != nil {
		return flow.Identity{}, p.failed(err)
	}
	return who, nil
}

func (p *gitHub) finish(ctx context.Context, o flow.LoginAnswer) (flow.Identity, error) {
	// The second is what GitHub calls itself as an authorization server, in its
	// metadata by RFC 8414.
	if o.Iss != "" && o.Iss != p.issuer && o.Iss != p.issuer+"/login/oauth" {
		return flow.Identity{}, errMixedUp
	}
	got, err := p.exchange(ctx, clientAuth{}, p.issuer+"/login/oauth/access_token", "code", codeForm(o))
	if err != nil {
		return flow.Identity{}, err
	}
	claims, err := p.account(ctx, got.Access)
	if err != nil {
		return flow.Identity{}, fmt.Errorf("ask who it is: %w", err)
	}
	user, _ := p.config.User.User(claims)
	number, _ := claims["id"].(json.Number)
	subject, err := accountNumber(number)
	if err != nil {
		return flow.Identity{}, err
	}
	return flow.Identity{Issuer: p.issuer, Subject: subject, User: user, Name: shown(claims[claimName], claims["login"])}, nil
}

// accountNumber returns the number of an account as text, in the one way that it
// can be written.
func accountNumber(n json.Number) (string, error) {
	id, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil || id <= 0 {
		return "", fmt.Errorf("%w: it names nobody", flow.ErrLogin)
	}
	return strconv.FormatInt(id, 10), nil
}

// account asks for the account of the person who has logged in. The token is of
// no use after it.
func (p *gitHub) account(ctx context.Context, accessToken string) (map[string]any, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.api+"/user", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+accessToken)
	request.Header.Set("Accept", "application/vnd.github+json")
	request.Header.Set("X-GitHub-Api-Version", gitHubVersion)
	resp, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var claims map[string]any
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber() // An account's number may be more than a float64 tells apart.
	if err := d.Decode(&claims); err != nil {
		return nil, fmt.Errorf("%w: its answer is no account", flow.ErrLogin)
	}
	return claims, nil
}
