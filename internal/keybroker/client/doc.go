// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client is the keybroker's client: it requests a certificate for the
// process that it runs in, keeps it fresh, and builds the TLS configurations by
// which ingress and bridges identify each other. It fetches a bridge's secrets,
// and changes users' secrets for the ingress.
//
// The package is a shell. The bridge links it, once per user, so it has no
// dependency on Kubernetes.
package client
