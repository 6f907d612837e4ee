// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"

	jose "github.com/go-jose/go-jose/v4"
)

// minModulus is the minimum number of bits of an RSA key, by RFC 7518, section
// 3.3.
const minModulus = 2048

// curves are those of ECDSA's algorithms, by RFC 7518, section 3.4.
var curves = map[string]elliptic.Curve{
	string(jose.ES256): elliptic.P256(), string(jose.ES384): elliptic.P384(), string(jose.ES512): elliptic.P521(),
}

// Ed25519 is EdDSA with the curve of that name, by RFC 9864.
const Ed25519 = "Ed25519"

// signsAlike reports whether two algorithms are the same, or the two names of EdDSA: keys of
// another curve than Ed25519 are not read.
func signsAlike(a, b string) bool {
	isEd := func(s string) bool { return s == string(jose.EdDSA) || s == Ed25519 }
	return a == b || isEd(a) && isEd(b)
}

// verifierOf returns what go-jose verifies signatures of an algorithm by with a public key. The
// library knows Ed25519 by its former name alone.
func verifierOf(public any, algorithm string) any {
	if key, ok := public.(ed25519.PublicKey); ok && algorithm == Ed25519 {
		return edKey(key)
	}
	return public
}

// edKey verifies signatures of Ed25519.
type edKey ed25519.PublicKey

// VerifyPayload implements jose.OpaqueVerifier.
func (k edKey) VerifyPayload(payload, signature []byte, _ jose.SignatureAlgorithm) error {
	if !ed25519.Verify(ed25519.PublicKey(k), payload, signature) {
		return jose.ErrCryptoFailure
	}
	return nil
}

// Open returns what was signed by one of an issuer's keys. Keys of another id are skipped, and
// those that do not fit the algorithm of the signature; of the others, most are tried.
func Open(signed *jose.JSONWebSignature, keys []jose.JSONWebKey, most int) ([]byte, bool) {
	header := signed.Signatures[0].Protected
	for n := range keys {
		if header.KeyID != "" && keys[n].KeyID != header.KeyID || !Fits(&keys[n], header.Algorithm) {
			continue
		}
		if most--; most < 0 {
			break
		}
		if payload, err := signed.Verify(verifierOf(keys[n].Key, header.Algorithm)); err == nil {
			return payload, true
		}
	}
	return nil, false
}

// Fits reports whether a key verifies signatures of that algorithm: it must be
// public, meant for that, and of that kind. If a public key were used as a
// secret, everybody who can read it could sign.
func Fits(key *jose.JSONWebKey, algorithm string) bool {
	meant := (key.Use == "" || key.Use == "sig") && (key.Algorithm == "" || signsAlike(key.Algorithm, algorithm))
	return meant && key.Valid() && key.IsPublic() && isOfKind(key.Key, algorithm)
}

// isOfKind reports whether a public key is one for that algorithm.
func isOfKind(public any, algorithm string) bool {
	switch k := public.(type) {
	case *rsa.PublicKey:
		return (algorithm[0] == 'R' || algorithm[0] == 'P') && k.N.BitLen() >= minModulus
	case *ecdsa.PublicKey:
		return curves[algorithm] == k.Curve
	case ed25519.PublicKey:
		return algorithm == string(jose.EdDSA) || algorithm == Ed25519
	}
	return false
}
