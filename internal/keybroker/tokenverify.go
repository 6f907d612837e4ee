// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	authenticationv1 "k8s.io/api/authentication/v1"
)

// tokenSkew is how far the clock here may be behind that of the API server, which
// sets the time from which a token is valid. It makes no token valid for
// longer.
const tokenSkew = 10 * time.Second

// tokenAlgorithms are those that Kubernetes signs with, also through an external
// signer.
var tokenAlgorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.ES384, jose.ES512}

// TokenVerifier verifies ServiceAccount tokens by the API server's public keys, for
// installations that may not use a TokenReview: that right exists for a whole cluster only.
// Its answer is that of a review that checks the token by itself. Whether the pod and the
// ServiceAccount in it still exist is checked afterwards, as it is with a review. Any number
// of tokens may be verified at once.
//
// docs/adr/0013-namespaced.md compares the two.
type TokenVerifier struct {
	source KeySource
	now    func() time.Time
	known  atomic.Pointer[tokenTrust]

	// The reader of the keys holds reading, which guards the fields after it.
	reading chan struct{}
	failure error
	failed  time.Time
}

// NewTokenVerifier returns a verifier that has not read any keys yet.
func NewTokenVerifier(source KeySource, now func() time.Time) *TokenVerifier {
	v := &TokenVerifier{source: source, now: now, reading: make(chan struct{}, 1)}
	v.known.Store(&tokenTrust{})
	return v
}

// privateClaims are the claims that Kubernetes adds to tokens.
type privateClaims struct {
	Kubernetes struct {
		Namespace      string      `json:"namespace"`
		Pod            boundObject `json:"pod"`
		ServiceAccount boundObject `json:"serviceaccount"`
	} `json:"kubernetes.io"`
}

// boundObject is an object that a token is bound to.
type boundObject struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

func (b boundObject) missing() bool { return b.Name == "" || b.UID == "" }

// Review says what a token is valid for, in the form of a TokenReview. A
// refused token is no error; the error means that the review could not be made.
func (v *TokenVerifier) Review(ctx context.Context, token, audience string) (*authenticationv1.TokenReviewStatus, error) {
	parsed, err := jwt.ParseSigned(token, tokenAlgorithms)
	if err != nil || len(parsed.Headers) != 1 || parsed.Headers[0].KeyID == "" {
		return refusedReview("no token that is signed as the API server signs")
	}
	trusted, err := v.trustFor(ctx, parsed.Headers[0].KeyID)
	if err != nil {
		return nil, err
	}
	key, found := trusted.find(parsed.Headers[0].KeyID, parsed.Headers[0].Algorithm)
	if !found {
		return refusedReview("not signed by the API server")
	}
	var public jwt.Claims
	var own privateClaims
	if err := parsed.Claims(key.Key, &public, &own); err != nil {
		return refusedReview("not signed by the API server")
	}
	if err := v.check(&public, trusted.issuer, audience); err != nil {
		return refusedReview(err.Error())
	}
	return describeAccount(&public, &own, audience)
}

// check says why the token is not valid now for that issuer and audience.
func (v *TokenVerifier) check(c *jwt.Claims, issuer, audience string) error {
	now := v.now()
	switch {
	case c.Issuer != issuer:
		return errors.New("of another issuer")
	case len(c.Audience) != 1 || c.Audience[0] != audience:
		// A token that another service accepts too could come from that
		// service.
		return errors.New("not for this audience alone")
	case c.Expiry == nil:
		return errors.New("does not expire")
	case !now.Before(c.Expiry.Time()):
		return errors.New("has expired")
	case c.NotBefore != nil && now.Add(tokenSkew).Before(c.NotBefore.Time()), c.IssuedAt != nil && now.Add(tokenSkew).Before(c.IssuedAt.Time()):
		return errors.New("not valid yet")
	}
	return nil
}

// describeAccount returns the subject of the token, if it belongs to a ServiceAccount
// and is bound to a pod.
func describeAccount(c *jwt.Claims, own *privateClaims, audience string) (*authenticationv1.TokenReviewStatus, error) {
	k := own.Kubernetes
	if k.Namespace == "" || k.ServiceAccount.missing() {
		return refusedReview("not of a service account")
	}
	name := fmt.Sprintf("system:serviceaccount:%s:%s", k.Namespace, k.ServiceAccount.Name)
	if c.Subject != name {
		return refusedReview("its subject is another than its service account")
	}
	if k.Pod.missing() {
		return refusedReview("not bound to a pod")
	}
	return &authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: []string{audience},
		User: authenticationv1.UserInfo{
			Username: name, UID: k.ServiceAccount.UID,
			Extra: map[string]authenticationv1.ExtraValue{extraPodName: {k.Pod.Name}, extraPodUID: {k.Pod.UID}},
		},
	}, nil
}

// refusedReview is the answer for an invalid token. It repeats nothing from the
// token.
func refusedReview(why string) (*authenticationv1.TokenReviewStatus, error) {
	return &authenticationv1.TokenReviewStatus{Error: why}, nil
}
