// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/hostedbridge/hostedbridge/cmd/ingress/userconsole"
	"github.com/hostedbridge/hostedbridge/internal/audit/trail"
	"github.com/hostedbridge/hostedbridge/internal/ingress"
	"github.com/hostedbridge/hostedbridge/internal/ingress/certificate"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
	"github.com/hostedbridge/hostedbridge/internal/quota/quotastore"
	"github.com/hostedbridge/hostedbridge/internal/setting"
)

const usage = `Serve the public surface of hosted-bridge.

Usage: ingress [flags]
       ingress keys create --user=alice [flags]
       ingress audit verify [flags] FILE...
       ingress check [flags]
       ingress scim token [flags]
       ingress store [flags]

`

// options is everything that can be set. Each setting is explained where it is declared.
type options struct {
	Listen, ProbeListen     string
	Namespace               string
	WatchNamespaces         namespaces.Set
	Kubeconfig              string
	KeybrokerURL, TokenFile string
	// BridgePort is where bridges listen: the operator makes all of them with one.
	BridgePort               int
	DrainDelay, DrainTimeout time.Duration
	LogLevel                 string
	AdminKeyFile             string
	TrustedProxies           []string
	BundlesURL, AnswersURL   string
	BackupCronJob            string
	SCIMFile                 string
	TLS                      certificate.Options
	Audit                    trail.Options
	Quota                    quotastore.Settings
	Snapshot                 snapshotOptions
	Catalog                  catalogOptions
	Seed                     seedOptions
	Login                    loginOptions
	Console                  userconsole.Options
	Ingress                  ingress.Config
}

// declare declares the settings.
func (o *options) declare() *setting.Set {
	o.BridgePort = 8443
	// A pod starts within seconds; a pull of its image may take 30. A held call keeps its body, of at
	// most 4 MiB and hardly ever more than some KiB, and a client has few calls at once. A pipeline
	// that publishes some hundred recipes needs a minute.
	o.Ingress.Wait, o.Ingress.MaxHeldPerUser, o.Ingress.MaxHeld, o.Ingress.CatalogWrites = 30*time.Second, 32, 1024, 10
	s := setting.New("ingress", usage)
	s.String(&o.Listen, "listen", ":8080", "address of the public surface (HTTP/1.1 and HTTP/2, with TLS if --tls-cert-file is set)", setting.Address)
	s.String(&o.ProbeListen, "probe-listen", ":8081", "address of /healthz, /readyz and /metrics", setting.Address)
	s.String(&o.Namespace, "namespace", "hosted-bridge-system", "namespace of the installation", setting.Label)
	o.WatchNamespaces.Declare(s)
	s.String(&o.Kubeconfig, "kubeconfig", "", "kubeconfig file (default: the pod's service account)")
	s.String(&o.KeybrokerURL, "keybroker-url", "", "URL of the keybroker (default: the service hosted-bridge-keybroker in --namespace)", setting.Optional(setting.HTTPS))
	s.String(&o.TokenFile, "token-file", "/var/run/secrets/hosted-bridge/token", "projected service-account token for the keybroker", setting.Required)
	s.List(&o.Ingress.AllowedOrigins, "allowed-origins", "origins from which browsers may call, such as https://app.example.com")
	s.List(&o.Ingress.AllowedHosts, "allowed-hosts", "host names under which callers may reach the service, without port (default: any)")
	s.List(&o.TrustedProxies, "trusted-proxies", "addresses or CIDR prefixes of proxies in front, whose X-Forwarded-For is trusted (default: none)")
	// A quarter of the memory limit of the shipped manifest.
	s.Int64(&o.Ingress.MaxBodyMemory, "max-body-memory", 128<<20, "bytes of all request bodies in memory at once; one user may take a quarter", setting.AtLeast[int64](16<<20))
	s.Bool(&o.Ingress.LegacySSE, "legacy-sse", true, "serve the transport of 2024-11-05, HTTP+SSE, at /u/:userId/sse")
	// A person who looks around makes a few, an installer one for each recipe.
	s.Int(&o.Ingress.CatalogReads, "catalog-reads-per-second", 50, "average number of requests per second of one address to the public routes of the catalog; the burst is ten seconds' worth; 0 means no limit", setting.Between(0, 1_000_000))
	s.Int(&o.Ingress.LoginRequests, "login-requests-per-second", 50, "average number of requests per second of one address for logins and tokens; the burst is ten seconds' worth; 0 means no limit", setting.Between(0, 1_000_000))
	// Longer than the 60 s of proxies that say nothing else.
	s.Duration(&o.Ingress.IdleTimeout, "idle-timeout", 75*time.Second, "time after which a connection without requests is closed; it must be longer than that of a proxy in front", setting.AtLeast(time.Second))
	// Endpoints lag the signal by seconds.
	s.Duration(&o.DrainDelay, "drain-delay", 5*time.Second, "how long new calls are still accepted after SIGTERM", setting.AtLeast[time.Duration](0))
	// As long as a call waits for its bridge, whose pod an upgrade may be replacing at the same time,
	// and as long again for what it does then. The pod's grace period must be longer than both together.
	s.Duration(&o.DrainTimeout, "drain-timeout", 70*time.Second, "how long calls in flight then have to end", setting.AtLeast[time.Duration](0))
	s.String(&o.AdminKeyFile, "admin-key-file", "", "file with the key of the admin surface, read again when it changes (default: the environment's CATALOG_ADMIN_KEY)")
	s.String(&o.BundlesURL, "bundles-url", "", "URL of the bundles in an \"ingress store\", such as https://hosted-bridge-store.hosted-bridge-system.svc:8444, to have it remove those that no ProgramBundle names; empty for none")
	s.String(&o.AnswersURL, "answers-url", "", "URL of an \"ingress store\" that keeps what bridges answered last, such as https://hosted-bridge-store.hosted-bridge-system.svc:8443: first requests and lists of a bridge that sleeps or starts are answered from there at once; needs --snapshot-key-file, whose key encrypts them; empty for none", setting.Optional(setting.HTTPS))
	s.String(&o.BackupCronJob, "backup-cronjob", "", "CronJob in --namespace that takes backups, to say when the last one succeeded; empty for none")
	o.TLS.Declare(s)
	o.Audit.Declare(s)
	o.Snapshot.declare(s)
	o.Quota.Declare(s)
	o.Catalog.declare(s)
	o.Seed.declare(s)
	s.String(&o.Login.File, "oauth-config", "", "YAML file with the accepted issuers of access tokens and the configuration of logins (default: only API keys)")
	s.String(&o.SCIMFile, "scim-config", "", "YAML file with the directories that may send people and groups by SCIM 2.0, at /scim/v2 (default: none)")
	o.Console.Declare(s)
	s.String(&o.LogLevel, "log-level", "info", "debug, info, warn or error")
	s.Check(o.complete)
	s.Check(func() error { return o.Ingress.Validate() })
	return s
}

// complete sets what follows from several settings.
func (o *options) complete() (err error) {
	o.KeybrokerURL = cmp.Or(o.KeybrokerURL, "https://hosted-bridge-keybroker."+o.Namespace+".svc:8443")
	o.Ingress.DrainTimeout, o.Login.Replicas = o.DrainTimeout, o.Quota.Replicas
	if o.Snapshot.KeyFile == "" && o.AnswersURL != "" {
		return fmt.Errorf("--answers-url: its answers are encrypted by the key of --snapshot-key-file, which is empty; give it too")
	}
	o.Ingress.TrustedProxies, err = prefixesOf(o.TrustedProxies)
	return err
}

// parseOptions reads the command line.
func parseOptions(args []string, stderr io.Writer) (o options, err error) {
	s := o.declare()
	s.SetOutput(stderr)
	if err := s.ParseWords(args); err != nil {
		return o, err
	}
	if s.NArg() > 0 {
		return o, fmt.Errorf("%q is not a command: use keys, audit, check, scim or store", s.Arg(0))
	}
	err = s.Validate()
	return o, err
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
			return nil, fmt.Errorf("--trusted-proxies: %.80q is not an address or a prefix; give one such as 10.0.0.0/8", text)
		}
		prefixes = append(prefixes, p.Masked())
	}
	return prefixes, nil
}
