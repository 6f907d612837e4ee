// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sharedstore

import (
	"cmp"
	"io"

	"github.com/hostedbridge/hostedbridge/internal/setting"
)

const usage = `Keep the counts of quotas, the index of audit entries and the last answers of bridges for
all ingresses, and the bundles of programs for the pods of bridges.

Usage: ingress store --directory=/var/lib/hosted-bridge [flags]

`

// envKeybrokerCA is the environment's variable with the keybroker's CA
// certificate: this process reads nothing from the API server.
const envKeybrokerCA = "KEYBROKER_CA"

// Options are the settings of the store. Each is explained where it is declared.
type Options struct {
	Listen, ProbeListen, BundlesListen   string
	Namespace                            string
	KeybrokerURL, KeybrokerCA, TokenFile string
	Directory, BundlesDirectory          string
	BundlesMaxBytes, BundleMaxBytes      int64
	LogLevel                             string
}

// Declare declares the settings.
func (o *Options) Declare(getenv func(string) string) *setting.Set {
	s := setting.New("ingress store", usage)
	s.String(&o.Listen, "listen", ":8443", "address of the calls of ingresses, over mutual TLS", setting.Address)
	s.String(&o.ProbeListen, "probe-listen", ":8081", "address of /healthz, /readyz and /metrics", setting.Address)
	s.String(&o.Namespace, "namespace", "hosted-bridge-system", "namespace of the installation", setting.Label)
	s.String(&o.KeybrokerURL, "keybroker-url", "", "URL of the keybroker (default: the service hosted-bridge-keybroker in --namespace)", setting.Optional(setting.HTTPS))
	s.String(&o.TokenFile, "token-file", "/var/run/secrets/hosted-bridge/token", "projected service-account token for the keybroker")
	s.String(&o.Directory, "directory", "", "directory of the counts, of the index and of the last answers of bridges; one process at a time may use it", setting.Required)
	s.String(&o.BundlesDirectory, "bundles-directory", "", "directory of the bundles of programs; empty for none")
	s.String(&o.BundlesListen, "bundles-listen", ":8444", "address of the bundles, over mutual TLS, for the pods of bridges too", setting.Address)
	s.Int64(&o.BundlesMaxBytes, "bundles-max-bytes", 8<<30, "bytes that all bundles may take in --bundles-directory", setting.AtLeast[int64](1))
	s.Int64(&o.BundleMaxBytes, "bundle-max-bytes", 1<<30, "bytes that one bundle may have, uncompressed", setting.AtLeast[int64](1))
	s.String(&o.LogLevel, "log-level", "info", "debug, info, warn or error")
	s.Env(&o.KeybrokerCA, envKeybrokerCA, "the keybroker's certificate in PEM", getenv)
	s.Check(func() error {
		o.KeybrokerURL = cmp.Or(o.KeybrokerURL, "https://hosted-bridge-keybroker."+o.Namespace+".svc:8443")
		return nil
	})
	return s
}

// parse reads the command line and the environment.
func parse(args []string, getenv func(string) string, stderr io.Writer) (o Options, err error) {
	s := o.Declare(getenv)
	s.SetOutput(stderr)
	err = s.Parse(args)
	return o, err
}
