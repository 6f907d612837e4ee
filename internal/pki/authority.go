// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"time"
)

const (
	// authorityInfo keeps the authority's key apart from everything else that
	// may be derived from the same secret.
	authorityInfo = "hb/v1/ca"

	// sessionsInfo begins the label of a bridge's session key; its UID, which
	// ends the label, has no further part after it to be confused with.
	sessionsInfo = "hb/v1/session/"

	// SessionKeySize is the size of a session key in bytes, that of the output
	// of the hash that it is used with.
	SessionKeySize = derivedSize
	// derivedSize is the size in bytes of what is derived of the secret: that of
	// the output of the hash, and of a number of the curve P-256.
	derivedSize = sha256.Size

	// Lifetime is how long an issued certificate is valid, which is also how
	// long a deleted bridge could still identify itself. It is renewed after a
	// third, so the keybroker may be down for 4 hours.
	Lifetime = 6 * time.Hour

	// backdate is how far the clocks of two nodes may be apart.
	backdate = 5 * time.Minute

	// serialSize is 128 bits: no two certificates share one by chance, and
	// RFC 5280 allows up to 160.
	serialSize = 16
)

// The authority never expires by itself: its lifetime is that of its secret,
// and fixed times keep its certificate the same at every start. The end
// is what RFC 5280, 4.1.2.5, has for "no well-defined expiration date".
var (
	authorityNotBefore = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	authorityNotAfter  = time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)
)

// ErrRequest is what Issue's errors wrap when the request itself is at fault.
var ErrRequest = errors.New("bad certificate request")

// Authority issues certificates. It is safe for concurrent use.
type Authority struct {
	key         ed25519.PrivateKey
	certificate *x509.Certificate
	pem         []byte
	// derive derives 32 bytes of the authority's secret by a label. A function
	// does not print what it holds.
	derive func(info string) ([]byte, error)
}

// NewAuthority returns the authority of a secret. Equal secrets give equal
// authorities.
func NewAuthority(secret [32]byte) (*Authority, error) {
	seed, err := hkdf.Key(sha256.New, secret[:], nil, authorityInfo, ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive authority: %w", err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	public := key.Public().(ed25519.PublicKey)
	digest := sha256.Sum256(public)
	template := &x509.Certificate{
		SerialNumber: serial(digest[:serialSize]),
		Subject:      pkix.Name{CommonName: "hosted-bridge authority"},
		NotBefore:    authorityNotBefore,
		NotAfter:     authorityNotAfter,
		// Set here because the library's own choice changes between releases.
		SubjectKeyId:          digest[:20],
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	// Ed25519 signatures are deterministic and take no randomness.
	der, err := x509.CreateCertificate(nil, template, template, public, key)
	if err != nil {
		return nil, fmt.Errorf("sign authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse authority: %w", err)
	}
	derive := func(info string) ([]byte, error) { return hkdf.Key(sha256.New, secret[:], nil, info, derivedSize) }
	return &Authority{key: key, certificate: certificate, pem: encodeCertificate(der), derive: derive}, nil
}

// SessionKeys returns the keys that sign the values that the bridge with this
// UID gives to its clients: the first signs, all verify. They are the same for
// every replica and at every start, so that a session outlives the process that
// began it, and no other bridge has them. They last as long as the authority
// and do not depend on the versions of the master key.
func (a *Authority) SessionKeys(bridgeUID string) ([][]byte, error) {
	if !bridgePath.MatchString(bridgePrefix + bridgeUID) {
		return nil, errors.New("derive session keys: this is no UID")
	}
	key, err := a.derive(sessionsInfo + bridgeUID)
	if err != nil {
		return nil, fmt.Errorf("derive session keys: %w", err)
	}
	return [][]byte{key}, nil
}

// CertificatePEM returns the authority's own certificate, for clients that
// trust it.
func (a *Authority) CertificatePEM() []byte {
	return append([]byte(nil), a.pem...)
}

// Issue certifies the public key of a PKCS #10 request for s, from a little
// before now until Lifetime after it. Nothing else of the request is used: the
// caller does not choose its own name. The answer is one PEM block without the
// authority's certificate, which the peers have.
func (a *Authority) Issue(rand io.Reader, csrDER []byte, s Subject, now time.Time) ([]byte, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	public, err := requestedKey(csrDER)
	if err != nil {
		return nil, err
	}
	random := make([]byte, serialSize)
	if _, err := io.ReadFull(rand, random); err != nil {
		return nil, fmt.Errorf("choose serial: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber:          serial(random),
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(Lifetime),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{s.Usage},
		BasicConstraintsValid: true,
		DNSNames:              s.DNSNames,
	}
	if s.URI != nil {
		template.URIs = append(template.URIs, s.URI)
	}
	der, err := x509.CreateCertificate(nil, template, a.certificate, public, a.key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	return encodeCertificate(der), nil
}

// serial makes a positive number of exactly serialSize bytes.
func serial(b []byte) *big.Int {
	b = append([]byte(nil), b...)
	b[0] = b[0]&0x7f | 0x40
	return new(big.Int).SetBytes(b)
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
