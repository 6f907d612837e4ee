// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package envelope is the format in which a user's secrets are stored: each is
// encrypted under a data key of its own, which is wrapped under a key derived
// for that user from the installation's master key. The master key is here, in
// a Keyring, or with another Provider. Whoever holds the stored bytes and the
// user's salt, and not the master key, learns the secret's length and nothing
// else.
//
// An envelope opens for the cluster, user and name for which it was sealed and
// for no other, in exactly the bytes that Seal or Rewrap returned. What it
// cannot tell is that it is an old one of the same name: whoever may write the
// store can put back what once stood there.
//
// docs/spec/envelope.md gives the format byte by byte, testdata the vectors.
// The package is pure and has no options. No error holds a key or a plaintext.
package envelope
