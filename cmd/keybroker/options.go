// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/hostedbridge/hostedbridge/internal/masterkey"
	"github.com/hostedbridge/hostedbridge/internal/scope"
)

// podNamespace is the variable with the namespace of the pod.
const podNamespace = "POD_NAMESPACE"

// Options are the keybroker's settings.
type Options struct {
	// Listen serves the API, ProbeListen /healthz, /readyz, /metrics and /ring.
	Listen      string
	ProbeListen string
	// MasterKeyDir holds the ring of the master key, see package masterkey.
	MasterKeyDir string
	// KeyProvider is what seals: the ring or a transit engine.
	KeyProvider string
	Vault       VaultOptions
	// Namespace is the installation's own.
	Namespace string
	// WatchNamespaces are where HostedBridges are looked after; none are all.
	WatchNamespaces scope.Namespaces
	// TokenVerification is how tokens are verified.
	TokenVerification string
	// ClusterID names the installation in what it seals.
	ClusterID string
	Sealing   SealingOptions
	// Kubeconfig leads to the API server from outside of the cluster.
	Kubeconfig string
	// DrainDelay and DrainTimeout must fit into the pod's grace period.
	DrainDelay   time.Duration
	DrainTimeout time.Duration
	LogLevel     string
}

// SealingOptions are for the replica that leads, which seals secrets.
type SealingOptions struct {
	// TiersFile replaces the built-in tiers; empty keeps them.
	TiersFile string
	// Concurrency is how many bridges are worked on at once.
	Concurrency int
	// Retention is how long the secrets of people who are offboarded are kept.
	Retention time.Duration
}

// VaultOptions lead to the transit engine of HashiCorp Vault or OpenBao. Without
// an address none is used.
type VaultOptions struct {
	Address   string
	Insecure  bool
	Mount     string
	Key       string
	Namespace string
	CAFile    string
	TokenFile string
	Role      string
	AuthMount string
	JWTFile   string
}

// Defaults returns the settings of an installation that changes none.
func Defaults() Options {
	return Options{
		Listen:       ":8443",
		ProbeListen:  ":8081",
		MasterKeyDir: "/etc/hosted-bridge/master-key",
		KeyProvider:  masterkey.ProviderLocal,
		Vault: VaultOptions{
			Mount: "transit", Key: "hosted-bridge", AuthMount: "kubernetes",
			JWTFile: "/var/run/secrets/kubernetes.io/serviceaccount/token",
		},
		// The pod says it, also to what kubectl exec starts beside the server.
		Namespace:         cmp.Or(os.Getenv(podNamespace), "hosted-bridge-system"),
		TokenVerification: byReview,

		ClusterID: "hosted-bridge",
		// A bridge to be wrapped anew is some six requests of a few milliseconds. Eight at a
		// time leave an API server room for others. A month is long enough to notice that
		// somebody was offboarded by mistake, and Entra keeps deleted users as long.
		Sealing: SealingOptions{Concurrency: 8, Retention: 30 * 24 * time.Hour},
		// Endpoints lag the signal by seconds, and a request is answered
		// within 15: together less than Kubernetes' grace period of 30 s.
		DrainDelay:   5 * time.Second,
		DrainTimeout: 15 * time.Second,
		LogLevel:     "info",
	}
}

// RegisterFlags adds a flag for each setting to fs.
func (o *Options) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Listen, "listen", o.Listen, "address of the API (TLS)")
	fs.StringVar(&o.ProbeListen, "probe-listen", o.ProbeListen, "address of /healthz, /readyz, /metrics and /ring")
	fs.StringVar(&o.MasterKeyDir, "master-key-dir", o.MasterKeyDir, "directory with the ring of the master key: a file for each version, named by it, and one named authority, with the base64 of 32 bytes each")
	fs.StringVar(&o.KeyProvider, "key-provider", o.KeyProvider, "what seals secrets: local, the ring, or transit, an engine of HashiCorp Vault or OpenBao")
	o.Vault.registerFlags(fs)
	fs.StringVar(&o.Namespace, "namespace", o.Namespace, "namespace of the installation")
	fs.StringSliceVar((*[]string)(&o.WatchNamespaces), scope.Flag, o.WatchNamespaces, scope.FlagUsage)
	fs.StringVar(&o.TokenVerification, "token-verification", o.TokenVerification, "how the tokens of pods are verified: review, a request to the API server, which needs a ClusterRole; or jwks, the API server's public keys")
	fs.StringVar(&o.ClusterID, "cluster-id", o.ClusterID, "name of the installation inside the secrets that it seals; they cannot be opened under another name")
	fs.StringVar(&o.Sealing.TiersFile, "tiers-file", o.Sealing.TiersFile, "YAML file with the installation's tiers; the default tiers are free, pro and business")
	fs.IntVar(&o.Sealing.Concurrency, "concurrency", o.Sealing.Concurrency, "how many HostedBridges are sealed, or wrapped under another version of the master key, at a time")
	fs.DurationVar(&o.Sealing.Retention, "offboarding-retention", o.Sealing.Retention, "how long the secrets of people who are offboarded are kept before they are destroyed")
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "kubeconfig file (default: the pod's service account)")
	fs.DurationVar(&o.DrainDelay, "drain-delay", o.DrainDelay, "how long new requests are still accepted after SIGTERM")
	fs.DurationVar(&o.DrainTimeout, "drain-timeout", o.DrainTimeout, "how long requests in flight then have to end")
	fs.StringVar(&o.LogLevel, "log-level", o.LogLevel, "debug, info, warn or error")
}

func (v *VaultOptions) registerFlags(fs *pflag.FlagSet) {
	fs.StringVar(&v.Address, "vault-address", v.Address, "address of HashiCorp Vault or OpenBao, such as https://vault.example:8200; with --key-provider=local what transit sealed before is opened by it")
	fs.BoolVar(&v.Insecure, "vault-insecure", v.Insecure, "allow an http:// address, although data keys then pass unencrypted")
	fs.StringVar(&v.Mount, "vault-mount", v.Mount, "path of the transit engine")
	fs.StringVar(&v.Key, "vault-key", v.Key, "name of the transit key, of type aes256-gcm96 and derived")
	fs.StringVar(&v.Namespace, "vault-namespace", v.Namespace, "namespace of Vault Enterprise or OpenBao")
	fs.StringVar(&v.CAFile, "vault-ca-file", v.CAFile, "PEM file with the authorities of the server's certificate (default: the system's)")
	fs.StringVar(&v.TokenFile, "vault-token-file", v.TokenFile, "file with a token, read again for each call; without it, the keybroker logs in with --vault-role")
	fs.StringVar(&v.Role, "vault-role", v.Role, "role of the Kubernetes auth method")
	fs.StringVar(&v.AuthMount, "vault-auth-mount", v.AuthMount, "path of the Kubernetes auth method")
	fs.StringVar(&v.JWTFile, "vault-jwt-file", v.JWTFile, "file with the ServiceAccount's token for the Kubernetes auth method")
}

// Validate reports every setting that cannot be used, by its flag.
func (o *Options) Validate() error {
	var errs []error
	check := func(ok bool, flag, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("--%s must be %s", flag, want))
		}
	}
	check(isAddress(o.Listen), "listen", "an address such as :8443")
	check(isAddress(o.ProbeListen), "probe-listen", "an address such as :8081")
	check(o.MasterKeyDir != "", "master-key-dir", "a directory")
	check(len(validation.IsDNS1123Label(o.Namespace)) == 0, "namespace", "the name of a namespace")
	check(o.TokenVerification == byReview || o.TokenVerification == byKeys, "token-verification", "review or jwks")
	check(o.ClusterID != "" && strings.TrimSpace(o.ClusterID) == o.ClusterID, "cluster-id", "a name without spaces around it")
	check(o.Sealing.Concurrency > 0, "concurrency", "1 or more")
	check(o.Sealing.Retention >= 0, "offboarding-retention", "0 or more, such as 720h")
	check(o.DrainDelay >= 0, "drain-delay", "0 or more")
	check(o.DrainTimeout >= 0, "drain-timeout", "0 or more")
	return errors.Join(append(errs, o.WatchNamespaces.Validate(), o.validateKeys())...)
}

func (o *Options) validateKeys() error {
	switch {
	case o.KeyProvider != masterkey.ProviderLocal && o.KeyProvider != masterkey.ProviderTransit:
		return errors.New("--key-provider must be local or transit")
	case o.KeyProvider == masterkey.ProviderTransit && o.Vault.Address == "":
		return errors.New("--vault-address must be set with --key-provider=transit")
	case o.Vault.Address == "":
		return nil
	}
	if err := o.Vault.transit().Validate(); err != nil {
		return fmt.Errorf("the flags that begin with --vault cannot be used: %w", err)
	}
	return nil
}

// masterKey returns where the master key is.
func (o *Options) masterKey(log *slog.Logger) masterkey.Options {
	return masterkey.Options{Dir: o.MasterKeyDir, Provider: o.KeyProvider, Transit: o.Vault.transit(), Log: log}
}

func (v *VaultOptions) transit() masterkey.TransitOptions {
	t := masterkey.TransitOptions{
		Address: v.Address, Insecure: v.Insecure, CAFile: v.CAFile, Namespace: v.Namespace, Mount: v.Mount, Key: v.Key,
		TokenFile: v.TokenFile, AuthMount: v.AuthMount, Role: v.Role,
	}
	if v.Role != "" {
		t.JWTFile = v.JWTFile // Its default is no wish to log in.
	}
	return t
}

func isAddress(s string) bool {
	_, _, err := net.SplitHostPort(s)
	return err == nil
}
