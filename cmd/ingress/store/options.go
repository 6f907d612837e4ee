// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"

	"github.com/spf13/pflag"
)

const usage = `Keep the counts of quotas, the index of audit entries and the last answers of bridges for
all ingresses, and the bundles of programs for the pods of bridges.

Usage: ingress store --directory=/var/lib/hosted-bridge [flags]

`

// envKeybrokerCA is the environment's variable with the keybroker's CA
// certificate: this process reads nothing from the API server.
const envKeybrokerCA = "KEYBROKER_CA"

// Options are the settings of the store.
type Options struct {
	Listen       string
	ProbeListen  string
	Namespace    string
	KeybrokerURL string
	// KeybrokerCA comes from the environment.
	KeybrokerCA string
	TokenFile   string
	Directory   string
	// BundlesDirectory is empty if there are no bundles.
	BundlesDirectory string
	BundlesListen    string
	// BundlesMaxBytes bounds all bundles on the volume, and BundleMaxBytes the
	// uncompressed tar of one.
	BundlesMaxBytes, BundleMaxBytes int64
	LogLevel                        string
}

// Defaults returns the options of an installation as it is shipped.
func Defaults() Options {
	return Options{
		Listen: ":8443", ProbeListen: ":8081", BundlesListen: ":8444", Namespace: "hosted-bridge-system",
		BundlesMaxBytes: 8 << 30, BundleMaxBytes: 1 << 30,
		TokenFile: "/var/run/secrets/hosted-bridge/token", LogLevel: "info",
	}
}

// RegisterFlags binds the options to flags whose defaults they hold.
func (o *Options) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Listen, "listen", o.Listen, "address of the calls of ingresses, over mutual TLS")
	fs.StringVar(&o.ProbeListen, "probe-listen", o.ProbeListen, "address of /healthz, /readyz and /metrics")
	fs.StringVar(&o.Namespace, "namespace", o.Namespace, "namespace of the installation")
	fs.StringVar(&o.KeybrokerURL, "keybroker-url", o.KeybrokerURL, "URL of the keybroker (default: the service hosted-bridge-keybroker in --namespace)")
	fs.StringVar(&o.TokenFile, "token-file", o.TokenFile, "projected service-account token for the keybroker")
	fs.StringVar(&o.Directory, "directory", o.Directory, "directory of the counts, of the index and of the last answers of bridges; one process at a time may use it")
	fs.StringVar(&o.BundlesDirectory, "bundles-directory", o.BundlesDirectory, "directory of the bundles of programs; empty for none")
	fs.StringVar(&o.BundlesListen, "bundles-listen", o.BundlesListen, "address of the bundles, over mutual TLS, for the pods of bridges too")
	fs.Int64Var(&o.BundlesMaxBytes, "bundles-max-bytes", o.BundlesMaxBytes, "bytes that all bundles may take in --bundles-directory")
	fs.Int64Var(&o.BundleMaxBytes, "bundle-max-bytes", o.BundleMaxBytes, "bytes that one bundle may have, uncompressed")
	fs.StringVar(&o.LogLevel, "log-level", o.LogLevel, "debug, info, warn or error")
}

func (o *Options) validate() error {
	var errs []error
	check := func(ok bool, what string) {
		if !ok {
			errs = append(errs, errors.New(what))
		}
	}
	for flag, address := range map[string]string{"listen": o.Listen, "probe-listen": o.ProbeListen, "bundles-listen": o.BundlesListen} {
		_, _, err := net.SplitHostPort(address)
		check(err == nil, "--"+flag+" must be an address such as :8443")
	}
	u, err := url.Parse(o.KeybrokerURL)
	check(err == nil && u.Scheme == "https" && u.Host != "", "--keybroker-url must be an https URL")
	check(o.Directory != "", "--directory must be set")
	check(o.BundleMaxBytes > 0 && o.BundlesMaxBytes > 0, "--bundle-max-bytes and --bundles-max-bytes must be more than 0")
	check(o.KeybrokerCA != "", "the environment must have "+envKeybrokerCA+", the keybroker's certificate in PEM")
	return errors.Join(errs...)
}

// parse reads the command line and the environment.
func parse(args []string, getenv func(string) string, stderr io.Writer) (Options, error) {
	o := Defaults()
	fs := pflag.NewFlagSet("ingress store", pflag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() { _, _ = io.WriteString(stderr, usage+fs.FlagUsages()) }
	o.RegisterFlags(fs)
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("%q is not expected", fs.Arg(0))
	}
	if o.KeybrokerURL == "" {
		o.KeybrokerURL = "https://hosted-bridge-keybroker." + o.Namespace + ".svc:8443"
	}
	o.KeybrokerCA = getenv(envKeybrokerCA)
	return o, o.validate()
}
