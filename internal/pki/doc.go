// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki is the certificate authority of an installation and the names
// that its certificates carry.
//
// The authority's key is derived from a secret of the installation, the file
// "authority" beside the versions of the master key, so that every replica of
// the keybroker is the same authority, to the byte, at every start. It is a
// separate secret: versions of the master key change, and the authority that
// all processes trust stays. To change it means to publish another certificate;
// ingress and bridges must then be restarted, as they must be after a leak of
// it. The keys of bridges' sessions and those that sign access tokens come from
// the same secret.
//
// The package is pure: randomness and times are arguments.
package pki
