//go:build testenv

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/redisserver"
)

func TestOverTLSTheStoreHasToProveWhoItIs(t *testing.T) {
	dir := t.TempDir()
	roots := writeCertificate(t, dir)
	port := strconv.Itoa(freePort(t))
	redisserver.Start(t, "--tls-port", port, "--tls-auth-clients", "no", "--tls-cert-file", filepath.Join(dir, "cert.pem"),
		"--tls-key-file", filepath.Join(dir, "key.pem"), "--tls-ca-cert-file", filepath.Join(dir, "cert.pem"))
	url := "rediss://127.0.0.1:" + port + "/0"
	stranger := startReplica(t, Redis{URL: url, TLS: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}}, 1)
	startReplicas(t, Redis{URL: url, TLS: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}}, 1)
	if _, err := stranger.link.beat(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a store that proves nothing answers: %v", err)
	}
	if v := stranger.Take(t.Context(), "alice", wide, quota.Want{Requests: 1}); !v.Allowed() || stranger.link.up.Load() {
		t.Errorf("%+v", v)
	}
}

// writeCertificate writes a certificate of 127.0.0.1 and its key, and returns
// the roots that vouch for it.
func writeCertificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key := must.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "counter"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	cert := must.Value(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	private := must.Value(x509.MarshalPKCS8PrivateKey(key))(t)
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
	parsed := must.Value(x509.ParseCertificate(cert))(t)
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return roots
}

func freePort(t *testing.T) int {
	t.Helper()
	l := must.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
