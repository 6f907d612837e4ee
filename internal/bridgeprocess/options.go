// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bridgeprocess is the process of one user's pod: a bridge that only the ingress may call, with a
// certificate and the user's secrets from the keybroker.
package bridgeprocess

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/setting"
)

// Options are the process's settings. Those with a flag are explained where it is declared.
type Options struct {
	Listen, ProbeListen     string
	KeybrokerURL, TokenFile string
	// KeybrokerCA is the keybroker's CA certificate as PEM. It is public, and as a variable of the
	// environment a change of it restarts the pod.
	KeybrokerCA string
	// DrainDelay is how long new calls are still taken after SIGTERM: the
	// ingress hears that the pod ends at about the same time, and what it has
	// sent by then must find a listener.
	DrainDelay time.Duration
	// DrainTimeout is how long calls in flight may take to end on SIGTERM. Together with the
	// delay before and the closing of connections it fits into the 30 s that Kubernetes gives a
	// pod by default.
	DrainTimeout              time.Duration
	ConfigFile                string
	TerminationLog            string
	BundlesURL, BundlesFolder string

	config bridgeconfig.Config
	// configBytes is the file that config was read from.
	configBytes []byte
}

// Declare declares the settings of a bridge in a cluster.
func (o *Options) Declare(s *setting.Set, getenv func(string) string) {
	// A watch event is there after some milliseconds; a bridge that was
	// deleted should not make its successor wait.
	o.DrainDelay, o.DrainTimeout = time.Second, 20*time.Second
	s.String(&o.Listen, "listen", ":8443", "address that serves MCP and /health to the ingress over mutual TLS", setting.Required)
	s.String(&o.ProbeListen, "probe-listen", ":8081", "address that serves /healthz, /readyz and /metrics", setting.Required)
	s.String(&o.KeybrokerURL, "keybroker-url", "https://hosted-bridge-keybroker.hosted-bridge-system.svc:8443", "keybroker that issues the bridge's certificate", setting.Required)
	s.String(&o.TokenFile, "token-file", "/etc/hosted-bridge/token", "projected service account token for the keybroker", setting.Required)
	s.String(&o.ConfigFile, "config-file", "/etc/hosted-bridge/config.json", "file with the bridge's configuration, which is read again when it changes")
	s.String(&o.TerminationLog, "termination-log", "", "container's termination message file, to note in it the server that most likely ends the process; empty for none")
	s.String(&o.BundlesURL, "bundles-url", "", "URL at which the installation's store has the bundles of programs; empty for none")
	s.String(&o.BundlesFolder, "bundles-folder", "", "folder into which bundles are fetched; the containers of programs mount it for reading")
	s.Env(&o.KeybrokerCA, "KEYBROKER_CA", "the keybroker's certificate in PEM", getenv)
	s.Check(o.readConfig)
	s.Check(func() error {
		if (o.BundlesURL == "") != (o.BundlesFolder == "") {
			return errors.New("--bundles-url: --bundles-folder belongs to it, and one is empty; give both or none")
		}
		return nil
	})
}

func (o *Options) readConfig() (err error) {
	if o.configBytes, err = os.ReadFile(o.ConfigFile); err != nil {
		return fmt.Errorf("--config-file: %w", err)
	}
	if o.config, err = bridgeconfig.Parse(o.configBytes); err != nil {
		return fmt.Errorf("--config-file: %w", err)
	}
	return nil
}
