// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"time"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/cmd/ingress/userconsole"
	"github.com/hostedbridge/hostedbridge/internal/catalog/seed"
	"github.com/hostedbridge/hostedbridge/internal/ingress"
	"github.com/hostedbridge/hostedbridge/internal/scope"
)

const usage = `Serve the public surface of hosted-bridge.

Usage: ingress [flags]
       ingress keys create --user=alice [flags]
       ingress audit verify [flags] FILE...
       ingress check [flags]
       ingress scim token [flags]
       ingress store [flags]

`

// options is everything that can be set.
type options struct {
	Listen      string
	ProbeListen string
	Namespace   string
	// WatchNamespaces are where HostedBridges are looked after; none are all.
	WatchNamespaces scope.Namespaces
	Kubeconfig      string
	KeybrokerURL    string
	TokenFile       string
	BridgePort      int
	DrainDelay      time.Duration
	DrainTimeout    time.Duration
	LogLevel        string
	// OTLPEndpoint takes traces; empty for what the environment says.
	OTLPEndpoint string
	Audit        auditOptions
	// AdminKeyFile holds the admin key; without one it is CATALOG_ADMIN_KEY's.
	AdminKeyFile string
	// AuditIndex is none, sqlite:PATH, store:URL, or postgres: and a file that
	// holds the database's URL.
	AuditIndex string
	// TrustedProxies are CIDR prefixes or addresses.
	TrustedProxies []string
	TLS            tlsOptions
	Quota          quotaOptions
	Snapshot       snapshotOptions
	Catalog        catalogOptions
	Seed           seedOptions
	Login          loginOptions
	SCIM           scimOptions
	Console        userconsole.Options
	// BundlesURL is where the store keeps bundles of programs; empty for none.
	BundlesURL string
	// AnswersURL is where the store keeps answers of bridges; empty for none.
	AnswersURL string
	Ingress    ingress.Config
}

// defaults returns the options of an installation as it is shipped.
func defaults() options {
	return options{
		Listen:      ":8080",
		ProbeListen: ":8081",
		Namespace:   "hosted-bridge-system",
		TokenFile:   "/var/run/secrets/hosted-bridge/token",
		BridgePort:  8443,
		// Endpoints lag the signal by seconds.
		DrainDelay: 5 * time.Second,
		// As long as a call waits for its bridge, whose pod an upgrade may be
		// replacing at the same time, and as long again for what it does then. The
		// pod's grace period must be longer than both together.
		DrainTimeout: 70 * time.Second,
		LogLevel:     "info",
		AuditIndex:   indexNone,
		// The kept certificate lives six hours; a day leaves it the last word.
		Snapshot: snapshotOptions{MaxAge: 24 * time.Hour},
		Audit:    defaultAudit(),
		Quota:    quotaOptions{Replicas: 1},
		Seed:     seedOptions{Place: seed.None},
		// Some times what one organization publishes, and a part of the 10,000 that
		// the catalog is made for.
		Catalog: catalogOptions{MaxRecipes: 500},
		Console: userconsole.Defaults(),
		Ingress: ingress.Config{
			// A pod starts within seconds; a pull of its image may take this.
			Wait: 30 * time.Second,
			// A held call keeps its body, of at most 4 MiB and hardly ever
			// more than some KiB. A client has few calls at once.
			MaxHeldPerUser: 32,
			MaxHeld:        1024,
			// Some 20 KB each.
			MaxDormant: 2048,
			// A quarter of the memory limit of the shipped manifest.
			MaxBodyMemory: 128 << 20,
			LegacySSE:     true,
			// A person who looks around makes a few, an installer one for each recipe.
			LoginRequests: 50,
			CatalogReads:  50,
			// A pipeline that publishes some hundred recipes needs a minute.
			CatalogWrites: 10,
			// Load balancers forget a silent connection after 30 s at the soonest.
			KeepAlive: 15 * time.Second,
			// Longer than the 60 s of those that say nothing else.
			IdleTimeout: 75 * time.Second,
		},
	}
}

// registerFlags binds the options to flags whose defaults they hold.
func (o *options) registerFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Listen, "listen", o.Listen, "address of the public surface (HTTP/1.1 and HTTP/2, with TLS if --tls-cert-file is set)")
	fs.StringVar(&o.ProbeListen, "probe-listen", o.ProbeListen, "address of /healthz, /readyz and /metrics")
	fs.StringVar(&o.Namespace, "namespace", o.Namespace, "namespace of the installation")
	fs.StringSliceVar((*[]string)(&o.WatchNamespaces), scope.Flag, o.WatchNamespaces, scope.FlagUsage)
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "kubeconfig file (default: the pod's service account)")
	fs.StringVar(&o.KeybrokerURL, "keybroker-url", o.KeybrokerURL, "URL of the keybroker (default: the service hosted-bridge-keybroker in --namespace)")
	fs.StringVar(&o.TokenFile, "token-file", o.TokenFile, "projected service-account token for the keybroker")
	fs.IntVar(&o.BridgePort, "bridge-port", o.BridgePort, "port on which bridges listen")
	fs.StringSliceVar(&o.Ingress.AllowedOrigins, "allowed-origins", o.Ingress.AllowedOrigins, "origins from which browsers may call, such as https://app.example.com")
	fs.StringSliceVar(&o.Ingress.AllowedHosts, "allowed-hosts", o.Ingress.AllowedHosts, "host names under which callers may reach the service, without port (default: any)")
	fs.StringSliceVar(&o.TrustedProxies, "trusted-proxies", o.TrustedProxies, "addresses or CIDR prefixes of proxies in front, whose X-Forwarded-For is trusted (default: none)")
	fs.DurationVar(&o.Ingress.Wait, "wait", o.Ingress.Wait, "how long a call waits for a starting bridge")
	fs.IntVar(&o.Ingress.MaxHeldPerUser, "max-held-per-user", o.Ingress.MaxHeldPerUser, "calls of one user that may wait at once")
	fs.Int64Var(&o.Ingress.MaxBodyMemory, "max-body-memory", o.Ingress.MaxBodyMemory, "bytes of all request bodies in memory at once; one user may take a quarter")
	fs.IntVar(&o.Ingress.MaxHeld, "max-held", o.Ingress.MaxHeld, "calls of all users that may wait at once")
	fs.IntVar(&o.Ingress.MaxDormant, "max-resting-streams", o.Ingress.MaxDormant, "maximum number of open streams of clients whose bridges sleep or are suspended; each user may have --max-held-per-user")
	fs.BoolVar(&o.Ingress.LegacySSE, "legacy-sse", o.Ingress.LegacySSE, "serve the transport of 2024-11-05, HTTP+SSE, at /u/:userId/sse")
	fs.IntVar(&o.Ingress.CatalogReads, "catalog-reads-per-second", o.Ingress.CatalogReads, "average number of requests per second of one address to the public routes of the catalog; the burst is ten seconds' worth; 0 means no limit")
	fs.IntVar(&o.Ingress.CatalogWrites, "catalog-writes-per-second", o.Ingress.CatalogWrites, "average number of requests per second with the keys of one publisher; the burst is ten seconds' worth; 0 means no limit")
	fs.IntVar(&o.Ingress.LoginRequests, "login-requests-per-second", o.Ingress.LoginRequests, "average number of requests per second of one address for logins and tokens; the burst is ten seconds' worth; 0 means no limit")
	fs.DurationVar(&o.Ingress.KeepAlive, "stream-keep-alive", o.Ingress.KeepAlive, "interval after which a silent event stream gets a comment")
	fs.DurationVar(&o.Ingress.IdleTimeout, "idle-timeout", o.Ingress.IdleTimeout, "time after which a connection without requests is closed; it must be longer than that of a proxy in front")
	fs.DurationVar(&o.DrainDelay, "drain-delay", o.DrainDelay, "how long new calls are still accepted after SIGTERM")
	fs.DurationVar(&o.DrainTimeout, "drain-timeout", o.DrainTimeout, "how long calls in flight then have to end")
	fs.StringVar(&o.AuditIndex, "audit-index", o.AuditIndex, "index for queries of audit entries: none, sqlite:PATH, store:URL of an \"ingress store\", or postgres:FILE with the database's URL in the file")
	fs.StringVar(&o.AdminKeyFile, "admin-key-file", o.AdminKeyFile, "file with the key of the admin surface, read again when it changes (default: the environment's CATALOG_ADMIN_KEY)")
	fs.StringVar(&o.BundlesURL, "bundles-url", o.BundlesURL, "URL of the bundles in an \"ingress store\", such as https://hosted-bridge-store.hosted-bridge-system.svc:8444, to have it remove those that no ProgramBundle names; empty for none")
	fs.StringVar(&o.AnswersURL, "answers-url", o.AnswersURL, "URL of an \"ingress store\" that keeps what bridges answered last, such as https://hosted-bridge-store.hosted-bridge-system.svc:8443: first requests and lists of a bridge that sleeps or starts are answered from there at once; needs --snapshot-key-file, whose key encrypts them; empty for none")
	o.TLS.registerFlags(fs)
	o.Audit.registerFlags(fs)
	o.Snapshot.registerFlags(fs)
	o.Quota.registerFlags(fs)
	o.Catalog.registerFlags(fs)
	o.Seed.registerFlags(fs)
	o.Login.registerFlags(fs)
	o.SCIM.registerFlags(fs)
	o.Console.RegisterFlags(fs)
	fs.StringVar(&o.OTLPEndpoint, "otlp-endpoint", o.OTLPEndpoint, "endpoint of traces, such as http://collector.observability.svc:4318 (default: OTEL_EXPORTER_OTLP_ENDPOINT, or none)")
	fs.StringVar(&o.LogLevel, "log-level", o.LogLevel, "debug, info, warn or error")
}

// parseOptions reads the command line.
func parseOptions(args []string, stderr io.Writer) (options, error) {
	o := defaults()
	fs := pflag.NewFlagSet("ingress", pflag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() { _, _ = io.WriteString(stderr, usage+fs.FlagUsages()) }
	o.registerFlags(fs)
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("%q is not a command: use keys, audit, check, scim or store", fs.Arg(0))
	}
	if o.KeybrokerURL == "" {
		o.KeybrokerURL = "https://hosted-bridge-keybroker." + o.Namespace + ".svc:8443"
	}
	o.Ingress.DrainTimeout, o.Login.Replicas = o.DrainTimeout, o.Quota.Replicas
	var err error
	o.Ingress.TrustedProxies, err = prefixesOf(o.TrustedProxies)
	return o, errors.Join(err, o.validate())
}

// prefixesOf reads CIDR prefixes; an address is a prefix of itself alone.
func prefixesOf(list []string) ([]netip.Prefix, error) {
	prefixes := make([]netip.Prefix, 0, len(list))
	for _, text := range list {
		p, err := netip.ParsePrefix(text)
		if a, aerr := netip.ParseAddr(text); aerr == nil {
			p, err = a.Prefix(a.BitLen())
		}
		if err != nil || p.Addr().Is4In6() {
			return nil, fmt.Errorf("--trusted-proxies has %q: an entry must be an address or a prefix such as 10.0.0.0/8", text)
		}
		prefixes = append(prefixes, p.Masked())
	}
	return prefixes, nil
}

// validate returns everything that is wrong with the options, by flag.
func (o *options) validate() error {
	var errs []error
	check := func(ok bool, flag, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("--%s must be %s", flag, want))
		}
	}
	for flag, address := range map[string]string{"listen": o.Listen, "probe-listen": o.ProbeListen} {
		_, _, err := net.SplitHostPort(address)
		check(err == nil, flag, "an address such as :8080")
	}
	u, err := url.Parse(o.KeybrokerURL)
	check(err == nil && u.Scheme == "https" && u.Host != "", "keybroker-url", "an https URL")
	check(o.Namespace != "", "namespace", "set")
	check(o.TokenFile != "", "token-file", "set")
	check(o.BridgePort > 0 && o.BridgePort < 1<<16, "bridge-port", "a port")
	check(o.Ingress.Wait >= 0, "wait", "0 or more")
	check(o.Ingress.MaxHeldPerUser > 0, "max-held-per-user", "1 or more")
	check(o.Ingress.MaxBodyMemory >= 16<<20, "max-body-memory", "16777216 or more")
	check(o.Ingress.MaxHeld >= o.Ingress.MaxHeldPerUser, "max-held", "at least --max-held-per-user")
	check(o.Ingress.CatalogReads >= 0 && o.Ingress.CatalogReads <= 1_000_000, "catalog-reads-per-second", "from 0 to 1000000")
	check(o.Ingress.CatalogWrites >= 0 && o.Ingress.CatalogWrites <= 1_000_000, "catalog-writes-per-second", "from 0 to 1000000")
	check(o.Ingress.LoginRequests >= 0 && o.Ingress.LoginRequests <= 1_000_000, "login-requests-per-second", "from 0 to 1000000")
	check(o.Catalog.MaxRecipes >= 0, "catalog-max-recipes-per-publisher", "0 or more")
	check(o.Ingress.KeepAlive >= time.Second, "stream-keep-alive", "1s or more")
	check(o.Ingress.IdleTimeout >= time.Second, "idle-timeout", "1s or more")
	check(o.OTLPEndpoint == "" || isHTTP(o.OTLPEndpoint), "otlp-endpoint", "an http or https URL")
	check(o.Ingress.MaxDormant > 0, "max-resting-streams", "1 or more")
	_, _, ok := indexOf(o.AuditIndex)
	check(ok, "audit-index", "none, sqlite:PATH, store:URL with an https URL, or postgres:FILE")
	check(o.DrainDelay >= 0, "drain-delay", "0 or more")
	check(o.DrainTimeout >= 0, "drain-timeout", "0 or more")
	return errors.Join(append(errs, o.validateAnswers(), o.WatchNamespaces.Validate(), o.Ingress.Validate(), o.TLS.validate(), o.Audit.validate(), o.Quota.validate(), o.Snapshot.validate(), o.Seed.validate(), o.Console.Validate())...)
}

func isHTTP(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
