// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// Config says what a provider is, and who we are to it.
type Config struct {
	// ID is in the URL that the provider sends people back to: 1 to 32 of
	// lower-case letters, digits and hyphens.
	ID string
	// Name is what people choose it by; its ID if empty.
	Name string
	// Issuer is an OpenID provider's, exactly as it is in its discovery document.
	Issuer string
	// URL and APIURL are GitHub's. Empty they are those of github.com, and an
	// empty APIURL beside another URL is that of a GitHub Enterprise Server.
	URL, APIURL string
	// ClientID is our name at the provider, and Secret or Key returns what proves it. They
	// are asked for at each login, so that a new one needs no restart. Without either, or
	// with an empty secret, we are a public client.
	ClientID    string
	Secret, Key func() (string, error)
	// KeyID is what the provider calls the public half of Key; empty if it has no name.
	KeyID string
	// AuthMethod is how we prove who we are: client_secret_basic, client_secret_post or
	// private_key_jwt; empty for what the provider names, which takes one of Secret and Key.
	AuthMethod string
	// Scopes are what the provider is asked for. Empty they are openid and profile,
	// and nothing at GitHub.
	Scopes []string
	// SubjectClaim is the claim of the ID token that a person is known by; sub if empty. It
	// must never be another person's.
	SubjectClaim string
	// User makes the user out of what the provider says of a person.
	User oauth.UserRule
	// Groups is the claim that names a person's groups; empty to ask for none.
	Groups string
	// Parameters are added to what the provider is asked with when a person logs in, in
	// place of our own of the same name; an empty value leaves that out.
	Parameters map[string]string
	// Limits bound how long a login counts. With Grace the provider is asked for a refresh
	// token, so that it can be asked again who a person is.
	Limits flow.Limits
	// Client's transport asks the provider; nil for one by the environment's proxies and the
	// system's roots. Redirects are never followed.
	Client *http.Client
}

var idForm = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

// check returns what is wrong with a configuration, whose provider is at the URL.
func (c Config) check(url string) error {
	switch {
	case !idForm.MatchString(c.ID):
		return fmt.Errorf("provider %q: its id must be 1 to 32 of a-z, 0-9 and -", c.ID)
	case c.ClientID == "":
		return fmt.Errorf("provider %q: it has no client id", c.ID)
	}
	if err := checkURL(url, false); err != nil {
		return fmt.Errorf("provider %q: %w", c.ID, err)
	}
	return nil
}

var errURL = errors.New("its URLs must be https, or http on this machine, without a user, a query or a fragment")

// checkURL refuses URLs over which anybody on the way could read codes, tokens
// and our secret. A query is allowed where a provider says what is asked.
func checkURL(s string, query bool) error {
	u, ok := oauth.SafeURL(s)
	if !ok || !query && u.RawQuery != "" {
		return errURL // The parser's own error would quote a password.
	}
	return nil
}

// base is what all providers have.
type base struct {
	config Config
	client *http.Client
}

func newBase(c Config) base {
	if c.Name == "" {
		c.Name = c.ID
	}
	return base{config: c, client: newClient(c.Client)}
}

// ID returns the configured one.
func (b base) ID() string { return b.config.ID }

// Name returns what people choose the provider by.
func (b base) Name() string { return b.config.Name }

// Limits returns the configured ones.
func (b base) Limits() flow.Limits { return b.config.Limits }

// Version tells configurations apart by which another person could be somebody.
func (b base) Version() string {
	c := b.config
	parts := []string{c.Issuer, c.URL, c.APIURL, c.ClientID, c.User.Claim, c.User.Suffix}
	if c.SubjectClaim != "" {
		parts = append(parts, c.SubjectClaim)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// failed says at which provider something failed.
func (b base) failed(err error) error { return fmt.Errorf("login at %s: %w", b.config.ID, err) }

// shown returns the first of the names of which a page can show something.
func shown(names ...any) string {
	for _, name := range names {
		text, _ := name.(string)
		if text = flow.ShownName(text); text != "" {
			return text
		}
	}
	return ""
}
