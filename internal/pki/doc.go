// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki is the certificate authority of an installation and the names
// that its certificates carry.
//
// The authority's key is derived from a secret of the installation, the file
// "authority" beside the versions of the master key, so that every replica of
// the keybroker is the same authority, to the byte, at every start. It is a
// secret of its own: versions of the master key come and go, and what everybody
// trusts stays. To change it is to publish another certificate; ingress and
// bridges must then be started anew, as they must be after a leak of it. From the
// same secret come the keys of bridges' sessions and those that sign access
// tokens.
//
// The package is pure: randomness and times are arguments.
package pki
