// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import "errors"

// ErrToken is what errors about a token are that is good for nothing here. Its
// holder needs another one.
var ErrToken = errors.New("access token refused")

// ErrKeysAway is what errors are wrapped in where nothing can be said of a token,
// as the keys of its issuer are not known. The same token may be good later.
var ErrKeysAway = errors.New("the keys of the issuer are away")

// Reason is why a token is refused, an ErrToken. The words are fixed: nothing of
// the token is in them, so that they may be answered, logged and counted.
type Reason string

// Why tokens are refused.
const (
	// Malformed is what is no access token, or one that says to verify it in
	// another way, or that lacks what it must have.
	Malformed     Reason = "malformed"
	UnknownIssuer Reason = "unknown issuer"
	BadAlgorithm  Reason = "algorithm"
	BadType       Reason = "type"
	// BadSignature is also that the issuer has no such key.
	BadSignature Reason = "signature"
	BadAudience  Reason = "audience"
	Expired      Reason = "expired"
	NotYetValid  Reason = "not yet valid"
	NoSubject    Reason = "no subject"
)

// Reasons returns all reasons.
func Reasons() []Reason {
	return []Reason{Malformed, UnknownIssuer, BadAlgorithm, BadType, BadSignature, BadAudience, Expired, NotYetValid, NoSubject}
}

// Error implements error.
func (r Reason) Error() string { return ErrToken.Error() + ": " + string(r) }

// Is makes every reason an ErrToken.
func (r Reason) Is(target error) bool { return target == ErrToken }
