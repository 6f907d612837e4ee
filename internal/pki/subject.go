// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"regexp"
)

// TrustDomain is the host of the URIs by which certificates name processes.
// An installation trusts its own authority alone, so that two installations
// with the same trust domain do not meet.
const TrustDomain = "hostedbridge.dev"

const (
	ingressPath  = "/ingress"
	storePath    = "/store"
	bundlerPath  = "/bundler"
	bridgePrefix = "/bridge/"
)

// bridgePath is how a bridge's path may look. UIDs are made by the API server;
// should one ever hold anything but these, it must not become a name.
var bridgePath = regexp.MustCompile(`^` + bridgePrefix + `[0-9A-Za-z-]{1,64}$`)

// BridgeURI names the bridge of the HostedBridge with this UID.
func BridgeURI(bridgeUID string) *url.URL {
	return &url.URL{Scheme: "spiffe", Host: TrustDomain, Path: bridgePrefix + bridgeUID}
}

// IngressURI names the ingress.
func IngressURI() *url.URL {
	return &url.URL{Scheme: "spiffe", Host: TrustDomain, Path: ingressPath}
}

// StoreURI names the installation's store of counts, audit entries and bundles.
func StoreURI() *url.URL {
	return &url.URL{Scheme: "spiffe", Host: TrustDomain, Path: storePath}
}

// BundlerURI names the processes that make bundles.
func BundlerURI() *url.URL {
	return &url.URL{Scheme: "spiffe", Host: TrustDomain, Path: bundlerPath}
}

// IsBridge reports whether the name is one of a bridge.
func IsBridge(name *url.URL) bool {
	return bridgePath.MatchString(name.Path) && name.String() == "spiffe://"+TrustDomain+name.Path
}

// Subject is the identity in a certificate, and its usage. Exactly one of URI
// and DNSNames is set.
type Subject struct {
	URI      *url.URL
	DNSNames []string
	// Usage is ExtKeyUsageServerAuth or ExtKeyUsageClientAuth. A certificate
	// has one: a compromised bridge cannot call other bridges.
	Usage x509.ExtKeyUsage
}

// BridgeSubject is the server that the HostedBridge with this UID runs.
func BridgeSubject(bridgeUID string) Subject {
	return Subject{URI: BridgeURI(bridgeUID), Usage: x509.ExtKeyUsageServerAuth}
}

// IngressSubject is the ingress, the client of all bridges.
func IngressSubject() Subject {
	return Subject{URI: IngressURI(), Usage: x509.ExtKeyUsageClientAuth}
}

// BundlerSubject is a process that makes bundles, a client of the store.
func BundlerSubject() Subject {
	return Subject{URI: BundlerURI(), Usage: x509.ExtKeyUsageClientAuth}
}

// StoreSubject is the installation's store: a server of the ingress, and for bundles of
// bridges and bundlers too.
func StoreSubject() Subject {
	return Subject{URI: StoreURI(), Usage: x509.ExtKeyUsageServerAuth}
}

// ServiceSubject is a server that its clients know by DNS name: the keybroker.
func ServiceSubject(dnsNames ...string) Subject {
	return Subject{DNSNames: dnsNames, Usage: x509.ExtKeyUsageServerAuth}
}

func (s Subject) validate() error {
	if s.Usage != x509.ExtKeyUsageServerAuth && s.Usage != x509.ExtKeyUsageClientAuth {
		return errors.New("subject is neither a server nor a client")
	}
	if (s.URI == nil) == (len(s.DNSNames) == 0) {
		return errors.New("subject must have either a URI or DNS names")
	}
	if s.URI == nil {
		return nil
	}
	path := s.URI.Path
	if path != ingressPath && path != storePath && path != bundlerPath && !bridgePath.MatchString(path) || s.URI.String() != "spiffe://"+TrustDomain+path {
		return fmt.Errorf("subject %q is no name of the trust domain", s.URI)
	}
	return nil
}
