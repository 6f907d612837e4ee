// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestDefaultsAreValid(t *testing.T) {
	if err := new(Options).Declare().Parse(nil); err != nil {
		t.Error(err)
	}
}

// TestEachTypeIsCachedOnce compares types: the keys are pointers, so a map takes one type twice.
func TestEachTypeIsCachedOnce(t *testing.T) {
	seen := map[reflect.Type]bool{}
	for o := range cacheOptions(Options{}).ByObject {
		kind := reflect.TypeOf(o)
		if seen[kind] {
			t.Errorf("%v has more than one entry", kind)
		}
		seen[kind] = true
	}
}

// privateKey has the form of one, and is none.
var privateKey = "-----BEGIN " + "PRIVATE KEY-----\nAAAA\n-----END " + "PRIVATE KEY-----\n"

// authority has the form of a certificate, which is all that is looked at.
const authority = "# of the proxy\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

func TestEverySettingHasAFlag(t *testing.T) {
	for name, value := range map[string]string{"POD_IP": "10.0.0.1", "POD_NAME": "operator-1", "POD_UID": "5c1d"} {
		t.Setenv(name, value)
	}
	var o Options
	must.Succeed(t, o.Declare().Parse([]string{
		"--bridge-image=example.com/bridge:1", "--base-url=https://mcp.example.com/", "--login-url=https://mcp.example.com/",
		"--runtime-image-node=example.com/node:1", "--runtime-image-python=example.com/python:1", "--shim-images=example.com/node:1,example.com/python:1",
		"--runtime-env=NO_PROXY=a,b", "--runtime-env=npm_config_registry=https://npm.example.com/", "--runtime-authorities=" + authority,
		"--upstream-allow-cidr=10.0.0.0/8", "--upstream-allow-cidr=fd00::/8", "--upstream-deny-cidr=10.96.0.1/32", "--upstream-deny-cidr=fd00::1/128",
		"--bridge-otlp-endpoint=http://collector:4318", "--bridge-priority-class=bridges",
		"--namespace=system", "--watch-namespaces=tenants,trials", "--tiers-file=/tiers.yaml", "--probe-listen=:1", "--metrics-listen=:2",
		"--min-idle-timeout=5s", "--max-waking=3",
		"--bundles-url=https://store:8444", "--packer-image=example.com/ingress:1", "--bundle-architecture=arm64", "--bundle-install-scripts=a", "--bundle-install-scripts=@b/c",
		"--bundle-max-bytes=5", "--bundle-registry=r.example.com:5000/a/b", "--bundle-registry-authorities=" + authority,
		"--network-policy=true", "--require-network-policy", "--network-policy-probe=true",
		"--dns-namespace=dns", "--dns-pod-labels=app=dns,tier=node", "--dns-cidr=169.254.20.10/32", "--dns-port=5353", "--scrape-namespace=monitoring",
	}))
	want := Options{
		BridgeImage: "example.com/bridge:1", BaseURL: "https://mcp.example.com", LoginURL: "https://mcp.example.com",
		RuntimeImageNode: "example.com/node:1", RuntimeImagePython: "example.com/python:1", ShimImages: []string{"example.com/node:1", "example.com/python:1"},
		RuntimeEnv: []string{"NO_PROXY=a,b", "npm_config_registry=https://npm.example.com/"}, RuntimeAuthorities: authority,
		UpstreamAllowCIDR: []string{"10.0.0.0/8", "fd00::/8"}, UpstreamDenyCIDR: []string{"10.96.0.1/32", "fd00::1/128"}, BridgeOTLPEndpoint: "http://collector:4318", BridgePriorityClass: "bridges",
		Namespace: "system", WatchNamespaces: namespaces.Set{"tenants", "trials"}, TiersFile: "/tiers.yaml", ProbeListen: ":1", MetricsListen: ":2",
		MinIdleTimeout: 5 * time.Second, MaxWaking: 3,
		Bundles: BundleOptions{
			StoreURL: "https://store:8444", PackerImage: "example.com/ingress:1", Architecture: "arm64", InstallScripts: []string{"a", "@b/c"},
			MaxBytes: 5, Registry: "r.example.com:5000/a/b", RegistryAuthorities: authority,
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

func TestAnErrorNamesTheFlagAndWhatIsAccepted(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no image":                              {[]string{"--bridge-image="}, "--bridge-image: the value is empty; give a value; the default is hosted-bridge/bridge:dev"},
		"traces that go to no URL":              {[]string{"--bridge-otlp-endpoint=collector:4318"}, "--bridge-otlp-endpoint: the value is not an absolute URL"},
		"an address that is no range":           {[]string{"--upstream-allow-cidr=10.0.0.0/8", "--upstream-allow-cidr=10.1.2.3"}, `--upstream-allow-cidr: "10.1.2.3" is not an address range; give one such as`},
		"two ranges in one":                     {[]string{"--upstream-allow-cidr=10.0.0.0/8,fd00::/8"}, "--upstream-allow-cidr"},
		"a range that begins elsewhere":         {[]string{"--upstream-allow-cidr=10.1.2.3/8"}, "as 10.0.0.0/8 does; one address alone is 10.1.2.3/32"},
		"a denied address that is none":         {[]string{"--upstream-deny-cidr=kubernetes.default"}, "--upstream-deny-cidr"},
		"a denied range that begins elsewhere":  {[]string{"--upstream-deny-cidr=10.1.2.3/8"}, "--upstream-deny-cidr: 10.1.2.3/8 begins elsewhere"},
		"a variable of programs without =":      {[]string{"--runtime-env=A=b", "--runtime-env=HTTPS_PROXY"}, "--runtime-env: the value is not a variable; give NAME=VALUE"},
		"a variable of programs with no name":   {[]string{"--runtime-env==b"}, "--runtime-env: the value is not a variable; give NAME=VALUE"},
		"authorities that are a path":           {[]string{"--runtime-authorities=/etc/ssl/ca.pem"}, "--runtime-authorities: the value is not certificates in PEM alone"},
		"authorities with a private key":        {[]string{"--runtime-authorities=" + authority + privateKey}, "--runtime-authorities: the value is not certificates in PEM alone"},
		"less than no time to be idle":          {[]string{"--min-idle-timeout=-1s"}, "--min-idle-timeout: -1s is too little; give 0s or more; the default is 1m0s"},
		"no time to be idle":                    {[]string{"--min-idle-timeout=soon"}, `--min-idle-timeout: "soon" cannot be read; give a time such as 30s, 5m or 1h`},
		"fewer than no bridges that wake":       {[]string{"--max-waking=-1"}, "--max-waking: -1 is too little; give 0 or more"},
		"bundles without encryption":            {[]string{"--bundles-url=http://store:8444"}, "--bundles-url"},
		"a registry with a tag":                 {[]string{"--bundle-registry=r.example.com/a:1"}, "--bundle-registry"},
		"scripts of a version":                  {[]string{"--bundle-install-scripts=a@1.0.0"}, "--bundle-install-scripts"},
		"bundles without a byte":                {[]string{"--bundle-max-bytes=0"}, "--bundle-max-bytes: 0 is too little; give 1 or more"},
		"a watched namespace that is none":      {[]string{"--watch-namespaces=tenants,*"}, `--watch-namespaces: "*" is not the name of a namespace`},
		"required policies that are not made":   {[]string{"--require-network-policy", "--network-policy=false"}, "--require-network-policy: without policies"},
		"required policies that nobody tries":   {[]string{"--require-network-policy", "--network-policy-probe=false"}, "give --network-policy and --network-policy-probe too"},
		"a resolver's address that is no range": {[]string{"--dns-cidr=169.254.20.10"}, "--dns-cidr"},
		"no port of resolvers":                  {[]string{"--dns-port=0"}, "--dns-port: 0 is out of range; give 1 to 65535; the default is 53"},
		"no namespace":                          {[]string{"--namespace="}, "--namespace"},
		"a base URL without a scheme":           {[]string{"--base-url=mcp.example.com"}, "--base-url: the value is not an absolute URL with http or https"},
		"a URL for logins without a scheme":     {[]string{"--login-url=mcp.example.com"}, "--login-url: the value is not an absolute URL with http or https"},
		"a base URL with a query":               {[]string{"--base-url=https://mcp.example.com/?a=b"}, "--base-url"},
		"a word that is no flag":                {[]string{"more"}, `"more" is not expected; give flags alone`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := new(Options).Declare().Parse(tt.args); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestRunRefusesABadTiersFile(t *testing.T) {
	var o Options
	o.Declare()
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
	var o Options
	if err := o.Declare().Parse([]string{"--runtime-image-node="}); err != nil || o.RuntimeImagePython != "" {
		t.Errorf("--runtime-image-python is %q by default, error %v", o.RuntimeImagePython, err)
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
			want := bridgeconfig.Egress{Allow: []string{"10.96.0.0/16"}, Deny: tt.want}
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
			var o Options
			o.Declare()
			o.Isolation.PodIP, o.ProbeListen = tt.ip, tt.listen
			if got := o.probeAddress(); got != tt.want {
				t.Errorf("address %q, want %q", got, tt.want)
			}
		})
	}
}
