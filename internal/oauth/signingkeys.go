// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

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
	// SigningPeriod is how long a key signs. It is public for as long before and after,
	// which is many times MaxLifetime and any cache of the keys.
	SigningPeriod = 30 * 24 * time.Hour
	// tokenType is the type of access tokens by RFC 9068, 2.1. It keeps other
	// kinds of tokens with the same keys from being accepted as access tokens.
	tokenType = "at+jwt"
)

// SigningKeys are those by which the installation's own authorization server signs access
// tokens, of one authority and generation. Time is cut into periods of 30 days, and each has
// a key of its own, which is derived of the certificate authority's secret. So every replica
// of the keybroker has the same keys, also those of times to come, and none of them is stored,
// agreed on or replaced by anybody. Three are public at any time: that of the period, which
// signs; the one before, whose tokens may still be in use; and the next, so that who reads the
// keys now and then knows it before it signs.
//
// Times are arguments. A signature's own randomness go-jose takes from the system. The zero
// SigningKeys is of no use. It is safe for concurrent use.
type SigningKeys struct {
	authority  *pki.Authority
	generation uint32
}

// NewSigningKeys returns the keys of an authority. Another generation has none of the keys
// of this one: what was signed by them is no longer verified.
func NewSigningKeys(authority *pki.Authority, generation uint32) SigningKeys {
	return SigningKeys{authority, generation}
}

// Sign returns the claims as an access token that is signed by the key of now's
// period, in compact form. Claims that cannot be those of one are refused with an
// error that is ErrClaims.
func (k SigningKeys) Sign(claims []byte, now time.Time) (string, error) {
	payload, err := checkClaims(claims, now)
	if err != nil {
		return "", err
	}
	private, public, err := k.of(periodAt(now))
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
func (k SigningKeys) Public(now time.Time) (jose.JSONWebKeySet, error) {
	var set jose.JSONWebKeySet
	for p := periodAt(now) - 1; p <= periodAt(now)+1; p++ {
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
func (k SigningKeys) of(period int64) (private *ecdsa.PrivateKey, public jose.JSONWebKey, err error) {
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

// periodAt counts the periods since 1970.
func periodAt(t time.Time) int64 {
	return t.Unix() / int64(SigningPeriod/time.Second)
}
