// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"errors"
	"fmt"
)

// Keys are the providers whose envelopes open, by algorithm, and which of them
// seals. They never change, so they may be shared.
type Keys struct {
	providers map[Algorithm]Provider
	current   Algorithm
}

// NewKeys returns keys that seal with current and open what any of the
// providers wrapped. Others are needed while envelopes move from one to the
// other.
func NewKeys(current Provider, others ...Provider) (*Keys, error) {
	k := &Keys{providers: map[Algorithm]Provider{}}
	for i, p := range append([]Provider{current}, others...) {
		if p == nil {
			return nil, errors.New("keys: a provider is missing")
		}
		id := p.KeyID()
		unknown := id == KeyID{Algorithm: AlgorithmTransit} // A ring of our own always knows.
		if !id.Algorithm.known() || !usable(id.Version) && !unknown {
			return nil, fmt.Errorf("keys: a provider wraps under %s, which no envelope can name", id)
		}
		if k.providers[id.Algorithm] != nil {
			return nil, fmt.Errorf("keys: there are two providers of %s keys", id.Algorithm)
		}
		k.providers[id.Algorithm] = p
		if i == 0 {
			k.current = id.Algorithm
		}
	}
	return k, nil
}

// Current names the key that seals. Its version is 0 while a transit provider
// does not know it: then nothing can be sealed.
func (k *Keys) Current() KeyID { return k.providers[k.current].KeyID() }

// provider returns the provider that may unwrap what is wrapped under this key.
func (k *Keys) provider(id KeyID) (Provider, error) {
	p, found := k.providers[id.Algorithm]
	if !found {
		return nil, fmt.Errorf("key %s: %w", id, ErrUnknownAlgorithm)
	}
	if id.Version < p.Minimum() {
		return nil, fmt.Errorf("key %s: %w", id, ErrRetiredKeyVersion)
	}
	return p, nil
}

// SaltSize is the size of a user's salt in bytes, that of SHA-256's output.
// The salt is random, so that without it the user's keys are gone.
const SaltSize = KeySize

// User seals and opens one user's secrets in one installation. It never
// changes, so it may be shared.
type User struct {
	keys    *Keys
	cluster string
	userUID string
	salt    hidden
}

// User returns the keys of the user with that UID and salt. The cluster names
// the installation: an envelope that is copied to another does not open there.
// The UID is never used again, so a new user with the same name does not get
// the secrets.
func (k *Keys) User(cluster, userUID string, salt []byte) (*User, error) {
	if !bindable(cluster) || !bindable(userUID) {
		return nil, fmt.Errorf("user keys: %w", ErrBinding)
	}
	if len(salt) != SaltSize {
		return nil, fmt.Errorf("user keys: the salt has %d bytes, it must have %d", len(salt), SaltSize)
	}
	if [SaltSize]byte(salt) == ([SaltSize]byte{}) {
		return nil, errors.New("user keys: the salt is all zeroes")
	}
	return &User{keys: k, cluster: cluster, userUID: userUID, salt: hide([SaltSize]byte(salt))}, nil
}

// wrapping is for the user's secret of that name, which must be bindable.
func (u *User) wrapping(a Algorithm, secret string) Wrapping {
	return Wrapping{Cluster: u.cluster, UserUID: u.userUID, Secret: secret, algorithm: a, salt: u.salt}
}
