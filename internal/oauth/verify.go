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
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

const (
	// maxToken is the maximum length of a token in bytes. Those of directories
	// that list all groups of a person have some 4 KiB.
	maxToken = 8 << 10
	// Leeway is how far the clocks of the issuer and of this process may
	// differ.
	Leeway = 30 * time.Second
	// maxTried is the maximum number of keys that one token is tried with: if
	// an issuer has several without an id, each invalid token would cost a
	// check of all of them.
	maxTried = 4
)

// KeySource has the keys of issuers.
type KeySource interface {
	// Keys returns the issuer's keys of that id, and all for an empty one,
	// which stands for a token without an id. An empty result is no error. An
	// error means that the issuer's keys are not known.
	Keys(ctx context.Context, issuer, kid string) ([]jose.JSONWebKey, error)
}

// Token is an access token that is valid at the resource that it was verified
// for.
type Token struct {
	// Issuer is the URL of its issuer.
	Issuer string
	// Subject is its subject.
	Subject SubjectKey
	// User is the user that a rule derives from the person, empty without a
	// rule.
	User v1alpha1.UserID
	// Roles are those of an administrator. Only tokens of our own server for AdminPath have
	// some.
	Roles []Role
	// Groups are those that a token of another server named when it was issued, for the
	// person Person, its sub. They are nil if the installation does not read them, or they
	// are not to be had from the token.
	Groups []string
	Person string
	// Issued is when the token was issued, zero if it does not say.
	Issued time.Time
	// Bridge is the UID of the bridge that the person agreed to. Only tokens of
	// our own server for the URL for everyone have one.
	Bridge types.UID
	// Own is whether our own server issued it.
	Own bool
	// ClientID is the client that it was issued to, and ID its own (jti). Both
	// may be empty with issuers other than our own, and may be any text.
	ClientID, ID string
	// Expires is when the token ends, without any leeway.
	Expires time.Time
	// Read and Call say what it allows. Neither includes the other.
	Read, Call bool
	// Scopes are the token's scopes, in its order.
	Scopes []string
}

// Manages reports whether the token has ScopeManage, which no issuer gives unasked.
func (t Token) Manages() bool { return slices.Contains(t.Scopes, ScopeManage) }

// Verifier verifies access tokens. It is safe for concurrent use.
type Verifier struct {
	issuers    map[string]*Issuer
	algorithms []jose.SignatureAlgorithm
	keys       KeySource
}

// NewVerifier returns a verifier of tokens of these issuers. Its error names
// all their mistakes.
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

// Scopes returns the scopes that a client has to request: all that some
// issuer's tokens need, sorted. It is empty if none are needed.
func (v *Verifier) Scopes() []string {
	var all []string
	for _, i := range v.issuers {
		all = append(append(all, i.ReadScopes...), i.CallScopes...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Verify returns the content of a token, if it is valid at that resource now.
// The error is a Reason, which is an ErrToken, or wraps ErrKeysAway.
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

// elsewhere are header members that ask to use a key that the token brings or
// names, to understand an unknown extension, or to read the payload in another
// way.
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
	if payload, ok := Open(signed, keys, maxTried); ok {
		return payload, nil
	}
	return nil, BadSignature
}
