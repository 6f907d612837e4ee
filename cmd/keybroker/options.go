// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Options are the keybroker's settings.
type Options struct {
	// Listen serves the API, ProbeListen /healthz, /readyz and /metrics.
	Listen      string
	ProbeListen string
	// MasterKeyDir holds the versions of the master key, a file each.
	MasterKeyDir string
	// Namespace is the installation's own.
	Namespace string
	// ClusterID names the installation in what it seals.
	ClusterID string
	// Kubeconfig leads to the API server from outside of the cluster.
	Kubeconfig string
	// DrainDelay and DrainTimeout must fit into the pod's grace period.
	DrainDelay   time.Duration
	DrainTimeout time.Duration
	LogLevel     string
}

// Defaults returns the settings of an installation that changes none.
func Defaults() Options {
	return Options{
		Listen:       ":8443",
		ProbeListen:  ":8081",
		MasterKeyDir: "/etc/hosted-bridge/master-key",
		Namespace:    "hosted-bridge-system",
		ClusterID:    "hosted-bridge",
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
	fs.StringVar(&o.ProbeListen, "probe-listen", o.ProbeListen, "address of /healthz, /readyz and /metrics")
	fs.StringVar(&o.MasterKeyDir, "master-key-dir", o.MasterKeyDir, "directory with a file for each version of the master key, named by the version, with the base64 of 32 bytes")
	fs.StringVar(&o.Namespace, "namespace", o.Namespace, "namespace of the installation")
	fs.StringVar(&o.ClusterID, "cluster-id", o.ClusterID, "name of the installation in the secrets that it seals; another name cannot open them")
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "kubeconfig file (default: the pod's service account)")
	fs.DurationVar(&o.DrainDelay, "drain-delay", o.DrainDelay, "how long new requests are still taken after SIGTERM")
	fs.DurationVar(&o.DrainTimeout, "drain-timeout", o.DrainTimeout, "how long requests in flight then have to end")
	fs.StringVar(&o.LogLevel, "log-level", o.LogLevel, "debug, info, warn or error")
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
	check(o.ClusterID != "" && strings.TrimSpace(o.ClusterID) == o.ClusterID, "cluster-id", "a name without spaces around it")
	check(o.DrainDelay >= 0, "drain-delay", "0 or more")
	check(o.DrainTimeout >= 0, "drain-timeout", "0 or more")
	return errors.Join(errs...)
}

func isAddress(s string) bool {
	_, _, err := net.SplitHostPort(s)
	return err == nil
}
