// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestValuesAllowWhatIsNotPublic(t *testing.T) {
	tests := map[string]struct {
		found found
		cidrs []string
		env   map[string]string
	}{
		"a public registry": {
			found{addresses: addresses("104.16.0.34"), registry: defaultRegistry},
			[]string{"10.96.0.0/16"}, map[string]string{},
		},
		"a registry at a private address": {
			found{addresses: addresses("10.0.0.7", "10.0.0.8"), registry: "https://npm.example.com/"},
			[]string{"10.96.0.0/16", "10.0.0.7/32", "10.0.0.8/32"}, map[string]string{"npm_config_registry": "https://npm.example.com/"},
		},
		"a proxy": {
			found{addresses: addresses("192.168.0.1"), registry: defaultRegistry, proxies: map[string]string{"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "a,b"}},
			[]string{"10.96.0.0/16", "192.168.0.1/32"}, map[string]string{"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "a,b"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v := valuesOf(tt.found, []string{"10.96.0.0/16"})
			if diff := cmp.Diff(tt.cidrs, v.Bridge.Upstream.AllowCIDRs); diff != "" {
				t.Errorf("ranges (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.env, v.Bridge.Runtimes.Env); diff != "" {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
		})
	}
}

func addresses(texts ...string) (all []netip.Addr) {
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

func TestProxiesOfAnEnvironment(t *testing.T) {
	got := must.Value(proxiesOf([]string{"https_proxy=http://proxy:3128", "NO_PROXY=a,b", "HTTP_PROXY=", "HOME=/root"}))(t)
	if diff := cmp.Diff(map[string]string{"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "a,b"}, got); diff != "" {
		t.Errorf("proxies (-want +got):\n%s", diff)
	}
	if _, err := proxiesOf([]string{"HTTPS_PROXY=http://me:open-sesame@proxy:3128"}); err == nil || strings.Contains(err.Error(), "sesame") {
		t.Errorf("error = %v for a proxy with a password, want one without the password", err)
	}
}

// registry starts a registry whose certificate only its own authority vouches for.
func registry(t *testing.T) (*httptest.Server, probe) {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return s, probe{registry: s.URL + "/", pool: pool, own: true, proxy: func(*http.Request) (*url.URL, error) { return nil, nil }}
}

func TestTheAuthorityOfTheRegistryIsFound(t *testing.T) {
	s, p := registry(t)
	f := must.Value(p.try(t.Context()))(t)
	if f.authority == nil || !f.authority.Equal(s.Certificate()) {
		t.Errorf("the authority is %v, want the registry's", f.authority)
	}
	if !strings.Contains(valuesOf(f, nil).Bridge.Runtimes.Authorities, "BEGIN CERTIFICATE") {
		t.Error("the values have no authority")
	}
	p.own = false
	if f, err := p.try(t.Context()); err != nil || f.authority != nil {
		t.Errorf("the authority is %v (%v), want none where the machine names none of its own", f.authority, err)
	}
}

func TestARegistryThatIsNotTrustedIsNotReached(t *testing.T) {
	_, p := registry(t)
	p.pool = x509.NewCertPool()
	if _, err := p.try(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error = %v, want one about the certificate", err)
	}
}

// TestTheRegistryIsReachedThroughTheProxy has a proxy that alone knows where the
// registry's name leads.
func TestTheRegistryIsReachedThroughTheProxy(t *testing.T) {
	s, p := registry(t)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != "example.com:443" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		there, err := new(net.Dialer).DialContext(r.Context(), "tcp", s.Listener.Addr().String())
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		here, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(there, here); _ = there.Close() }()
		_, _ = io.Copy(here, there)
		_ = here.Close()
	}))
	defer proxy.Close()
	through := must.Value(url.Parse(proxy.URL))(t)
	p.registry, p.proxy = "https://example.com/", http.ProxyURL(through)
	f := must.Value(p.try(t.Context()))(t)
	if diff := cmp.Diff(addresses("127.0.0.1"), f.addresses, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}
