// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client is the keybroker's client: it has a certificate issued to the
// process that it runs in, keeps it fresh, and makes of it the TLS
// configurations by which ingress and bridges know each other. It gets a bridge
// its secrets, and has the ingress change those of the users.
//
// The package is a shell. The bridge links it, once per user, and therefore it
// needs nothing of Kubernetes.
package client
