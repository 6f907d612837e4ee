// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"errors"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

// Kind is the kind of a credential. Each credential begins with its kind, so that
// people and scanners recognize it.
type Kind string

// The kinds of credentials.
const (
	Code    Kind = "hbc_"
	Refresh Kind = "hbr_"
)

// Credential is a code or a refresh token. Both of its parts are secrets: one names
// the grant, the other proves that the credential is valid.
type Credential struct {
	Kind         Kind
	grant, proof string
}

// Text returns the credential as the client sends it.
func (c Credential) Text() string { return string(c.Kind) + c.grant + c.proof }

var errCredential = errors.New("not a credential of this kind")

// ParseCredential returns the credential in a text.
func ParseCredential(kind Kind, text string) (Credential, error) {
	const half = 43
	if len(text) != len(kind)+2*half || text[:len(kind)] != string(kind) {
		return Credential{}, errCredential
	}
	c := Credential{kind, text[len(kind) : len(kind)+half], text[len(kind)+half:]}
	if !flow.IsSecret(c.grant) || !flow.IsSecret(c.proof) {
		return Credential{}, errCredential
	}
	return c, nil
}
