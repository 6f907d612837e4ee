// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package laptop runs a bridge on a person's own machine, without an operator that writes its
// configuration and a keybroker that stores its secrets. It has the configuration file and its
// import from other programs, the store of secrets, recipes from a catalog, logins, and the
// entries in clients' own files.
//
// The package is a shell: it reads and writes files, the system's keyring and the network. It does
// not start the bridge; its package commands does.
package laptop
