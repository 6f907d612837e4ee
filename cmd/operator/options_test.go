// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
	"github.com/hostedbridge/hostedbridge/internal/scope"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestDefaultsAreValid(t *testing.T) {
	o := Defaults()
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
}

// privateKey has the form of one, and is none.
var privateKey = "-----BEGIN " + "PRIVATE KEY-----\nAAAA\n-----END " + "PRIVATE KEY-----\n"

// authority has the form of a certificate, which is all that is looked at.
const authority = "# of the proxy\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

func TestEverySettingHasAFlag(t *testing.T) {
	o := Defaults()
	flags := pflag.NewFlagSet("operator", pflag.ContinueOnError)
	o.RegisterFlags(flags)
	must.Succeed(t, flags.Parse([]string{
		"--bridge-image=example.com/bridge:1", "--base-url=https://mcp.example.com/", "--login-url=https://mcp.example.com/", "--keybroker-url=https://keys:8443",
		"--runtime-image-node=example.com/node:1", "--runtime-image-python=example.com/python:1", "--shim-images=example.com/node:1,example.com/python:1",
		"--runtime-env=NO_PROXY=a,b", "--runtime-env=npm_config_registry=https://npm.example.com/", "--runtime-authorities=" + authority,
		"--upstream-allow-cidr=10.0.0.0/8", "--upstream-allow-cidr=fd00::/8", "--upstream-deny-cidr=10.96.0.1/32", "--upstream-deny-cidr=fd00::1/128",
		"--bridge-otlp-endpoint=http://collector:4318", "--bridge-priority-class=bridges",
		"--namespace=system", "--watch-namespaces=tenants,trials", "--tiers-file=/tiers.yaml", "--leader-elect=false", "--probe-listen=:1", "--metrics-listen=:2",
		"--min-idle-timeout=5s", "--max-waking=3",
		"--bundles-url=https://store:8444", "--packer-image=example.com/ingress:1", "--bundle-architecture=arm64", "--bundle-install-scripts=a", "--bundle-install-scripts=@b/c",
		"--bundle-max-bytes=5", "--max-installs=6", "--bundle-retention=7h", "--bundle-registry=r.example.com:5000/a/b", "--bundle-registry-authorities=" + authority,
		"--network-policy=true", "--require-network-policy", "--network-policy-probe=true",
		"--pod-ip=10.0.0.1", "--pod-name=operator-1", "--pod-uid=5c1d",
		"--dns-namespace=dns", "--dns-pod-labels=app=dns,tier=node", "--dns-cidr=169.254.20.10/32", "--dns-port=5353", "--scrape-namespace=monitoring",
	}))
	must.Succeed(t, o.Validate())
	want := Options{
		BridgeImage: "example.com/bridge:1", BaseURL: "https://mcp.example.com", LoginURL: "https://mcp.example.com", KeybrokerURL: "https://keys:8443",
		RuntimeImageNode: "example.com/node:1", RuntimeImagePython: "example.com/python:1", ShimImages: []string{"example.com/node:1", "example.com/python:1"},
		RuntimeEnv: []string{"NO_PROXY=a,b", "npm_config_registry=https://npm.example.com/"}, RuntimeAuthorities: authority,
		UpstreamAllowCIDR: []string{"10.0.0.0/8", "fd00::/8"}, UpstreamDenyCIDR: []string{"10.96.0.1/32", "fd00::1/128"}, BridgeOTLPEndpoint: "http://collector:4318", BridgePriorityClass: "bridges",
		Namespace: "system", WatchNamespaces: scope.Namespaces{"tenants", "trials"}, TiersFile: "/tiers.yaml", ProbeListen: ":1", MetricsListen: ":2",
		MinIdleTimeout: 5 * time.Second, MaxWaking: 3,
		Bundles: BundleOptions{
			StoreURL: "https://store:8444", PackerImage: "example.com/ingress:1", Architecture: "arm64", InstallScripts: []string{"a", "@b/c"},
			MaxBytes: 5, MaxInstalls: 6, Retention: 7 * time.Hour, Registry: "r.example.com:5000/a/b", RegistryAuthorities: authority,
		},
		Isolation: IsolationOptions{
			NetworkPolicy: true, RequireNetworkPolicy: true, Probe: true,
			PodIP: "10.0.0.1", PodName: "operator-1", PodUID: "5c1d",
			DNSNamespace: "dns", DNSPodLabels: map[string]string{"app": "dns", "tier": "node"}, DNSCIDRs: []string{"169.254.20.10/32"}, DNSPort: 5353, Scrapers: []string{"monitoring"},
		},
	}
	if diff := cmp.Diff(want, o); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

func TestValidateNamesTheFlag(t *testing.T) {
	tests := map[string]struct {
		change func(*Options)
		want   string
	}{
		"no image":                              {func(o *Options) { o.BridgeImage = "" }, "--bridge-image"},
		"traces that go to no URL":              {func(o *Options) { o.BridgeOTLPEndpoint = "collector:4318" }, "--bridge-otlp-endpoint"},
		"an address that is no range":           {func(o *Options) { o.UpstreamAllowCIDR = []string{"10.0.0.0/8", "10.1.2.3"} }, `--upstream-allow-cidr "10.1.2.3" must be an address range such as`},
		"two ranges in one":                     {func(o *Options) { o.UpstreamAllowCIDR = []string{"10.0.0.0/8,fd00::/8"} }, "--upstream-allow-cidr"},
		"a range that begins elsewhere":         {func(o *Options) { o.UpstreamAllowCIDR = []string{"10.1.2.3/8"} }, "as 10.0.0.0/8 does; one address alone is 10.1.2.3/32"},
		"a denied address that is none":         {func(o *Options) { o.UpstreamDenyCIDR = []string{"kubernetes.default"} }, "--upstream-deny-cidr"},
		"a denied range that begins elsewhere":  {func(o *Options) { o.UpstreamDenyCIDR = []string{"10.1.2.3/8"} }, "--upstream-deny-cidr 10.1.2.3/8 must begin"},
		"a variable of programs without =":      {func(o *Options) { o.RuntimeEnv = []string{"A=b", "HTTPS_PROXY"} }, "--runtime-env must be NAME=VALUE"},
		"a variable of programs with no name":   {func(o *Options) { o.RuntimeEnv = []string{"=b"} }, "--runtime-env must be NAME=VALUE"},
		"authorities that are a path":           {func(o *Options) { o.RuntimeAuthorities = "/etc/ssl/ca.pem" }, "--runtime-authorities must be certificates in PEM"},
		"authorities with a private key":        {func(o *Options) { o.RuntimeAuthorities = authority + privateKey }, "--runtime-authorities must be certificates in PEM"},
		"less than no time to be idle":          {func(o *Options) { o.MinIdleTimeout = -1 }, "--min-idle-timeout must be 0 or more"},
		"fewer than no bridges that wake":       {func(o *Options) { o.MaxWaking = -1 }, "--max-waking must be 0 or more"},
		"bundles without encryption":            {func(o *Options) { o.Bundles.StoreURL = "http://store:8444" }, "--bundles-url"},
		"a registry with a tag":                 {func(o *Options) { o.Bundles.Registry = "r.example.com/a:1" }, "--bundle-registry"},
		"scripts of a version":                  {func(o *Options) { o.Bundles.InstallScripts = []string{"a@1.0.0"} }, "--bundle-install-scripts"},
		"no install at a time":                  {func(o *Options) { o.Bundles.MaxInstalls = 0 }, "must be greater than 0"},
		"a watched namespace that is none":      {func(o *Options) { o.WatchNamespaces = scope.Namespaces{"tenants", "*"} }, `--watch-namespaces: "*" is not the name of a namespace`},
		"required policies that are not made":   {func(o *Options) { o.Isolation.RequireNetworkPolicy, o.Isolation.NetworkPolicy = true, false }, "--require-network-policy needs --network-policy"},
		"required policies that nobody tries":   {func(o *Options) { o.Isolation.RequireNetworkPolicy, o.Isolation.Probe = true, false }, "--require-network-policy needs"},
		"a resolver's address that is no range": {func(o *Options) { o.Isolation.DNSCIDRs = []string{"169.254.20.10"} }, "--dns-cidr"},
		"no port of resolvers":                  {func(o *Options) { o.Isolation.DNSPort = 0 }, "--dns-port must be a port"},
		"a pod's address that is none":          {func(o *Options) { o.Isolation.PodIP = "here" }, "--pod-ip"},
		"no namespace":                          {func(o *Options) { o.Namespace = "" }, "--namespace"},
		"a base URL without a scheme":           {func(o *Options) { o.BaseURL = "mcp.example.com" }, "--base-url must be an absolute URL with http or https"},
		"a URL for logins without a scheme":     {func(o *Options) { o.LoginURL = "mcp.example.com" }, "--login-url must be an absolute URL with http or https"},
		"a base URL with a query":               {func(o *Options) { o.BaseURL = "https://mcp.example.com/?a=b" }, "--base-url"},
		"a keybroker without encryption":        {func(o *Options) { o.KeybrokerURL = "http://keys:8443" }, "--keybroker-url"},
		"a keybroker with a password":           {func(o *Options) { o.KeybrokerURL = "https://a:b@keys:8443" }, "--keybroker-url"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := Defaults()
			tt.change(&o)
			if err := o.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestRunRefusesABadTiersFile(t *testing.T) {
	o := Defaults()
	o.TiersFile = filepath.Join(t.TempDir(), "tiers.yaml")
	if err := run(t.Context(), o, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "read tiers") {
		t.Errorf("error = %v for a file that does not exist", err)
	}
	must.Succeed(t, os.WriteFile(o.TiersFile, []byte("tiers: {team: {perWeek: 1}}"), 0o600))
	if err := run(t.Context(), o, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), o.TiersFile) || !strings.Contains(err.Error(), "perWeek") {
		t.Errorf("error = %v, want one that names the file and the field", err)
	}
}

// TestThereNeedBeNoImageForPackages has no image of Python by default: there is
// none with uvx that the project could name.
func TestThereNeedBeNoImageForPackages(t *testing.T) {
	o := Defaults()
	if o.RuntimeImagePython != "" {
		t.Errorf("--runtime-image-python is %s by default", o.RuntimeImagePython)
	}
	o.RuntimeImageNode = ""
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
}

func TestTheAPIServerIsDenied(t *testing.T) {
	for name, tt := range map[string]struct {
		deny []string
		host string
		want []string
	}{
		"outside of a cluster":             {nil, "", nil},
		"in a cluster":                     {nil, "10.96.0.1", []string{"10.96.0.1/32"}},
		"in a cluster of IPv6":             {nil, "fd00::1", []string{"fd00::1/128"}},
		"in IPv6's notation":               {nil, "::ffff:10.96.0.1", []string{"10.96.0.1/32"}},
		"besides what is denied":           {[]string{"192.0.2.0/24"}, "10.96.0.1", []string{"192.0.2.0/24", "10.96.0.1/32"}},
		"once":                             {[]string{"10.96.0.1/32"}, "10.96.0.1", []string{"10.96.0.1/32"}},
		"by its name, which is no address": {nil, "kubernetes.default", nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{UpstreamAllowCIDR: []string{"10.96.0.0/16"}, UpstreamDenyCIDR: tt.deny}
			want := mcpserver.Egress{Allow: []string{"10.96.0.0/16"}, Deny: tt.want}
			if diff := cmp.Diff(want, o.egress(tt.host)); diff != "" {
				t.Errorf("egress (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheProbeConnectsToTheOperatorsPod(t *testing.T) {
	for name, tt := range map[string]struct{ ip, listen, want string }{
		"IPv4":         {"10.0.0.1", ":8081", "http://10.0.0.1:8081/healthz"},
		"IPv6":         {"fd00::1", ":8081", "http://[fd00::1]:8081/healthz"},
		"not in a pod": {"", ":8081", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := Defaults()
			o.Isolation.PodIP, o.ProbeListen = tt.ip, tt.listen
			if got := o.probeAddress(); got != tt.want {
				t.Errorf("address %q, want %q", got, tt.want)
			}
		})
	}
}
