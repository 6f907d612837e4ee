// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificateLifetime outlives every local cluster.
const certificateLifetime = 365 * 24 * time.Hour

// identity is one certificate of the cluster: a Kubernetes user is a common
// name, its groups are organisations.
type identity struct {
	file   string
	user   string
	groups []string
	names  []string // DNS names and addresses, for servers.
}

// identities are all the cluster's certificates. The users and groups are
// those that Kubernetes' own roles are bound to.
func identities() []identity {
	const masters = "system:masters"
	return []identity{
		{file: "apiserver", user: "kube-apiserver", names: []string{
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + clusterDomain,
			"localhost", "127.0.0.1", nodeAddress, apiServiceAddress,
		}},
		{file: "kubelet-server", user: "kubelet", names: []string{nodeName, nodeAddress}},
		{file: "apiserver-kubelet-client", user: "kube-apiserver-kubelet-client", groups: []string{masters}},
		{file: "admin", user: "admin", groups: []string{masters}},
		{file: "kubelet", user: "system:node:" + nodeName, groups: []string{"system:nodes"}},
		{file: "kube-controller-manager", user: "system:kube-controller-manager"},
		{file: "kube-scheduler", user: "system:kube-scheduler"},
		{file: "kube-proxy", user: "system:kube-proxy"},
		{file: "coredns", user: "system:coredns"},
		{file: "network-policies", user: "system:network-policies"},
		{file: "volumes", user: "system:volumes"},
		{file: "registry", user: "registry", names: []string{nodeAddress}},
	}
}

// writePKI makes the cluster's certificate authority, its certificates and the
// key of its service account tokens.
func writePKI(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	caKey, err := newKey(filepath.Join(folder, "ca.key"))
	if err != nil {
		return err
	}
	now := time.Now()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "local-cluster"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLifetime),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	if err := writeCertificate(filepath.Join(folder, "ca.crt"), ca, ca, caKey, caKey); err != nil {
		return err
	}
	for i, id := range identities() {
		key, err := newKey(filepath.Join(folder, id.file+".key"))
		if err != nil {
			return err
		}
		leaf := id.template(int64(i)+2, now)
		if err := writeCertificate(filepath.Join(folder, id.file+".crt"), leaf, ca, key, caKey); err != nil {
			return fmt.Errorf("certificate %s: %w", id.file, err)
		}
	}
	_, err = newKey(filepath.Join(folder, "service-account.key"))
	return err
}

func (i identity) template(serial int64, now time.Time) *x509.Certificate {
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: i.user, Organization: i.groups},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, name := range i.names {
		leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	return leaf
}

func newKey(file string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, writePEM(file, "EC PRIVATE KEY", der)
}

func writeCertificate(file string, leaf, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, leaf, parent, &key.PublicKey, parentKey)
	if err != nil {
		return err
	}
	return writePEM(file, "CERTIFICATE", der)
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
