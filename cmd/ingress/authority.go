// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
)

// caName and caKey are where the keybroker publishes its certificate.
const (
	caName = "hosted-bridge-ca"
	caKey  = "ca.crt"
)

// caInterval is how often the certificate is looked for at a first start,
// when ingress and keybroker begin at the same time.
const caInterval = time.Second

// credentials are the certificates of this process: none until the keybroker
// has published by what it is known and has issued one.
type credentials struct {
	options options
	config  *rest.Config
	log     *slog.Logger
	source  atomic.Pointer[client.Source]
	// secrets become known with the source.
	secrets userSecrets
}

// ClientTLS returns a configuration for a bridge, nil while there is none.
func (c *credentials) ClientTLS(bridge *url.URL) *tls.Config {
	source := c.source.Load()
	if source == nil {
		return nil
	}
	return source.ClientTLS(bridge)
}

// ready reports whether there is a certificate that has not expired.
func (c *credentials) ready() bool {
	source := c.source.Load()
	return source != nil && source.Ready()
}

// run keeps the certificate fresh until ctx ends.
func (c *credentials) run(ctx context.Context) error {
	ca, err := c.awaitCA(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	broker, err := client.New(client.Config{
		URL: c.options.KeybrokerURL, CAPEM: ca, TokenFile: c.options.TokenFile, Log: c.log,
	})
	if err != nil {
		return fmt.Errorf("keybroker: %w", err)
	}
	source := client.NewSource(broker, clock.System{})
	c.source.Store(source)
	c.secrets.known.Store(client.NewUserSecrets(broker, source))
	return source.Run(ctx)
}

// awaitCA returns the keybroker's certificate as soon as it is published, or
// nothing when ctx ends before. It is read through the API and not from a
// mounted volume, because the kubelet shows changes of those a minute late.
func (c *credentials) awaitCA(ctx context.Context) ([]byte, error) {
	api, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	ticker := time.NewTicker(caInterval)
	defer ticker.Stop()
	for said := ""; ; {
		config, err := api.CoreV1().ConfigMaps(c.options.Namespace).Get(ctx, caName, metav1.GetOptions{})
		if err == nil && config.Data[caKey] != "" {
			return []byte(config.Data[caKey]), nil
		}
		if err == nil {
			err = fmt.Errorf("%s has no %s yet", caName, caKey)
		}
		if ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			c.log.WarnContext(ctx, "waiting for the keybroker's certificate", "namespace", c.options.Namespace, "configMap", caName, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-ticker.C:
		}
	}
}
