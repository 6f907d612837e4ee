// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"crypto"
	"crypto/ecdsa"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/hostedbridge/hostedbridge/internal/pki"
)

const (
	// Period is how long a key signs. It is public for as long before and after,
	// which is many times MaxLifetime and any cache of the keys.
	Period = 30 * 24 * time.Hour
	// tokenType is the type of access tokens by RFC 9068, 2.1. It keeps other
	// kinds of tokens with the same keys from being accepted as access tokens.
	tokenType = "at+jwt"
)

// Keys are the keys of one authority and generation. The zero Keys is of no use.
// It is safe for concurrent use.
type Keys struct {
	authority  *pki.Authority
	generation uint32
}

// Of returns the keys of an authority. Another generation has none of the keys
// of this one: what was signed by them is no longer verified.
func Of(authority *pki.Authority, generation uint32) Keys {
	return Keys{authority, generation}
}

// Sign returns the claims as an access token that is signed by the key of now's
// period, in compact form. Claims that cannot be those of one are refused with an
// error that is ErrClaims.
func (k Keys) Sign(claims []byte, now time.Time) (string, error) {
	payload, err := check(claims, now)
	if err != nil {
		return "", err
	}
	private, public, err := k.of(period(now))
	if err != nil {
		return "", err
	}
	key := jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: private, KeyID: public.KeyID}}
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithType(tokenType))
	if err != nil {
		return "", fmt.Errorf("make signer: %w", err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("sign: %w", err)
	}
	return signed.CompactSerialize()
}

// Public returns the public keys of the period before now's, of now's, and of the
// next.
func (k Keys) Public(now time.Time) (jose.JSONWebKeySet, error) {
	var set jose.JSONWebKeySet
	for p := period(now) - 1; p <= period(now)+1; p++ {
		_, public, err := k.of(p)
		if err != nil {
			return jose.JSONWebKeySet{}, err
		}
		set.Keys = append(set.Keys, public)
	}
	return set, nil
}

// of returns the key of a period. It takes some 20 microseconds (BenchmarkPublic
// makes three), so nothing is kept.
func (k Keys) of(period int64) (private *ecdsa.PrivateKey, public jose.JSONWebKey, err error) {
	private, err = k.authority.LoginKey(k.generation, period)
	if err != nil {
		return nil, jose.JSONWebKey{}, err
	}
	public = jose.JSONWebKey{Key: &private.PublicKey, Algorithm: string(jose.ES256), Use: "sig"}
	thumbprint, err := public.Thumbprint(crypto.SHA256)
	if err != nil {
		return nil, jose.JSONWebKey{}, fmt.Errorf("name login key: %w", err)
	}
	// RFC 7638: the name follows from the key, so that no two keys share one.
	public.KeyID = base64.RawURLEncoding.EncodeToString(thumbprint)
	return private, public, nil
}

// period counts the periods since 1970.
func period(t time.Time) int64 {
	return t.Unix() / int64(Period/time.Second)
}
