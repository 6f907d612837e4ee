// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"errors"
	"fmt"
)

const (
	// loginInfo begins the label of a key that signs access tokens. Three numbers
	// end the label, always all of them, so that no two of its forms meet.
	loginInfo = "hb/v1/login/"
	// maxAttempts is more than is ever needed: of the numbers of 256 bits,
	// one in 2^32 is no key of P-256.
	maxAttempts = 8
)

// LoginKey returns the P-256 key that signs access tokens in a period, which is
// a number that the caller counts. It is the same for every replica and at
// every start, so that replicas need no agreement and no storage. Another
// generation has other keys in all periods. The error says that no key was
// found, which does not happen by chance, and quotes nothing.
func (a *Authority) LoginKey(generation uint32, period int64) (*ecdsa.PrivateKey, error) {
	key, err := a.ecdsaKey(fmt.Sprintf("%s%d/%d", loginInfo, generation, period))
	if err != nil {
		return nil, fmt.Errorf("derive login key: %w", err)
	}
	return key, nil
}

// ecdsaKey returns the P-256 key of a label, to which the number of the attempt is added.
func (a *Authority) ecdsaKey(label string) (*ecdsa.PrivateKey, error) {
	for attempt := range maxAttempts {
		candidate, err := a.derive(fmt.Sprintf("%s/%d", label, attempt))
		if err != nil {
			return nil, err
		}
		// What is not between 0 and the order of the curve is thrown away, not
		// reduced, so that every key is equally likely (FIPS 186-5, A.2.2).
		if key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), candidate); err == nil {
			return key, nil
		}
	}
	return nil, errors.New("no candidate is one")
}
