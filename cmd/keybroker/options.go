// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/installation"
	"github.com/hostedbridge/hostedbridge/internal/masterkey"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
	"github.com/hostedbridge/hostedbridge/internal/setting"
)

const (
	// podNamespace is the variable with the namespace of the pod.
	podNamespace = "POD_NAMESPACE"

	// sealConcurrency is how many HostedBridges are sealed, or wrapped under another version
	// of the master key, at a time. One is some six requests of a few milliseconds: eight
	// leave an API server room for others.
	sealConcurrency = 8

	// Endpoints lag SIGTERM by seconds, and a request is answered within 15: together less
	// than Kubernetes' grace period of 30 s.
	drainDelay   = 5 * time.Second
	drainTimeout = 15 * time.Second
)

// Options are the keybroker's settings. Each is explained where it is declared.
type Options struct {
	Listen, ProbeListen string
	Keys                masterkey.Options
	Namespace           string
	WatchNamespaces     namespaces.Set
	ClusterID           string
	TiersFile           string
	Retention           time.Duration
	Kubeconfig          string
	// DrainDelay is how long new requests are still accepted after SIGTERM.
	DrainDelay time.Duration
	LogLevel   string
}

// Declare declares the settings of the server, whose help begins with the usage.
func (o *Options) Declare(usage string) *setting.Set {
	o.DrainDelay = drainDelay
	s := setting.New("keybroker", usage)
	s.String(&o.Listen, "listen", ":8443", "address of the API (TLS)", setting.Address)
	s.String(&o.ProbeListen, "probe-listen", ":8081", "address of /healthz, /readyz, /metrics and /ring", setting.Address)
	o.Keys.Declare(s)
	// The pod says it, also to what kubectl exec starts beside the server.
	s.String(&o.Namespace, "namespace", cmp.Or(os.Getenv(podNamespace), "hosted-bridge-system"), "namespace of the installation", setting.Label)
	o.WatchNamespaces.Declare(s)
	s.String(&o.ClusterID, "cluster-id", "hosted-bridge", "name of the installation inside the secrets that it seals; they cannot be opened under another name", clusterID)
	s.String(&o.TiersFile, "tiers-file", "", "YAML file with the installation's tiers; the default tiers are free, pro and business")
	// A month is long enough to notice that somebody was offboarded by mistake, and Entra keeps
	// deleted users as long.
	s.Duration(&o.Retention, "offboarding-retention", 30*24*time.Hour, "how long the secrets of people who are offboarded are kept before they are destroyed", setting.AtLeast[time.Duration](0))
	s.String(&o.Kubeconfig, "kubeconfig", "", "kubeconfig file (default: the pod's service account)")
	s.String(&o.LogLevel, "log-level", "info", "debug, info, warn or error")
	return s
}

// masterKey returns where the master key is.
func (o *Options) masterKey(log *slog.Logger) masterkey.Options {
	keys := o.Keys
	keys.Log = log
	return keys
}

// installation returns what subcommands work on.
func (o *Options) installation() installation.Options {
	return installation.Options{Keys: o.Keys, Kubeconfig: o.Kubeconfig, ClusterID: o.ClusterID, Namespace: o.Namespace, Watched: o.WatchNamespaces}
}

func clusterID(value string) error {
	if value == "" || strings.TrimSpace(value) != value {
		return errors.New("the value is empty or has spaces around it; give a name without")
	}
	return nil
}
