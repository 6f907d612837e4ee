// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"

	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/oauth/jwks"
)

// algorithmsOf returns the algorithms that a provider names in its discovery document. Those
// that sign alike under both names of Ed25519 may name one of them.
func algorithmsOf(named []string) []string {
	if slices.Contains(named, oidc.EdDSA) || slices.Contains(named, oauth.Ed25519) {
		named = append(slices.Clone(named), oidc.EdDSA, oauth.Ed25519)
	}
	return slices.DeleteFunc(slices.Clone(named), func(a string) bool { return !slices.Contains(oauth.Algorithms(), jose.SignatureAlgorithm(a)) })
}

// ed25519Hash returns the at_hash of an access token beside a token by oauth.Ed25519, whose hash
// is SHA-512 (OpenID Connect Core 1.0, section 3.1.3.6).
func ed25519Hash(accessToken string) string {
	sum := sha512.Sum512([]byte(accessToken))
	return base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2])
}

// errKeys says that the keys of a provider cannot be read, for which no person is at fault.
var errKeys = errors.New("its keys cannot be read")

// keySet are the keys by which a provider signs ID tokens and what UserInfo says. They are read
// again when none of them verifies a signature.
type keySet struct {
	client *http.Client
	url    string

	looking singleflight.Group
	mu      sync.Mutex
	keys    []jose.JSONWebKey
}

// faultOf is the key of a context for a *error, in which VerifySignature leaves errKeys: the
// library's own errors wrap no others.
type faultOf struct{}

// VerifySignature implements oidc.KeySet. For an ID token the library has checked that the
// provider names the algorithm.
func (s *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, oauth.Algorithms())
	if err != nil {
		return nil, errors.New("it is not signed by a known algorithm")
	}
	s.mu.Lock()
	keys := s.keys
	s.mu.Unlock()
	if payload, ok := oauth.Open(signed, keys, len(keys)); ok {
		return payload, nil
	}
	if keys, err = s.read(ctx); err != nil {
		err = fmt.Errorf("%w: %w", errKeys, err)
		if fault, ok := ctx.Value(faultOf{}).(*error); ok {
			*fault = err
		}
		return nil, err
	}
	if payload, ok := oauth.Open(signed, keys, len(keys)); ok {
		return payload, nil
	}
	return nil, errors.New("none of its keys fits the signature")
}

// read reads the keys. Those that we cannot use are left out (RFC 7517, section 5): one of an
// unknown curve must not keep people out whose tokens have another key.
func (s *keySet) read(ctx context.Context) ([]jose.JSONWebKey, error) {
	// It is for all who wait, and not for one who may leave.
	got, err, _ := s.looking.Do("", func() (any, error) {
		keys, err := jwks.Fetch(context.WithoutCancel(ctx), s.client, s.url)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.keys = keys
		return keys, nil
	})
	if err != nil {
		return nil, err
	}
	return got.([]jose.JSONWebKey), nil
}
