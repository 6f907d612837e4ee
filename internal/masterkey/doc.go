// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package masterkey reads the installation's master key from its store and
// follows its changes: a directory with a file for each version, as Kubernetes
// mounts a Secret, or the transit engine of HashiCorp Vault or OpenBao, which
// never hands the key out.
//
// The directory has, with either of them, the file "authority", the key of the
// certificate authority. The files "current" and "minimum" say which version
// wraps and which is the lowest that unwraps; "login" counts the generations of
// the keys that sign access tokens.
//
// No error and no log line quotes a key, a token or any answer of a server.
package masterkey
