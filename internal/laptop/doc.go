// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package laptop is what a bridge needs on a person's own machine, where no
// operator writes its configuration and no keybroker has its secrets: the
// configuration file, also other programs' ones, the store of secrets, recipes
// from a catalog, logins, and the entries in clients' own files.
//
// The package is a shell: it reads and writes files, the system's keyring and
// the network. It starts no bridge; cmd/bridge does.
package laptop
