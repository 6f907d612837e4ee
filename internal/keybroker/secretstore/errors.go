// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import "errors"

// The errors that callers can distinguish. Causes are wrapped beside them; none
// contains any data.
var (
	// ErrNotOwned says that a Secret of the name that the bridge needs belongs
	// to something else.
	ErrNotOwned = errors.New("the Secret belongs to something else than this HostedBridge")
	// ErrNotReady says that a Secret of the name that the bridge needs is being
	// deleted, or belongs to an earlier HostedBridge of this name. Try again.
	ErrNotReady = errors.New("the Secret is about to be removed")
	// ErrSaltMissing says that the user's salt is gone, and with it every
	// secret that was sealed. Another salt is made only when all of those are
	// removed, or replaced at once.
	ErrSaltMissing = errors.New("the user's salt is gone")
	// ErrSaltInvalid says that the Secret of the salt holds no valid salt.
	ErrSaltInvalid = errors.New("the user's salt is not one")
	// ErrUnreadable says that a secret does not open: its envelope is damaged,
	// belongs to another user, or needs a key or salt that is gone.
	ErrUnreadable = errors.New("the secret cannot be opened")
	// ErrNotFound says that the user has no secret of that name.
	ErrNotFound = errors.New("there is no such secret")
	// ErrName says that a secret cannot have that name.
	ErrName = errors.New("a secret cannot have this name")
	// ErrTooLarge says that the value is larger than an envelope holds, or all
	// values of the bridge together are larger than a Secret holds.
	ErrTooLarge = errors.New("larger than can be stored")
	// ErrConflict says that other writers were first at every try. Try again.
	ErrConflict = errors.New("the secrets are being changed by others")
	// ErrExists says that a restore would change an existing secret.
	ErrExists = errors.New("the HostedBridge has other secrets already")
	// ErrForbidden says that the API server refuses the request: a right is
	// missing, a quota is used up, the namespace is being deleted, a Secret was
	// made immutable. An administrator has to act; another try alone does not
	// help.
	ErrForbidden = errors.New("the API server refuses it")
	// ErrUnavailable says that the API server or the provider of the master key
	// did not answer; in the second case envelope.ErrUnavailable is in the
	// chain too. It says nothing of the secrets. Try again.
	ErrUnavailable = errors.New("a service that is needed does not answer")
)

// errOvertaken says that the stored Secret has changed since it was read.
var errOvertaken = errors.New("somebody else wrote meanwhile")
