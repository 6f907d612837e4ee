// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
)

// probe is one try to reach the registry.
type probe struct {
	registry, resolver string
	proxies            map[string]string
	// proxy is what the environment says of a request.
	proxy func(*http.Request) (*url.URL, error)
	pool  *x509.CertPool
	// own says that the machine names authorities of its own.
	own bool
}

// try asks the registry by what the machine's environment says of proxies. Whatever
// the registry answers, it was reached.
func (p probe) try(ctx context.Context) (found, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.registry, nil)
	if err != nil {
		return found{}, err
	}
	if request.URL.User != nil {
		return found{}, errors.New("the registry's URL has a user or a password, which pods are not told")
	}
	proxy, err := p.proxy(request)
	if err != nil {
		return found{}, err
	}
	f := found{proxies: p.proxies, registry: p.registry}
	first := request.URL
	if proxy != nil {
		first = proxy
	}
	resolver := p.netResolver()
	if f.addresses, err = addressesOf(ctx, resolver, first); err != nil {
		return found{}, err
	}
	transport := &http.Transport{
		Proxy:             http.ProxyURL(proxy),
		DialContext:       (&net.Dialer{Resolver: resolver}).DialContext,
		TLSClientConfig:   &tls.Config{RootCAs: p.pool, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return found{}, fmt.Errorf("ask %s: %w", request.URL.Host, err)
	}
	_ = answer.Body.Close()
	if p.own && answer.TLS != nil && len(answer.TLS.VerifiedChains) > 0 {
		chain := answer.TLS.VerifiedChains[0]
		f.authority = chain[len(chain)-1]
	}
	return f, nil
}

// netResolver asks the probe's resolver, or without one the machine's.
func (p probe) netResolver() *net.Resolver {
	if p.resolver == "" {
		return net.DefaultResolver
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, p.resolver)
	}}
}

// addressesOf returns the IPv4 addresses of the URL's host: pods have no other ones.
func addressesOf(ctx context.Context, resolver *net.Resolver, u *url.URL) ([]netip.Addr, error) {
	addresses, err := resolver.LookupNetIP(ctx, "ip4", u.Hostname())
	// Its text names the machine's resolver, which is not the one that was asked.
	if unknown := new(net.DNSError); errors.As(err, &unknown) {
		return nil, fmt.Errorf("look up %s: %s", u.Hostname(), unknown.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", u.Hostname(), err)
	}
	for i, a := range addresses {
		addresses[i] = a.Unmap()
	}
	return addresses, nil
}
