// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// The methods by which a client proves who it is (OpenID Connect Core 1.0, section 9).
const (
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
	authKey   = "private_key_jwt"
)

// clientAuth is what a provider says of how clients prove who they are.
type clientAuth struct {
	// methods and algorithms are those that it names; it need not name any.
	methods, algorithms []string
}

const (
	errNoSecretMethod flow.SetupError = "its token endpoint names neither client_secret_basic nor client_secret_post: " +
		"choose one of them for this client at the provider, and set tokenEndpointAuthMethod to it, or give this client a key for private_key_jwt"
	errNoKeyMethod flow.SetupError = "this client has a key and no secret, and the token endpoint does not name private_key_jwt: " +
		"give this client a secret, or set tokenEndpointAuthMethod to private_key_jwt if the provider accepts it all the same"
	errKeyAlgorithm flow.SetupError = "the provider's token_endpoint_auth_signing_alg_values_supported has no algorithm of " +
		"this client's key, use another key: an RSA key signs by RS256 or PS256, one of P-256 by ES256, and one of Ed25519 by EdDSA"
	errKeyForm flow.SetupError = "this client's key must be PEM that begins with BEGIN PRIVATE KEY (PKCS 8), " +
		"of RSA with 2048 bits or more, P-256 or Ed25519: make one with openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256"
)

// method returns how the client proves who it is, and what by: its secret or the PEM of its
// key.
func (c Config) method(named []string) (method, by string, err error) {
	if c.AuthMethod == authKey || c.AuthMethod == "" && c.Key != nil {
		if c.AuthMethod == "" && !slices.Contains(named, authKey) {
			return "", "", errNoKeyMethod
		}
		by, err = read(c.Key, "client key")
		return authKey, by, err
	}
	by, err = read(c.Secret, "client secret")
	if method = c.AuthMethod; err == nil && method == "" && by != "" {
		method, err = secretMethod(named)
	}
	return method, by, err
}

// secretMethod returns how a secret is sent. Without a word of the provider it is HTTP's basic
// authentication, by OpenID Connect Discovery 1.0, section 3. To try one method after the other
// takes a code that can be used once.
func secretMethod(named []string) (string, error) {
	switch {
	case len(named) == 0, slices.Contains(named, authBasic):
		return authBasic, nil
	case slices.Contains(named, authPost):
		return authPost, nil
	}
	return "", errNoSecretMethod
}

// prove adds to a request what proves that we are the client, and returns that of it which
// must stay secret. A public client only says its name.
func (c Config) prove(auth clientAuth, header http.Header, form url.Values) (string, error) {
	method, by, err := c.method(auth.methods)
	if err != nil {
		return "", err
	}
	form.Set("client_id", c.ClientID)
	switch {
	case method == authKey:
		if by, err = c.assertion(by, auth.algorithms, time.Now()); err != nil {
			return "", err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", by)
	case by == "":
	case method == authBasic:
		r := http.Request{Header: header}
		r.SetBasicAuth(url.QueryEscape(c.ClientID), url.QueryEscape(by)) // RFC 6749, section 2.3.1.
	default:
		form.Set("client_secret", by)
	}
	return by, nil
}

// read returns what from returns, and an empty text if from is nil. It is called at each login.
func read(from func() (string, error), what string) (string, error) {
	if from == nil {
		return "", nil
	}
	content, err := from()
	if err != nil {
		return "", fmt.Errorf("read %s: %w", what, err)
	}
	return content, nil
}

// InFile returns what reads a file each time, so that one that was replaced is used without a
// restart; nil for no file.
func InFile(file string) func() (string, error) {
	if file == "" {
		return nil
	}
	return func() (string, error) {
		content, err := os.ReadFile(file)
		return string(bytes.TrimSpace(content)), err
	}
}

// assertionLife is how long an assertion can be used: for the request that it is made for.
const assertionLife = time.Minute

// assertion returns a JWT by which the client's key proves who we are (RFC 7523). Its audience
// is the issuer alone, as draft-ietf-oauth-rfc7523bis has it: at a token endpoint that another
// provider names as its own, an assertion for that URL could be used against this one.
// RFC 9126, section 2, has providers accept the issuer.
func (c Config) assertion(pemKey string, named []string, now time.Time) (string, error) {
	key, err := parseKey(pemKey)
	if err != nil {
		return "", err
	}
	public := jose.JSONWebKey{Key: key.Public()}
	i := slices.IndexFunc(keyAlgorithms, func(a jose.SignatureAlgorithm) bool {
		return oauth.Fits(&public, string(a)) && (len(named) == 0 || slices.Contains(named, string(a)))
	})
	if i < 0 {
		return "", errKeyAlgorithm
	}
	signing := jose.SigningKey{Algorithm: keyAlgorithms[i], Key: jose.JSONWebKey{Key: key, KeyID: c.KeyID}}
	signer, err := jose.NewSigner(signing, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", errKeyForm
	}
	claims, err := json.Marshal(map[string]any{
		"iss": c.ClientID, "sub": c.ClientID, "aud": c.Issuer, "jti": rand.Text(), "iat": now.Unix(), "exp": now.Add(assertionLife).Unix(),
	})
	if err != nil {
		return "", fmt.Errorf("encode client assertion: %w", err)
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		return "", fmt.Errorf("sign client assertion: %w", err)
	}
	return signed.CompactSerialize()
}

// keyAlgorithms are those that clients' keys sign by. All providers that take assertions
// should take RS256 (OpenID Connect Discovery 1.0, section 3).
var keyAlgorithms = []jose.SignatureAlgorithm{jose.RS256, jose.PS256, jose.ES256, jose.EdDSA}

// parseKey reads a private key. Its error quotes nothing of it.
func parseKey(content string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(content))
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errKeyForm
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errKeyForm // The cause can have parts of the key.
	}
	key, ok := parsed.(crypto.Signer)
	if !ok || !slices.ContainsFunc(keyAlgorithms, func(a jose.SignatureAlgorithm) bool {
		return oauth.Fits(&jose.JSONWebKey{Key: key.Public()}, string(a))
	}) {
		return nil, errKeyForm
	}
	return key, nil
}
