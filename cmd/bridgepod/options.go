// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
)

// envKeybrokerCA is the environment variable with the keybroker's CA
// certificate as PEM. It is public, and as a variable a change of it restarts
// the pod.
const envKeybrokerCA = "KEYBROKER_CA"

// Options are the process's settings.
type Options struct {
	// Listen serves MCP and health to the ingress, over mutual TLS.
	Listen string
	// ProbeListen serves the kubelet's probes.
	ProbeListen string
	// KeybrokerURL and TokenFile are how the process gets its certificate.
	KeybrokerURL string
	TokenFile    string
	// DrainDelay is how long new calls are still taken after SIGTERM: the
	// ingress hears that the pod ends at about the same time, and what it has
	// sent by then must find a listener.
	DrainDelay time.Duration
	// DrainTimeout is how long calls in flight may take to end.
	DrainTimeout time.Duration
	// ConfigFile holds the bridge's configuration. Changes of it are taken
	// without a restart.
	ConfigFile string
	// TerminationLog is the container's termination message file, in which the
	// process notes the server that most likely ends it. Empty notes nothing.
	TerminationLog string
	// BundlesURL is where the installation's store has the files of programs, and BundlesFolder
	// the folder in which programs find them. Both are empty for a pod that needs none.
	BundlesURL, BundlesFolder string
	// LogLevel is debug, info, warn or error.
	LogLevel string

	// KeybrokerCA comes from the environment.
	KeybrokerCA string

	config mcpserver.Config
	// configBytes is the file that config was read from.
	configBytes []byte
	level       slog.Level
}

// Defaults returns the settings of a bridge in a cluster.
func Defaults() Options {
	return Options{
		Listen:       ":8443",
		ProbeListen:  ":8081",
		KeybrokerURL: "https://hosted-bridge-keybroker.hosted-bridge-system.svc:8443",
		TokenFile:    "/etc/hosted-bridge/token",
		// A watch event is there after some milliseconds; a bridge that was
		// deleted should not make its successor wait.
		DrainDelay: time.Second,
		// Together with the delay and the closing of connections it fits into
		// the 30 s that Kubernetes gives a pod by default.
		DrainTimeout: 20 * time.Second,
		ConfigFile:   "/etc/hosted-bridge/config.json",
		LogLevel:     "info",
	}
}

// RegisterFlags makes the settings flags.
func (o *Options) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Listen, "listen", o.Listen, "address that serves MCP and /health to the ingress over mutual TLS")
	fs.StringVar(&o.ProbeListen, "probe-listen", o.ProbeListen, "address that serves /healthz, /readyz and /metrics")
	fs.StringVar(&o.KeybrokerURL, "keybroker-url", o.KeybrokerURL, "keybroker that issues the bridge's certificate")
	fs.StringVar(&o.TokenFile, "token-file", o.TokenFile, "projected service account token for the keybroker")
	fs.DurationVar(&o.DrainDelay, "drain-delay", o.DrainDelay, "how long new calls are still accepted after SIGTERM")
	fs.DurationVar(&o.DrainTimeout, "drain-timeout", o.DrainTimeout, "how long calls in flight may take to end on SIGTERM")
	fs.StringVar(&o.ConfigFile, "config-file", o.ConfigFile, "file with the bridge's configuration, which is read again when it changes")
	fs.StringVar(&o.TerminationLog, "termination-log", o.TerminationLog, "container's termination message file, to note in it the server that most likely ends the process; empty for none")
	fs.StringVar(&o.BundlesURL, "bundles-url", o.BundlesURL, "URL at which the installation's store has the bundles of programs; empty for none")
	fs.StringVar(&o.BundlesFolder, "bundles-folder", o.BundlesFolder, "folder into which bundles are fetched; the containers of programs mount it for reading")
	fs.StringVar(&o.LogLevel, "log-level", o.LogLevel, "debug, info, warn or error")
}

// ReadEnv takes what the operator passes by environment.
func (o *Options) ReadEnv(getenv func(string) string) {
	o.KeybrokerCA = getenv(envKeybrokerCA)
}

// Validate reports what is wrong with the settings, all of it at once.
func (o *Options) Validate() error {
	var errs []error
	for name, value := range map[string]string{
		"--listen":        o.Listen,
		"--probe-listen":  o.ProbeListen,
		"--keybroker-url": o.KeybrokerURL,
		"--token-file":    o.TokenFile,
		envKeybrokerCA:    o.KeybrokerCA,
	} {
		if value == "" {
			errs = append(errs, fmt.Errorf("%s must not be empty", name))
		}
	}
	if o.DrainDelay < 0 || o.DrainTimeout < 0 {
		errs = append(errs, errors.New("--drain-delay and --drain-timeout must not be negative"))
	}
	if (o.BundlesURL == "") != (o.BundlesFolder == "") {
		errs = append(errs, errors.New("--bundles-url and --bundles-folder go together: give both or none"))
	}
	if err := o.level.UnmarshalText([]byte(o.LogLevel)); err != nil {
		errs = append(errs, fmt.Errorf("--log-level %.20q must be debug, info, warn or error", o.LogLevel))
	}
	if err := o.readConfig(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (o *Options) readConfig() (err error) {
	if o.configBytes, err = os.ReadFile(o.ConfigFile); err != nil {
		return fmt.Errorf("--config-file: %w", err)
	}
	if o.config, err = mcpserver.Parse(o.configBytes); err != nil {
		return fmt.Errorf("--config-file: %w", err)
	}
	return nil
}
