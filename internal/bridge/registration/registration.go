// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registration finds the authorization server of an MCP server and
// registers a client there: protected resource metadata (RFC 9728),
// authorization server metadata (RFC 8414) and dynamic client registration
// (RFC 7591), as the MCP specification has them.
//
// The package is a shell: it sends requests to servers that a recipe or a
// configuration names. No error contains text of such a server.
package registration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// longestDocument limits the metadata of a server, in bytes.
const longestDocument = 256 << 10

// Resource is what an MCP server says of its authorization: its protected
// resource metadata.
type Resource struct {
	// Resource is the server, as tokens name it.
	Resource string `json:"resource"`
	// AuthorizationServers are the issuers of its tokens.
	AuthorizationServers []string `json:"authorization_servers"`
	// Scopes are those that a client may ask for.
	Scopes []string `json:"scopes_supported"`
}

// Server is an authorization server.
type Server struct {
	Issuer           string
	AuthorizationURL string
	TokenURL         string
	// RegistrationURL is where a client registers itself, empty if it cannot.
	RegistrationURL string
	// Resource is the MCP server, as tokens name it; empty if it does not say.
	Resource string
}

// Client is a client that was registered.
type Client struct {
	ID string
	// Secret is empty for a public client.
	Secret string
}

// Finder finds authorization servers.
type Finder struct {
	HTTP *http.Client
}

// Resource returns the protected resource metadata of the MCP server at a URL.
func (f Finder) Resource(ctx context.Context, server string) (Resource, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return Resource{}, errors.New("the server's URL cannot be read")
	}
	var last error
	for _, place := range f.places(ctx, u) {
		r, err := f.resource(ctx, place)
		switch {
		case err != nil:
			last = err
		case !covers(r.Resource, u):
			last = fmt.Errorf("the metadata at %s is of another resource", place)
		case len(r.AuthorizationServers) == 0:
			last = fmt.Errorf("the metadata at %s names no authorization server", place)
		default:
			return r, nil
		}
	}
	return Resource{}, last
}

// places returns where the metadata may be: where the server's refusal says, and
// the well-known paths.
func (f Finder) places(ctx context.Context, u *url.URL) []string {
	var all []string
	if place := f.challenged(ctx, u); place != "" {
		all = append(all, place)
	}
	const wellKnown = "/.well-known/oauth-protected-resource"
	origin := u.Scheme + "://" + u.Host
	for _, place := range []string{origin + wellKnown + strings.TrimRight(u.EscapedPath(), "/"), origin + wellKnown} {
		if !slices.Contains(all, place) {
			all = append(all, place)
		}
	}
	return all
}

// challenged returns the metadata's address in the server's refusal of a request
// without a token, or empty if the refusal has no address. The address must be at the server's
// own host: what another host says is not the server's word.
func (f Finder) challenged(ctx context.Context, u *url.URL) string {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		return ""
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := f.HTTP.Do(r)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	challenges, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return ""
	}
	for _, c := range challenges {
		if place, err := url.Parse(c.Params["resource_metadata"]); err == nil && place.Host == u.Host && place.Scheme == u.Scheme {
			return place.String()
		}
	}
	return ""
}

func (f Finder) resource(ctx context.Context, place string) (Resource, error) {
	var out Resource
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, place, nil)
	if err != nil {
		return out, errors.New("the metadata's URL cannot be read")
	}
	r.Header.Set("Accept", "application/json")
	resp, err := f.HTTP.Do(r)
	if err != nil {
		return out, fmt.Errorf("%s cannot be reached", place)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return out, fmt.Errorf("%s answers %d", place, resp.StatusCode)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, longestDocument)).Decode(&out); err != nil {
		return out, fmt.Errorf("%s is not JSON metadata", place)
	}
	return out, nil
}

// covers reports whether a resource is the MCP server or a folder above it at the
// same origin.
func covers(resource string, u *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || !strings.EqualFold(r.Scheme, u.Scheme) || !strings.EqualFold(r.Host, u.Host) {
		return false
	}
	folder := strings.TrimRight(r.EscapedPath(), "/")
	path := strings.TrimRight(u.EscapedPath(), "/")
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// Find returns the authorization server of the MCP server at a URL. A server
// without metadata of its own is its own authorization server, as in the first
// versions of the MCP specification.
func (f Finder) Find(ctx context.Context, server string) (Server, error) {
	resource, err := f.Resource(ctx, server)
	issuer := ""
	switch {
	case err == nil:
		issuer = resource.AuthorizationServers[0]
	default:
		u, invalid := url.Parse(server)
		if invalid != nil {
			return Server{}, errors.New("the server's URL cannot be read")
		}
		issuer = u.Scheme + "://" + u.Host
	}
	meta, other := f.metadata(ctx, issuer)
	if other != nil {
		if err != nil {
			other = fmt.Errorf("%w; %w", err, other)
		}
		return Server{}, fmt.Errorf("find the authorization server: %w", other)
	}
	return Server{
		Issuer: issuer, AuthorizationURL: meta.AuthorizationEndpoint, TokenURL: meta.TokenEndpoint,
		RegistrationURL: meta.RegistrationEndpoint, Resource: resource.Resource,
	}, nil
}

// metadata returns what an issuer says of itself.
func (f Finder) metadata(ctx context.Context, issuer string) (*oauthex.AuthServerMeta, error) {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" {
		return nil, errors.New("the server names an authorization server without a URL")
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimRight(u.EscapedPath(), "/")
	last := fmt.Errorf("%s has no metadata of an authorization server", origin+path)
	for _, place := range []string{
		origin + "/.well-known/oauth-authorization-server" + path,
		origin + "/.well-known/openid-configuration" + path,
		origin + path + "/.well-known/openid-configuration",
	} {
		meta, err := oauthex.GetAuthServerMeta(ctx, place, issuer, f.HTTP)
		switch {
		case err != nil:
			// The SDK's text may hold the server's.
			last = fmt.Errorf("the metadata at %s cannot be used: it cannot be reached, names another issuer, or has no PKCE", place)
		case meta != nil && meta.AuthorizationEndpoint != "" && meta.TokenEndpoint != "":
			return meta, nil
		}
	}
	return nil, last
}

// Register registers a public client with one redirect URI.
func (f Finder) Register(ctx context.Context, s Server, name, redirectURI string) (Client, error) {
	if s.RegistrationURL == "" {
		return Client{}, errors.New("the authorization server registers no clients by itself: register one there, and give its clientID")
	}
	got, err := oauthex.RegisterClient(ctx, s.RegistrationURL, &oauthex.ClientRegistrationMetadata{
		ClientName: name, RedirectURIs: []string{redirectURI}, TokenEndpointAuthMethod: "none",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}, ApplicationType: "native",
	}, f.HTTP)
	if refused, ok := errors.AsType[*oauthex.ClientRegistrationError](err); ok {
		return Client{}, fmt.Errorf("the authorization server refuses to register a client (%.40q)", refused.ErrorCode)
	}
	if err != nil {
		return Client{}, errors.New("the authorization server refuses to register a client: it may know some clients only")
	}
	return Client{ID: got.ClientID, Secret: got.ClientSecret}, nil
}
