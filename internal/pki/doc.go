// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki is the certificate authority of an installation and the names
// that its certificates carry.
//
// The authority's key is derived from the master key, so that it is stored
// nowhere and every replica of the keybroker is the same authority, to the
// byte, at every start. It is derived under a label of its own from the LOWEST
// version of the master key that the keybroker holds: adding a version, the
// first step of every rotation, changes nothing that anybody trusts. Removing
// the lowest version, the last step, is a change of authority too, and with it
// the published certificate changes; ingress and bridges must then be started
// anew, as they must be after a leak of the master key.
//
// The package is pure: randomness and times are arguments.
package pki
