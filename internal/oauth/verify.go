// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

const (
	// maxToken is the most bytes that a token may have. Those of directories that
	// name all groups of a person in it have some 4 KiB.
	maxToken = 8 << 10
	// Leeway is how far the clocks of the issuer and of this process may be apart.
	Leeway = 30 * time.Second
	// maxTried is the most keys that one token is tried with: where an issuer has
	// several without an id, anybody's token would cost a check of each.
	maxTried = 4
)

// KeySource has the keys of issuers.
type KeySource interface {
	// Keys returns the issuer's keys of that id, and all where it is empty, which
	// is what a token without one has. None is no error. An error is that it
	// cannot be said which keys the issuer has.
	Keys(ctx context.Context, issuer, kid string) ([]jose.JSONWebKey, error)
}

// Token is an access token that is good at the resource that it was verified for.
type Token struct {
	// Issuer is the URL of who issued it.
	Issuer string
	// Subject is whose it is.
	Subject SubjectKey
	// User is the user that a rule makes of the person, empty if there is none.
	User v1alpha1.UserID
	// ClientID is the client that it was issued to, and ID its own (jti). Both may
	// be empty with issuers other than our own, and are any text.
	ClientID, ID string
	// Expires is when the token ends, without any leeway.
	Expires time.Time
	// Read and Call say what it allows. One is not part of the other.
	Read, Call bool
	// Scopes are what the token has, in its order.
	Scopes []string
}

// Verifier verifies access tokens. Any number may be verified at once.
type Verifier struct {
	issuers    map[string]*Issuer
	algorithms []jose.SignatureAlgorithm
	keys       KeySource
}

// NewVerifier returns a verifier of tokens of these issuers. Its error names
// everything that is wrong with them.
func NewVerifier(issuers []Issuer, keys KeySource) (*Verifier, error) {
	v := &Verifier{issuers: map[string]*Issuer{}, keys: keys}
	var errs []error
	for _, given := range issuers {
		i := given.withDefaults()
		errs = append(errs, i.check())
		if v.issuers[i.URL] != nil {
			errs = append(errs, fmt.Errorf("issuer %s is there twice", i.URL))
		}
		v.issuers[i.URL] = i
		v.algorithms = append(v.algorithms, i.Algorithms...)
	}
	if len(issuers) == 0 {
		errs = append(errs, errors.New("there is no issuer"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("verify access tokens: %w", err)
	}
	return v, nil
}

// Scopes returns what a client has to ask for: all scopes that some issuer's
// tokens need, sorted. It is empty if none are needed.
func (v *Verifier) Scopes() []string {
	var all []string
	for _, i := range v.issuers {
		all = append(append(all, i.ReadScopes...), i.CallScopes...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Verify returns what token says, if it is good at that resource now. The error is
// a Reason, which is an ErrToken, or wraps ErrKeysAway.
func (v *Verifier) Verify(ctx context.Context, token, resource string, now time.Time) (Token, error) {
	signed, err := v.parse(token)
	if err != nil {
		return Token{}, err
	}
	header := signed.Signatures[0].Protected
	i, err := v.issuerOf(signed.UnsafePayloadWithoutVerification(), header)
	if err != nil {
		return Token{}, err
	}
	payload, err := v.open(ctx, i, signed, header)
	if err != nil {
		return Token{}, err
	}
	c, err := readClaims(payload)
	if err != nil {
		return Token{}, err
	}
	if err := c.check(i, resource, now); err != nil {
		return Token{}, err
	}
	return c.token(i)
}

// elsewhere are the members of a header that ask to take a key that the token
// brings or names, to understand what is not understood here, or to read the
// payload in another way.
var elsewhere = []jose.HeaderKey{"jku", "x5u", "crit", "b64", "zip", "enc"}

// parse returns a token in its parts, nothing of which can be relied on.
func (v *Verifier) parse(token string) (*jose.JSONWebSignature, error) {
	// The decoder overlooks line ends.
	if len(token) > maxToken || strings.ContainsFunc(token, notOfToken) {
		return nil, Malformed
	}
	signed, err := jose.ParseSignedCompact(token, v.algorithms)
	if _, ok := errors.AsType[*jose.ErrUnexpectedSignatureAlgorithm](err); ok {
		return nil, BadAlgorithm
	}
	if err != nil { // It may quote the token.
		return nil, Malformed
	}
	header := signed.Signatures[0].Protected
	if header.JSONWebKey != nil || slices.ContainsFunc(elsewhere, func(k jose.HeaderKey) bool { _, has := header.ExtraHeaders[k]; return has }) {
		return nil, Malformed
	}
	return signed, nil
}

func notOfToken(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
}

// issuerOf returns who a token says to be of, if that one makes tokens such as it.
func (v *Verifier) issuerOf(unverified []byte, header jose.Header) (*Issuer, error) {
	var claims struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(unverified, &claims) != nil {
		return nil, Malformed
	}
	i := v.issuers[claims.Issuer]
	if i == nil {
		return nil, UnknownIssuer
	}
	if !slices.Contains(i.Algorithms, jose.SignatureAlgorithm(header.Algorithm)) {
		return nil, BadAlgorithm
	}
	typ, ok := header.ExtraHeaders[jose.HeaderType].(string)
	if _, has := header.ExtraHeaders[jose.HeaderType]; has && !ok || !slices.Contains(i.Types, mediaType(typ)) {
		return nil, BadType
	}
	return i, nil
}

// open returns the payload of a token that the issuer has signed.
func (v *Verifier) open(ctx context.Context, i *Issuer, signed *jose.JSONWebSignature, header jose.Header) ([]byte, error) {
	keys, err := v.keys.Keys(ctx, i.URL, header.KeyID)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeysAway, err)
	}
	tried := 0
	for n := range keys {
		if tried == maxTried {
			break
		}
		if !fits(&keys[n], header.Algorithm) {
			continue
		}
		tried++
		if payload, err := signed.Verify(keys[n].Key); err == nil {
			return payload, nil
		}
	}
	return nil, BadSignature
}
