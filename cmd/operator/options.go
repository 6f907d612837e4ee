// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
	"github.com/hostedbridge/hostedbridge/internal/scope"
)

// Options are the operator's settings.
type Options struct {
	// BridgeImage is the image of the tenants' pods.
	BridgeImage string
	// RuntimeImageNode and RuntimeImagePython are the images in which npx and
	// uvx run servers that have none of their own. Where one is empty, such
	// servers are out of service.
	RuntimeImageNode   string
	RuntimeImagePython string
	// ShimImages are images that have the shim of the bridge's version.
	ShimImages []string
	// RuntimeEnv are variables, each NAME=VALUE, and RuntimeAuthorities the
	// certificate authorities in PEM that programs in these images get.
	RuntimeEnv         []string
	RuntimeAuthorities string
	// UpstreamAllowCIDR are the address ranges that the tenants' bridges may
	// reach though they are not public.
	UpstreamAllowCIDR []string
	// UpstreamDenyCIDR are those that they never reach.
	UpstreamDenyCIDR []string
	// BridgeOTLPEndpoint is where the tenants' bridges send traces, by OTLP over
	// HTTP; empty sends none.
	BridgeOTLPEndpoint string
	// BridgePriorityClass is the PriorityClass of the tenants' pods; empty names
	// none.
	BridgePriorityClass string
	// BaseURL is the ingress's public address, as users type it.
	BaseURL string
	// LoginURL is the public URL of the ingress where it lets people log in;
	// empty where it does not.
	LoginURL string
	// KeybrokerURL is where the tenants' pods reach the keybroker.
	KeybrokerURL string
	// Namespace is the installation's own.
	Namespace string
	// WatchNamespaces are where HostedBridges are looked after; none are all.
	WatchNamespaces scope.Namespaces
	// CatalogNamespace is where the catalog's recipes are; empty is Namespace.
	CatalogNamespace string
	// TiersFile replaces the built-in tiers; empty keeps them.
	TiersFile string
	// OnboardingProfile is the file with the BridgeProfile of first logins. If it is empty, first logins have no profile.
	OnboardingProfile string
	// MinIdleTimeout is the shortest idleTimeout that counts.
	MinIdleTimeout time.Duration
	// MaxWaking is how many bridges may start at once because they were called.
	MaxWaking int
	// Bundles are how programs are installed.
	Bundles BundleOptions
	// Isolation is how the network keeps tenants apart.
	Isolation IsolationOptions
	// LeaderElect lets one of several replicas act.
	LeaderElect bool
	// ProbeListen serves /healthz and /readyz, MetricsListen /metrics.
	ProbeListen   string
	MetricsListen string
}

// Defaults returns the settings of an installation that changes none.
func Defaults() Options {
	return Options{
		BridgeImage:      "hosted-bridge/bridge:dev",
		RuntimeImageNode: "hosted-bridge/runtime-node:dev",
		BaseURL:          "http://127.0.0.1:8080",
		KeybrokerURL:     "https://hosted-bridge-keybroker.hosted-bridge-system.svc:8443",
		Namespace:        "hosted-bridge-system",
		// A pod that ends within a minute of each call would start all day long.
		MinIdleTimeout: time.Minute,
		// Some pods a second start on a node. A queue of the cluster's own would
		// know neither who waits nor in which order.
		MaxWaking:     32,
		Isolation:     isolationDefaults(),
		Bundles:       bundleDefaults(),
		LeaderElect:   true,
		ProbeListen:   ":8081",
		MetricsListen: ":8082",
	}
}

// RegisterFlags adds a flag for each setting to fs.
func (o *Options) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.BridgeImage, "bridge-image", o.BridgeImage, "image of the tenants' pods")
	fs.StringVar(&o.RuntimeImageNode, "runtime-image-node", o.RuntimeImageNode, "image with npx on its PATH for servers that have no image of their own; if it is empty, such servers are out of service")
	fs.StringVar(&o.RuntimeImagePython, "runtime-image-python", o.RuntimeImagePython, "image with uvx on its PATH for servers that have no image of their own; if it is empty, such servers are out of service")
	fs.StringSliceVar(&o.ShimImages, "shim-images", o.ShimImages, "images of programs that have the shim of the bridge's version at /usr/libexec/hosted-bridge/shim, separated by commas; a pod whose programs are all in such images needs no init container that copies it, and starts sooner")
	fs.StringArrayVar(&o.RuntimeEnv, "runtime-env", o.RuntimeEnv, "variable that programs of npx and uvx get, as NAME=VALUE, such as a proxy or a registry; a server's own variable of that name goes before it; repeat the flag for each variable. Users' programs read it, so it is no place for a password")
	fs.StringVar(&o.RuntimeAuthorities, "runtime-authorities", o.RuntimeAuthorities, "certificate authorities in PEM that npx, and Node.js programs that it runs, trust besides those of Node.js")
	fs.StringArrayVar(&o.UpstreamAllowCIDR, "upstream-allow-cidr", o.UpstreamAllowCIDR, "private address range that tenants' bridges may reach, such as 10.96.0.0/16 for a cluster's Services; repeat the flag for each range. Do not allow a range with addresses that tenants must not reach")
	fs.StringArrayVar(&o.UpstreamDenyCIDR, "upstream-deny-cidr", o.UpstreamDenyCIDR, "address range that tenants' bridges never reach, even if it is public or inside an --upstream-allow-cidr; repeat the flag for each range. The API server's address in the cluster's Services is denied without it; its other addresses belong here")
	fs.StringVar(&o.BridgeOTLPEndpoint, "bridge-otlp-endpoint", o.BridgeOTLPEndpoint, "endpoint to which tenants' bridges send traces, such as http://collector.observability.svc:4318; if it is empty, they send none")
	fs.StringVar(&o.BridgePriorityClass, "bridge-priority-class", o.BridgePriorityClass, "PriorityClass of the tenants' pods, which must exist (default: the cluster's). A change replaces every pod, as a change of --bridge-image does")
	fs.StringVar(&o.BaseURL, "base-url", o.BaseURL, "public address of the ingress; the URL of a bridge is this address followed by /u/<userID>/mcp")
	fs.StringVar(&o.LoginURL, "login-url", o.LoginURL, "public URL of the ingress where its authorization server is on; on its page /oauth/connect/<userID>/<server> users connect the accounts of servers with an authorizationURL, and bridges say so. Without it they do not")
	fs.StringVar(&o.KeybrokerURL, "keybroker-url", o.KeybrokerURL, "URL at which the tenants' pods reach the keybroker")
	fs.StringVar(&o.Namespace, "namespace", o.Namespace, "namespace of the installation")
	fs.StringSliceVar((*[]string)(&o.WatchNamespaces), scope.Flag, o.WatchNamespaces, scope.FlagUsage)
	fs.StringVar(&o.CatalogNamespace, "catalog-namespace", o.CatalogNamespace, "namespace of the catalog's recipes and publishers (default: the installation's namespace)")
	fs.StringVar(&o.TiersFile, "tiers-file", o.TiersFile, "YAML file with the installation's tiers; the default tiers are free, pro and business")
	fs.StringVar(&o.OnboardingProfile, "onboarding-profile", o.OnboardingProfile, "YAML file with the BridgeProfile, without a name, that the operator makes for the HostedBridges of first logins, under the name onboarding. Without it, the operator deletes the one that it made")
	fs.DurationVar(&o.MinIdleTimeout, "min-idle-timeout", o.MinIdleTimeout, "shortest spec.idleTimeout that takes effect; it replaces a shorter one")
	fs.IntVar(&o.MaxWaking, "max-waking", o.MaxWaking, "how many bridges may start at the same time because of a call; others wait for their turn; 0 means no limit")
	o.Bundles.registerFlags(fs)
	o.Isolation.registerFlags(fs)
	fs.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "elect a leader, so that only one of several replicas acts")
	fs.StringVar(&o.ProbeListen, "probe-listen", o.ProbeListen, "address of /healthz and /readyz")
	fs.StringVar(&o.MetricsListen, "metrics-listen", o.MetricsListen, "address of /metrics")
}

// Validate reports every setting that cannot be used, by its flag.
func (o *Options) Validate() error {
	o.BaseURL, o.LoginURL = strings.TrimRight(o.BaseURL, "/"), strings.TrimRight(o.LoginURL, "/")
	return errors.Join(
		notEmpty("bridge-image", o.BridgeImage),
		variables("runtime-env", o.RuntimeEnv),
		optionalCertificates("runtime-authorities", o.RuntimeAuthorities),
		addressRanges("upstream-allow-cidr", o.UpstreamAllowCIDR),
		addressRanges("upstream-deny-cidr", o.UpstreamDenyCIDR),
		optionalURL("bridge-otlp-endpoint", o.BridgeOTLPEndpoint, "http", "https"),
		notEmpty("namespace", o.Namespace),
		o.WatchNamespaces.Validate(),
		notNegative("min-idle-timeout", o.MinIdleTimeout),
		notNegative("max-waking", o.MaxWaking),
		o.Bundles.validate(),
		o.Isolation.validate(),
		absoluteURL("base-url", o.BaseURL, "http", "https"),
		optionalURL("login-url", o.LoginURL, "http", "https"),
		absoluteURL("keybroker-url", o.KeybrokerURL, "https"),
	)
}

// catalog returns the namespace of the catalog.
func (o *Options) catalog() string { return cmp.Or(o.CatalogNamespace, o.Namespace) }

// egress returns where the tenants' bridges may connect to. apiServer is the
// address at which a process in the cluster finds the API server, empty outside
// of one: no tenant's server is there, even where the range of the cluster's
// Services is allowed.
func (o *Options) egress(apiServer string) mcpserver.Egress {
	e := mcpserver.Egress{Allow: o.UpstreamAllowCIDR, Deny: slices.Clone(o.UpstreamDenyCIDR)}
	if a, err := netip.ParseAddr(apiServer); err == nil {
		a = a.Unmap().WithZone("")
		own := netip.PrefixFrom(a, a.BitLen()).String()
		if !slices.Contains(e.Deny, own) {
			e.Deny = append(e.Deny, own)
		}
	}
	return e
}

func notEmpty(flag, value string) error {
	if value == "" {
		return fmt.Errorf("--%s is empty", flag)
	}
	return nil
}

var variableName = regexp.MustCompile(`^[A-Za-z_@][A-Za-z0-9_@:./-]*$`)

// variables refuses what is no variable. The error does not have the value.
func variables(flag string, values []string) error {
	for _, v := range values {
		if name, _, found := strings.Cut(v, "="); !found || !variableName.MatchString(name) {
			return fmt.Errorf("--%s must be NAME=VALUE, such as HTTPS_PROXY=http://proxy.example.com:3128", flag)
		}
	}
	return nil
}

// optionalCertificates refuses a text without certificates, and one with a private
// key among them. Comments are fine: bundles of authorities have them.
func optionalCertificates(flag, text string) error {
	for rest := []byte(text); len(bytes.TrimSpace(rest)) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != "CERTIFICATE" {
			return fmt.Errorf("--%s must be certificates in PEM, and nothing else that is in PEM", flag)
		}
	}
	return nil
}

func notNegative[T int | time.Duration](flag string, value T) error {
	if value < 0 {
		return fmt.Errorf("--%s must be 0 or more", flag)
	}
	return nil
}

// addressRanges refuses what is no range, and a range that is written as one of
// its addresses: it may be meant for that address alone.
func addressRanges(flag string, values []string) error {
	for _, value := range values {
		prefix, err := netip.ParsePrefix(value)
		if err != nil {
			return fmt.Errorf("--%s %.80q must be an address range such as 10.96.0.0/16 or fd00::/8", flag, value)
		}
		if prefix != prefix.Masked() {
			return fmt.Errorf("--%s %s must begin at the range's first address, as %s does; one address alone is %s/%d", flag, value, prefix.Masked(), prefix.Addr(), prefix.Addr().BitLen())
		}
	}
	return nil
}

func optionalURL(flag, value string, schemes ...string) error {
	if value == "" {
		return nil
	}
	return absoluteURL(flag, value, schemes...)
}

func absoluteURL(flag, value string, schemes ...string) error {
	u, err := url.Parse(value)
	if err == nil && slices.Contains(schemes, u.Scheme) && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" {
		return nil
	}
	return fmt.Errorf("--%s must be an absolute URL with %s and a host, such as %s://host:8443", flag, strings.Join(schemes, " or "), schemes[len(schemes)-1])
}
