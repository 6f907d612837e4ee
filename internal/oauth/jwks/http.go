// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jwks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"

	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// maxBody is the maximum length of a document in bytes. The longest sets of
// keys of providers, with chains of certificates, have some 30 KiB.
const maxBody = 256 << 10

// getter gets documents of issuers.
type getter struct{ client *http.Client }

func newGetter(client *http.Client) getter {
	if client == nil {
		client = &http.Client{Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: timeout, ForceAttemptHTTP2: true,
			// The next request comes later than servers keep a connection open.
			DisableKeepAlives: true,
		}}
	}
	own := *client
	// The source of the keys decides who can sign. It is what was configured,
	// and not what an answer says.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return getter{&own}
}

// from returns how the keys of a source are got.
func (g getter) from(s Source) (fetch, error) {
	switch {
	case s.Issuer == "":
		return nil, errors.New("it has no URL")
	case s.Fetch != nil:
		return s.Fetch, nil
	case s.URL != "":
		_, err := checkURL(s.URL)
		return func(ctx context.Context) (jose.JSONWebKeySet, error) { return g.keys(ctx, s.URL) }, err
	}
	places, err := metadataURLs(s.Issuer)
	return func(ctx context.Context) (jose.JSONWebKeySet, error) { return g.discover(ctx, s.Issuer, places) }, err
}

var errURL = errors.New("its URL and that of its keys must be https, or http on this machine, without a user or a fragment")

// checkURL returns a URL that is safe to fetch: an attacker on the network
// could otherwise put their own keys into an answer.
func checkURL(s string) (*url.URL, error) {
	u, ok := oauth.SafeURL(s)
	if !ok {
		return nil, errURL // The parser's own error would quote a password.
	}
	return u, nil
}

// metadataURLs returns where the metadata of an issuer may be, in the order
// that the MCP specification gives clients: by RFC 8414, section 3.1, and by
// OpenID Connect Discovery 1.0, which puts the path in front.
func metadataURLs(issuer string) ([]string, error) {
	u, err := checkURL(issuer)
	if err != nil {
		return nil, err
	}
	if u.RawQuery != "" {
		return nil, errors.New("its URL has a query, so that it has no metadata: say where its keys are")
	}
	const authorizationServer, openID = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	origin, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	if path == "" {
		return []string{origin + authorizationServer, origin + openID}, nil
	}
	return []string{origin + authorizationServer + path, origin + openID + path, origin + path + openID}, nil
}

// discover gets the keys that the first metadata name which are there and are the
// issuer's.
func (g getter) discover(ctx context.Context, issuer string, places []string) (jose.JSONWebKeySet, error) {
	var failed error
	for _, place := range places {
		keys, err := g.keysURL(ctx, issuer, place)
		switch {
		case err == nil:
			return g.keys(ctx, keys)
		case failed == nil:
			failed = err
		default:
			failed = fmt.Errorf("%w; %w", failed, err)
		}
	}
	return jose.JSONWebKeySet{}, failed
}

// keysURL returns the URL of the keys in the metadata. Another issuer's
// metadata may be at an issuer's path, so they must name the issuer.
func (g getter) keysURL(ctx context.Context, issuer, place string) (string, error) {
	content, err := g.get(ctx, place)
	if err != nil {
		return "", err
	}
	var metadata struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if json.Unmarshal(content, &metadata) != nil {
		return "", fmt.Errorf("%s has no metadata", place)
	}
	if metadata.Issuer != issuer {
		return "", fmt.Errorf("%s has the metadata of another issuer", place)
	}
	if _, err := checkURL(metadata.Keys); err != nil {
		return "", fmt.Errorf("%s: %w", place, err)
	}
	return metadata.Keys, nil
}

// Fetch returns the keys at a URL with which tokens can be verified. The client bounds the time.
func Fetch(ctx context.Context, client *http.Client, place string) ([]jose.JSONWebKey, error) {
	set, err := getter{client}.keys(ctx, place)
	return usable(set), err
}

// keys gets the keys at a URL.
func (g getter) keys(ctx context.Context, place string) (jose.JSONWebKeySet, error) {
	content, err := g.get(ctx, place)
	if err != nil {
		return jose.JSONWebKeySet{}, err
	}
	set, ok := readKeys(content)
	if !ok {
		return jose.JSONWebKeySet{}, fmt.Errorf("%s has no set of keys", place)
	}
	return set, nil
}

// readKeys decodes a set of keys. Unknown kinds are left out, by RFC 7517,
// section 5: a provider may have them for other clients.
func readKeys(content []byte) (jose.JSONWebKeySet, bool) {
	var raw struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if json.Unmarshal(content, &raw) != nil {
		return jose.JSONWebKeySet{}, false
	}
	var set jose.JSONWebKeySet
	for _, k := range raw.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(k, &key) == nil {
			set.Keys = append(set.Keys, key)
		}
	}
	return set, true
}

// get returns a document. Its errors contain nothing of the answer.
func (g getter) get(ctx context.Context, place string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, place, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	res, err := g.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %d", place, res.StatusCode)
	}
	content, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", place, err)
	}
	if len(content) > maxBody {
		return nil, fmt.Errorf("%s has more than %d bytes", place, maxBody)
	}
	return content, nil
}
