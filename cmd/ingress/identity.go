// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/route/snapshot"
	"github.com/hostedbridge/hostedbridge/internal/route/snapshot/disk"
)

// caName and caKey are where the keybroker publishes its certificate.
const (
	caName = "hosted-bridge-ca"
	caKey  = "ca.crt"
)

// caInterval is how often the certificate is looked for at a first start,
// when ingress and keybroker begin at the same time.
const caInterval = time.Second

// identity is the certificate of this process: none until the keybroker
// has published its CA and has issued one, or the one that an earlier process has
// left.
type identity struct {
	options options
	config  *rest.Config
	log     *slog.Logger
	// kept outlives the process; nil where nothing does.
	kept     *disk.Directory
	restored *trusted
	source   atomic.Pointer[client.Source]
	// secrets and login become known with the source.
	secrets userSecrets
	login   signingKeys
}

// trusted is a source of certificates with the CA by which it knows others.
type trusted struct {
	ca     []byte
	broker *client.Client
	source *client.Source
}

// ClientTLS returns a configuration for the server with that URI, nil while there is none.
func (i *identity) ClientTLS(server *url.URL) *tls.Config {
	source := i.source.Load()
	if source == nil {
		return nil
	}
	return source.ClientTLS(server)
}

// storeTLS returns a configuration for the installation's store, nil while there
// is none.
func (i *identity) storeTLS() *tls.Config { return i.ClientTLS(pki.StoreURI()) }

// ready reports whether there is a certificate that has not expired.
func (i *identity) ready() bool {
	source := i.source.Load()
	return source != nil && source.Ready()
}

// expiry returns when the certificate ends, zero while there is none.
func (i *identity) expiry() time.Time {
	if source := i.source.Load(); source != nil {
		return source.Expiry()
	}
	return time.Time{}
}

// restore begins with the certificate that an earlier process has left, if it
// is still good.
func (i *identity) restore() {
	if i.kept == nil {
		return
	}
	pair, err := i.kept.Credentials()
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var t *trusted
	if err == nil {
		t, err = i.trust(pair.CA)
	}
	if err == nil {
		err = t.source.Restore(pair.Chain, pair.Key, pki.IngressURI())
	}
	if err != nil {
		i.log.Warn("the kept certificate is not used", "error", err)
		return
	}
	i.restored = t
	i.use(t)
}

func (i *identity) trust(ca []byte) (*trusted, error) {
	broker, err := client.New(client.Config{
		URL: i.options.KeybrokerURL, CAPEM: ca, TokenFile: i.options.TokenFile, Log: i.log,
	})
	if err != nil {
		return nil, fmt.Errorf("keybroker: %w", err)
	}
	return &trusted{ca, broker, client.NewSource(broker, clock.System{})}, nil
}

func (i *identity) use(t *trusted) {
	i.source.Store(t.source)
	i.secrets.known.Store(client.NewUserSecrets(t.broker, t.source))
	i.login.use(client.NewLogin(t.broker, t.source), t.source.FirstReady())
}

// run keeps the certificate fresh until ctx ends.
func (i *identity) run(ctx context.Context) error {
	if i.restored == nil {
		return i.runPublished(ctx)
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- i.renew(working, i.restored) }()
	ca, err := i.awaitCA(ctx)
	if err == nil && (ctx.Err() != nil || bytes.Equal(ca, i.restored.ca)) {
		return <-ended
	}
	stop()
	if err := errors.Join(err, <-ended); err != nil {
		return err
	}
	i.log.WarnContext(ctx, "the keybroker has another certificate than the kept one")
	return i.runWith(ctx, ca)
}

// runPublished is run where nothing was kept.
func (i *identity) runPublished(ctx context.Context) error {
	ca, err := i.awaitCA(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	return i.runWith(ctx, ca)
}

func (i *identity) runWith(ctx context.Context, ca []byte) error {
	t, err := i.trust(ca)
	if err != nil {
		return err
	}
	i.use(t)
	return i.renew(ctx, t)
}

// renew asks for new certificates and keeps each, until ctx ends.
func (i *identity) renew(ctx context.Context, t *trusted) error {
	if i.kept == nil {
		return t.source.Run(ctx)
	}
	var keeping sync.WaitGroup
	defer keeping.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	keeping.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.source.Renewed():
			}
			if err := i.keep(t); err != nil {
				i.log.ErrorContext(ctx, "the certificate is not kept for a restart", "error", err)
			}
		}
	})
	return t.source.Run(ctx)
}

// keep leaves the newest certificate for the process after this one.
func (i *identity) keep(t *trusted) error {
	chain, key, err := t.source.Export()
	if err != nil {
		return err
	}
	return i.kept.KeepCredentials(snapshot.Pair{CA: t.ca, Chain: chain, Key: key})
}

// awaitCA returns the keybroker's certificate as soon as it is published, or
// nothing when ctx ends before. It is read through the API and not from a
// mounted volume, because the kubelet shows changes of those a minute late.
func (i *identity) awaitCA(ctx context.Context) ([]byte, error) {
	api, err := kubernetes.NewForConfig(i.config)
	if err != nil {
		return nil, fmt.Errorf("make the client: %w", err)
	}
	ticker := time.NewTicker(caInterval)
	defer ticker.Stop()
	for said := ""; ; {
		config, err := api.CoreV1().ConfigMaps(i.options.Namespace).Get(ctx, caName, metav1.GetOptions{})
		if err == nil && config.Data[caKey] != "" {
			return []byte(config.Data[caKey]), nil
		}
		if err == nil {
			err = fmt.Errorf("%s has no %s yet", caName, caKey)
		}
		if ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			i.log.WarnContext(ctx, "waiting for the keybroker's certificate", "namespace", i.options.Namespace, "configMap", caName, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-ticker.C:
		}
	}
}
