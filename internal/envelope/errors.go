// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import "errors"

// The errors that callers can distinguish. Each fails closed: nothing of the
// envelope is returned beside it.
var (
	// ErrMalformed says that the bytes are not an envelope: cut short,
	// extended, or something else altogether.
	ErrMalformed = errors.New("not an envelope")
	// ErrUnknownFormat says that the envelope is of a later format than this
	// program knows.
	ErrUnknownFormat = errors.New("envelope of an unknown format")
	// ErrUnknownAlgorithm says that the algorithm is unknown, or that the keys
	// have no provider of it.
	ErrUnknownAlgorithm = errors.New("envelope with an algorithm that is unknown here")
	// ErrUnknownKeyVersion says that the provider has no master key of the
	// envelope's version.
	ErrUnknownKeyVersion = errors.New("no master key of that version")
	// ErrRetiredKeyVersion says that the version is below the provider's
	// minimum, whether or not it still has the key.
	ErrRetiredKeyVersion = errors.New("master key of that version is retired")
	// ErrRefused says that the envelope was changed, or was sealed for another
	// cluster, user, salt, name or master key. Which of these it is cannot be
	// known.
	ErrRefused = errors.New("envelope does not open: it is damaged, or belongs to another cluster, user or name")
	// ErrUnavailable says that the provider could not be reached, or gave no
	// valid answer. It says nothing of the envelope.
	ErrUnavailable = errors.New("the provider of the master key does not answer")
	// ErrTooLong says that the secret is larger than MaxPlaintext.
	ErrTooLong = errors.New("secret is too long")
	// ErrBinding says that the cluster, the user's UID or the secret's name is
	// empty or too long: an envelope bound to nothing opens anywhere.
	ErrBinding = errors.New("cluster, user UID and secret name must each have 1 to 253 bytes")
)
