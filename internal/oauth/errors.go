// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import "errors"

// ErrToken is wrapped by errors about invalid tokens. The holder needs another
// one.
var ErrToken = errors.New("access token refused")

// ErrKeysAway is wrapped by errors about tokens that cannot be checked, as the
// keys of the issuer are not known. The same token may be valid later.
var ErrKeysAway = errors.New("the keys of the issuer are away")

// Reason is why a token is refused, an ErrToken. The words are fixed: they
// contain nothing of the token, so that they may be answered, logged and
// counted.
type Reason string

// Why tokens are refused.
const (
	// Malformed means that the text is no access token, asks to be verified in
	// another way, or lacks a required part.
	Malformed     Reason = "malformed"
	UnknownIssuer Reason = "unknown issuer"
	BadAlgorithm  Reason = "algorithm"
	BadType       Reason = "type"
	// BadSignature also means that the issuer has no such key.
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
