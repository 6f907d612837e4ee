// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

const (
	// MaxClaims is the size in bytes of the largest claims: a URL or two, some
	// identifiers and names come to less than 2 KiB.
	MaxClaims = 8 << 10
	// MaxTokenLifetime is how long a token may be good for. Until it ends nobody can
	// call it back, so whoever takes over the authorization server for a moment
	// has no more than this.
	MaxTokenLifetime = time.Hour
	// maxSkew is how far the clocks of two nodes may differ, as it is for
	// certificates. A token for another time does not belong to a login.
	maxSkew = 5 * time.Minute
)

// ErrClaims is what Sign's errors are when the claims are at fault. They name
// claims and quote no value.
var ErrClaims = errors.New("not the claims of an access token")

// checkClaims returns the claims as they are signed: without what would let two readers
// understand different things by them.
func checkClaims(claims []byte, now time.Time) ([]byte, error) {
	if len(claims) > MaxClaims {
		return nil, fmt.Errorf("%w: larger than %d bytes", ErrClaims, MaxClaims)
	}
	v, err := jsondoc.Parse(claims)
	if err != nil {
		// The cause could quote a name, which is the caller's text.
		return nil, fmt.Errorf("%w: not JSON in which each name stands once", ErrClaims)
	}
	if v.Kind != jsondoc.Object {
		return nil, fmt.Errorf("%w: not an object", ErrClaims)
	}
	for _, name := range []string{"iss", "sub", "jti"} {
		if text, _ := v.Get(name); !isText(text) {
			return nil, fmt.Errorf("%w: %s is not a text", ErrClaims, name)
		}
	}
	if aud, _ := v.Get("aud"); aud.Kind != jsondoc.Array || len(aud.Items) != 1 || !isText(aud.Items[0]) {
		return nil, fmt.Errorf("%w: aud is not an array of one text", ErrClaims)
	}
	if err := checkTimes(v, now); err != nil {
		return nil, err
	}
	return v.MarshalJSON()
}

func isText(v jsondoc.Value) bool { return v.Kind == jsondoc.String && v.Text != "" }

// checkTimes looks at when the token begins and ends.
func checkTimes(v jsondoc.Value, now time.Time) error {
	issued, ok := claimSeconds(v, "iat")
	if !ok {
		return fmt.Errorf("%w: iat is not a number of seconds", ErrClaims)
	}
	expires, ok := claimSeconds(v, "exp")
	if !ok {
		return fmt.Errorf("%w: exp is not a number of seconds", ErrClaims)
	}
	skew, life := int64(maxSkew/time.Second), int64(MaxTokenLifetime/time.Second)
	if at := now.Unix(); issued < at-skew || issued > at+skew {
		return fmt.Errorf("%w: iat is more than %s from now", ErrClaims, maxSkew)
	}
	// iat is near to now, so that neither difference overflows.
	if expires <= issued || expires > issued+life {
		return fmt.Errorf("%w: exp is not after iat, or more than %s after it", ErrClaims, MaxTokenLifetime)
	}
	return nil
}

// claimSeconds returns a time since 1970. RFC 7519 allows fractions and exponents too,
// which nobody needs and not all readers take.
func claimSeconds(v jsondoc.Value, name string) (int64, bool) {
	claim, _ := v.Get(name)
	if claim.Kind != jsondoc.Number {
		return 0, false
	}
	n, err := strconv.ParseInt(claim.Text, 10, 64)
	return n, err == nil
}
