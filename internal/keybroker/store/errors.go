// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import "errors"

// What callers can tell apart. Causes are wrapped beside them; none holds any
// data.
var (
	// ErrNotOwned says that a Secret of the name that the bridge needs belongs
	// to something else.
	ErrNotOwned = errors.New("the Secret belongs to something else than this HostedBridge")
	// ErrNotReady says that a Secret of the name that the bridge needs is about
	// to go: it is being deleted, or is that of an earlier HostedBridge of this
	// name. Try again.
	ErrNotReady = errors.New("the Secret is about to be removed")
	// ErrSaltMissing says that the user's salt is gone, and with it every
	// secret that was sealed. Only when all of those are removed, or replaced at
	// once, another is made.
	ErrSaltMissing = errors.New("the user's salt is gone")
	// ErrSaltInvalid says that the Secret of the salt holds none.
	ErrSaltInvalid = errors.New("the user's salt is not one")
	// ErrUnreadable says that a secret does not open: its envelope is damaged,
	// somebody else's, or of a key or salt that is gone.
	ErrUnreadable = errors.New("the secret cannot be opened")
	// ErrNotFound says that there is no secret of that name.
	ErrNotFound = errors.New("there is no such secret")
	// ErrName says that a secret cannot have that name.
	ErrName = errors.New("a secret cannot have this name")
	// ErrTooLarge says that the value is larger than an envelope takes, or all
	// of the bridge's together than a Secret does.
	ErrTooLarge = errors.New("larger than can be stored")
	// ErrConflict says that others wrote at every try. Try again.
	ErrConflict = errors.New("the secrets are being changed by others")
	// ErrExists says that a restore would change a secret that is there.
	ErrExists = errors.New("the HostedBridge has other secrets already")
	// ErrForbidden says that the API server refuses what is asked of it: a right
	// is missing, a quota is used up, the namespace goes, a Secret was made
	// immutable. An administrator has to look; trying again alone does not help.
	ErrForbidden = errors.New("the API server refuses it")
	// ErrUnavailable says that the API server or the provider of the master key
	// did not answer; envelope.ErrUnavailable, too, is in the chain if it was
	// the latter. It says nothing of the secrets. Try again.
	ErrUnavailable = errors.New("a service that is needed does not answer")
)

// errOvertaken says that what was read is not what is stored any more.
var errOvertaken = errors.New("somebody else wrote meanwhile")
