// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Options are the operator's settings.
type Options struct {
	// BridgeImage is the image of the tenants' pods.
	BridgeImage string
	// BaseURL is the ingress's public address, as users type it.
	BaseURL string
	// KeybrokerURL is where the tenants' pods reach the keybroker.
	KeybrokerURL string
	// Namespace is the installation's own.
	Namespace string
	// TiersFile replaces the built-in tiers; empty keeps them.
	TiersFile string
	// LeaderElect lets one of several replicas act.
	LeaderElect bool
	// ProbeListen serves /healthz and /readyz, MetricsListen /metrics.
	ProbeListen   string
	MetricsListen string
}

// Defaults returns the settings of an installation that changes none.
func Defaults() Options {
	return Options{
		BridgeImage:   "hosted-bridge/bridge:dev",
		BaseURL:       "http://127.0.0.1:8080",
		KeybrokerURL:  "https://hosted-bridge-keybroker.hosted-bridge-system.svc:8443",
		Namespace:     "hosted-bridge-system",
		LeaderElect:   true,
		ProbeListen:   ":8081",
		MetricsListen: ":8082",
	}
}

// RegisterFlags adds a flag for each setting to fs.
func (o *Options) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.BridgeImage, "bridge-image", o.BridgeImage, "image of the tenants' pods")
	fs.StringVar(&o.BaseURL, "base-url", o.BaseURL, "public address of the ingress; a bridge's URL is this and /u/<userID>/mcp")
	fs.StringVar(&o.KeybrokerURL, "keybroker-url", o.KeybrokerURL, "where the tenants' pods reach the keybroker")
	fs.StringVar(&o.Namespace, "namespace", o.Namespace, "namespace of the installation")
	fs.StringVar(&o.TiersFile, "tiers-file", o.TiersFile, "YAML file with the installation's tiers; without it there are free, pro and business")
	fs.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "let one of several replicas act")
	fs.StringVar(&o.ProbeListen, "probe-listen", o.ProbeListen, "address of /healthz and /readyz")
	fs.StringVar(&o.MetricsListen, "metrics-listen", o.MetricsListen, "address of /metrics")
}

// Validate reports every setting that cannot be used, by its flag.
func (o *Options) Validate() error {
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	return errors.Join(
		notEmpty("bridge-image", o.BridgeImage),
		notEmpty("namespace", o.Namespace),
		absoluteURL("base-url", o.BaseURL, "http", "https"),
		absoluteURL("keybroker-url", o.KeybrokerURL, "https"),
	)
}

func notEmpty(flag, value string) error {
	if value == "" {
		return fmt.Errorf("--%s is empty", flag)
	}
	return nil
}

func absoluteURL(flag, value string, schemes ...string) error {
	u, err := url.Parse(value)
	if err == nil && slices.Contains(schemes, u.Scheme) && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" {
		return nil
	}
	return fmt.Errorf("--%s must be an absolute URL with %s and a host, such as %s://host:8443", flag, strings.Join(schemes, " or "), schemes[len(schemes)-1])
}
