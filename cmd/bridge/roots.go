// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/x509"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// systemRoots is the file with CA certificates that Go reads first on Linux.
const systemRoots = "/etc/ssl/certs/ca-certificates.crt"

// hasRoots reports whether a file has CA certificates of the system. A bridge that has them does
// without the public ones, which take half a megabyte.
func hasRoots(path string) bool {
	file, err := os.Open(path) //nolint:gosec // Go reads the same file, and nothing of it is shown.
	if err != nil {
		return false
	}
	defer file.Close()
	info, err := file.Stat()
	return err == nil && info.Size() > 0
}

// publicRoots returns the public CA certificates, which Go uses where the system has none.
func publicRoots() *x509.CertPool {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			panic(err)
		}
		if root.Constraint == nil {
			pool.AddCert(certificate)
		} else {
			pool.AddCertWithConstraint(certificate, root.Constraint)
		}
	}
	return pool
}
