// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestTheSystemsRootsAreUsedWhereThereAreSome(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{"full": "-----BEGIN CERTIFICATE-----", "empty": ""} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	for name, want := range map[string]bool{"full": true, "empty": false, "missing": false} {
		if got := hasRoots(filepath.Join(dir, name)); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestPublicRootsAreTrusted(t *testing.T) {
	t.Parallel()
	pool := publicRoots()
	n := 0
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // It is for certificates that are older than this.
		}
		certificate := must.Value(x509.ParseCertificate(root.Certificate))(t)
		options := x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}, CurrentTime: certificate.NotBefore}
		if _, err := certificate.Verify(options); err != nil {
			t.Errorf("%v: %v", certificate.Subject, err)
		}
		n++
	}
	if n < 100 {
		t.Errorf("%d roots, want at least 100", n)
	}
}
