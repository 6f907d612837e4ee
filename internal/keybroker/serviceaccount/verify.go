// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

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

// skew is how far the clock here may be behind that of the API server, which
// sets the time from which a token is valid. It makes no token valid for
// longer.
const skew = 10 * time.Second

// algorithms are those that Kubernetes signs with, also through an external
// signer.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.ES384, jose.ES512}

// The keys of a review under which the API server says to which pod a token is
// bound.
const (
	extraPodName = "authentication.kubernetes.io/pod-name"
	extraPodUID  = "authentication.kubernetes.io/pod-uid"
)

// Verifier verifies tokens. Any number may be verified at once.
type Verifier struct {
	source Source
	now    func() time.Time
	known  atomic.Pointer[trust]

	// The reader of the keys holds reading, which guards the fields after it.
	reading chan struct{}
	failure error
	failed  time.Time
}

// New returns a verifier that has not read any keys yet.
func New(source Source, now func() time.Time) *Verifier {
	v := &Verifier{source: source, now: now, reading: make(chan struct{}, 1)}
	v.known.Store(&trust{})
	return v
}

// private are the claims that Kubernetes adds to tokens.
type private struct {
	Kubernetes struct {
		Namespace      string `json:"namespace"`
		Pod            bound  `json:"pod"`
		ServiceAccount bound  `json:"serviceaccount"`
	} `json:"kubernetes.io"`
}

// bound is an object that a token is bound to.
type bound struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

func (b bound) missing() bool { return b.Name == "" || b.UID == "" }

// Review says what a token is valid for, in the form of a TokenReview. A
// refused token is no error; the error means that there is no answer.
func (v *Verifier) Review(ctx context.Context, token, audience string) (*authenticationv1.TokenReviewStatus, error) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil || len(parsed.Headers) != 1 || parsed.Headers[0].KeyID == "" {
		return refused("no token that is signed as the API server signs")
	}
	trusted, err := v.trustFor(ctx, parsed.Headers[0].KeyID)
	if err != nil {
		return nil, err
	}
	key, found := trusted.find(parsed.Headers[0].KeyID, parsed.Headers[0].Algorithm)
	if !found {
		return refused("not signed by the API server")
	}
	var public jwt.Claims
	var own private
	if err := parsed.Claims(key.Key, &public, &own); err != nil {
		return refused("not signed by the API server")
	}
	if err := v.check(&public, trusted.issuer, audience); err != nil {
		return refused(err.Error())
	}
	return describe(&public, &own, audience)
}

// check says why the token is not valid now for that issuer and audience.
func (v *Verifier) check(c *jwt.Claims, issuer, audience string) error {
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
	case c.NotBefore != nil && now.Add(skew).Before(c.NotBefore.Time()), c.IssuedAt != nil && now.Add(skew).Before(c.IssuedAt.Time()):
		return errors.New("not valid yet")
	}
	return nil
}

// describe returns the subject of the token, if it belongs to a ServiceAccount
// and is bound to a pod.
func describe(c *jwt.Claims, own *private, audience string) (*authenticationv1.TokenReviewStatus, error) {
	k := own.Kubernetes
	if k.Namespace == "" || k.ServiceAccount.missing() {
		return refused("not of a service account")
	}
	name := fmt.Sprintf("system:serviceaccount:%s:%s", k.Namespace, k.ServiceAccount.Name)
	if c.Subject != name {
		return refused("its subject is another than its service account")
	}
	if k.Pod.missing() {
		return refused("not bound to a pod")
	}
	return &authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: []string{audience},
		User: authenticationv1.UserInfo{
			Username: name, UID: k.ServiceAccount.UID,
			Extra: map[string]authenticationv1.ExtraValue{extraPodName: {k.Pod.Name}, extraPodUID: {k.Pod.UID}},
		},
	}, nil
}

// refused is the answer for an invalid token. It repeats nothing from the
// token.
func refused(why string) (*authenticationv1.TokenReviewStatus, error) {
	return &authenticationv1.TokenReviewStatus{Error: why}, nil
}
