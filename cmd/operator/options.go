// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bundling/bundlename"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
	"github.com/hostedbridge/hostedbridge/internal/setting"
)

// Options are the operator's settings. Each is explained where it is declared.
type Options struct {
	BridgeImage                          string
	RuntimeImageNode, RuntimeImagePython string
	ShimImages                           []string
	RuntimeEnv                           []string
	RuntimeAuthorities                   string
	UpstreamAllowCIDR, UpstreamDenyCIDR  []string
	BridgeOTLPEndpoint                   string
	BridgePriorityClass                  string
	BaseURL, LoginURL                    string
	Namespace                            string
	WatchNamespaces                      namespaces.Set
	CatalogNamespace                     string
	TiersFile                            string
	OnboardingProfile                    string
	MinIdleTimeout                       time.Duration
	MaxWaking                            int
	Bundles                              BundleOptions
	Isolation                            IsolationOptions
	ProbeListen, MetricsListen           string
}

// BundleOptions are how programs are installed once for all.
type BundleOptions struct {
	StoreURL                      string
	PackerImage                   string
	Architecture                  string
	InstallScripts                []string
	MaxBytes                      int64
	Registry, RegistryAuthorities string
}

// IsolationOptions are how the network keeps tenants apart.
type IsolationOptions struct {
	NetworkPolicy, RequireNetworkPolicy, Probe bool
	// PodIP, PodName and PodUID are those of the operator's own pod, which the probe connects to and
	// goes with. The pod's variables have them.
	PodIP, PodName, PodUID string
	DNSNamespace           string
	DNSPodLabels           map[string]string
	DNSCIDRs               []string
	DNSPort                int
	Scrapers               []string
}

// Declare declares the settings.
func (o *Options) Declare() *setting.Set {
	s := setting.New("operator", "Make a pod of each HostedBridge.\n\nUsage: operator [flags], or operator profiles diff --help\n\n")
	s.String(&o.BridgeImage, "bridge-image", "hosted-bridge/bridge:dev", "image of the tenants' pods", setting.Required)
	s.String(&o.RuntimeImageNode, "runtime-image-node", "hosted-bridge/runtime-node:dev", "image with npx on its PATH for servers that have no image of their own; if it is empty, such servers are out of service")
	s.String(&o.RuntimeImagePython, "runtime-image-python", "", "image with uvx on its PATH for servers that have no image of their own; if it is empty, such servers are out of service")
	s.List(&o.ShimImages, "shim-images", "images of programs that have the shim of the bridge's version at /usr/libexec/hosted-bridge/shim, separated by commas; a pod whose programs are all in such images needs no init container that copies it, and starts sooner")
	s.Each(&o.RuntimeEnv, "runtime-env", "variable that programs of npx and uvx get, as NAME=VALUE, such as a proxy or a registry; a server's own variable of that name goes before it; repeat the flag for each variable. Users' programs read it, so it is no place for a password", setting.Variable)
	s.String(&o.RuntimeAuthorities, "runtime-authorities", "", "certificate authorities in PEM that npx, and Node.js programs that it runs, trust besides those of Node.js", setting.Certificates)
	s.Each(&o.UpstreamAllowCIDR, "upstream-allow-cidr", "private address range that tenants' bridges may reach, such as 10.96.0.0/16 for a cluster's Services; repeat the flag for each range. Do not allow a range with addresses that tenants must not reach", setting.Range)
	s.Each(&o.UpstreamDenyCIDR, "upstream-deny-cidr", "address range that tenants' bridges never reach, even if it is public or inside an --upstream-allow-cidr; repeat the flag for each range. The API server's address in the cluster's Services is denied without it; its other addresses belong here", setting.Range)
	s.String(&o.BridgeOTLPEndpoint, "bridge-otlp-endpoint", "", "endpoint to which tenants' bridges send traces, such as http://collector.observability.svc:4318; if it is empty, they send none", setting.Optional(setting.HTTP))
	s.String(&o.BridgePriorityClass, "bridge-priority-class", "", "PriorityClass of the tenants' pods, which must exist (default: the cluster's). A change replaces every pod, as a change of --bridge-image does")
	s.String(&o.BaseURL, "base-url", "http://127.0.0.1:8080", "public address of the ingress; the URL of a bridge is this address followed by /u/<userID>/mcp", setting.HTTP)
	s.String(&o.LoginURL, "login-url", "", "public URL of the ingress where its authorization server is on; on its page /oauth/connect/<userID>/<server> users connect the accounts of servers with an authorizationURL, and bridges say so. Without it they do not", setting.Optional(setting.HTTP))
	s.String(&o.Namespace, "namespace", "hosted-bridge-system", "namespace of the installation", setting.Label)
	o.WatchNamespaces.Declare(s)
	s.String(&o.CatalogNamespace, "catalog-namespace", "", "namespace of the catalog's recipes and publishers (default: the installation's namespace)")
	s.String(&o.TiersFile, "tiers-file", "", "YAML file with the installation's tiers; the default tiers are free, pro and business")
	s.String(&o.OnboardingProfile, "onboarding-profile", "", "YAML file with the BridgeProfile, without a name, that the operator makes for the HostedBridges of first logins, under the name onboarding. Without it, the operator deletes the one that it made")
	// A pod that ends within a minute of each call would start all day long.
	s.Duration(&o.MinIdleTimeout, "min-idle-timeout", time.Minute, "shortest spec.idleTimeout that takes effect; it replaces a shorter one", setting.AtLeast[time.Duration](0))
	// Some pods a second start on a node. A queue of the cluster's own would know neither who waits
	// nor in which order.
	s.Int(&o.MaxWaking, "max-waking", 32, "how many bridges may start at the same time because of a call; others wait for their turn; 0 means no limit", setting.AtLeast(0))
	o.Bundles.declare(s)
	o.Isolation.declare(s)
	s.String(&o.ProbeListen, "probe-listen", ":8081", "address of /healthz and /readyz")
	s.String(&o.MetricsListen, "metrics-listen", ":8082", "address of /metrics")
	s.Check(func() error {
		o.BaseURL, o.LoginURL = strings.TrimRight(o.BaseURL, "/"), strings.TrimRight(o.LoginURL, "/")
		return nil
	})
	return s
}

func (o *BundleOptions) declare(s *setting.Set) {
	s.String(&o.StoreURL, "bundles-url", "", "URL at which the store keeps the bundles of programs. Without it, each program is fetched from its registry when it starts", setting.Optional(setting.HTTPS))
	s.String(&o.PackerImage, "packer-image", "hosted-bridge/ingress:dev", "image of the ingress's program, which packs what a Job has installed", setting.Required)
	s.String(&o.Architecture, "bundle-architecture", runtime.GOARCH, "architecture of the machines on which programs run, such as amd64 or arm64", setting.Required)
	s.Each(&o.InstallScripts, "bundle-install-scripts", "package of npm whose install scripts, and those of its dependencies, run when it is installed, or package of Python that may be built, with its dependencies; repeat the flag for each package. That runs in a Job without any secret", packageName)
	// Twice the largest of the catalog's packages, which have up to 411 MB.
	s.Int64(&o.MaxBytes, "bundle-max-bytes", 1<<30, "how many bytes an installed package may have with its dependencies", setting.AtLeast[int64](1))
	s.String(&o.Registry, "bundle-registry", "", "repository of a registry, as host/path, where bundles are images that pods mount. It needs Kubernetes 1.35 and a container runtime with image volumes, such as containerd 2.1. Without it bridges fetch bundles from the store", setting.Optional(repository))
	s.String(&o.RegistryAuthorities, "bundle-registry-authorities", "", "certificate authorities in PEM that the registry of bundles is trusted by, besides those of the system")
}

// declare declares the settings of a cluster with CoreDNS, as kubeadm and most providers install it.
func (o *IsolationOptions) declare(s *setting.Set) {
	o.PodIP, o.PodName, o.PodUID = os.Getenv("POD_IP"), os.Getenv("POD_NAME"), os.Getenv("POD_UID")
	s.Bool(&o.NetworkPolicy, "network-policy", true, "create in each namespace with HostedBridges the NetworkPolicy that isolates their pods; if false, the operator removes the policies that it created")
	s.Bool(&o.RequireNetworkPolicy, "require-network-policy", false, "accept no HostedBridge if the cluster's network does not enforce network policies")
	s.Bool(&o.Probe, "network-policy-probe", true, "test with two pods in the installation's namespace whether the cluster's network enforces network policies")
	s.String(&o.DNSNamespace, "dns-namespace", "kube-system", "namespace of the cluster's resolvers", setting.Label)
	s.StringToStringVar(&o.DNSPodLabels, "dns-pod-labels", map[string]string{"k8s-app": "kube-dns"}, "labels of the resolvers' pods")
	s.Each(&o.DNSCIDRs, "dns-cidr", "address range of resolvers that are not pods with their own addresses, such as 169.254.20.10/32 for a cache on each node; repeat the flag for each range", setting.Range)
	s.Each(&o.Scrapers, "scrape-namespace", "namespace whose pods may read the metrics of tenants' bridges; repeat the flag for each namespace")
	s.Int(&o.DNSPort, "dns-port", 53, "port of the resolvers' pods, which can differ from the port of their Service", setting.Between(1, 65535))
	s.Check(func() error {
		if o.RequireNetworkPolicy && (!o.NetworkPolicy || !o.Probe) {
			return errors.New("--require-network-policy: without policies or their probe no HostedBridge would be accepted; give --network-policy and --network-policy-probe too")
		}
		return nil
	})
}

var packagePattern = regexp.MustCompile(`^(@[a-z0-9][a-z0-9._-]*/)?[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// packageName accepts the name of a package of npm or of the Python Package Index.
func packageName(value string) error {
	if !packagePattern.MatchString(value) {
		return fmt.Errorf("%.80q is not the name of a package; give one without a version, such as @example/server", value)
	}
	return nil
}

func repository(value string) error {
	if !bundlename.IsRepository(value) {
		return fmt.Errorf("%.200q is not a repository; give its host and path without a tag, such as registry.example.com/mcp/bundles", value)
	}
	return nil
}

// keybrokerURL returns where pods reach the keybroker.
func (o *Options) keybrokerURL() string {
	return "https://hosted-bridge-keybroker." + o.Namespace + ".svc:8443"
}

// catalog returns the namespace of the catalog.
func (o *Options) catalog() string { return cmp.Or(o.CatalogNamespace, o.Namespace) }

// probeAddress returns the URL at which the operator answers to its own pods,
// empty where it is not known.
func (o *Options) probeAddress() string {
	_, port, err := net.SplitHostPort(o.ProbeListen)
	if o.Isolation.PodIP == "" || err != nil {
		return ""
	}
	return "http://" + net.JoinHostPort(o.Isolation.PodIP, port) + "/healthz"
}

// egress returns where the tenants' bridges may connect to. apiServer is the
// address at which a process in the cluster finds the API server, empty outside
// of one: no tenant's server is there, even where the range of the cluster's
// Services is allowed.
func (o *Options) egress(apiServer string) bridgeconfig.Egress {
	e := bridgeconfig.Egress{Allow: o.UpstreamAllowCIDR, Deny: slices.Clone(o.UpstreamDenyCIDR)}
	if a, err := netip.ParseAddr(apiServer); err == nil {
		a = a.Unmap().WithZone("")
		own := netip.PrefixFrom(a, a.BitLen()).String()
		if !slices.Contains(e.Deny, own) {
			e.Deny = append(e.Deny, own)
		}
	}
	return e
}
