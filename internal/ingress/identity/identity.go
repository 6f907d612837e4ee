// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package identity is the certificate of the ingress, and what it asks the keybroker with it.
package identity

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

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/route/snapshot"
)

// caInterval is how often the certificate is looked for at a first start,
// when ingress and keybroker begin at the same time.
const caInterval = time.Second

// Options say who the keybroker is.
type Options struct {
	KeybrokerURL, TokenFile string
	// PublishedCA returns the keybroker's certificate in PEM. Its error says why the keybroker has not published it yet.
	PublishedCA func(context.Context) ([]byte, error)
	// Kept outlives the process; nil where nothing does.
	Kept *snapshot.Directory
	Log  *slog.Logger
}

// Identity is the certificate of this process: none until the keybroker
// has published its CA and has issued one, or the one that an earlier process has
// left.
type Identity struct {
	// Secrets and Login become known with the certificate.
	Secrets UserSecrets
	Login   SigningKeys

	options  Options
	restored *trusted
	source   atomic.Pointer[client.Source]
}

// New returns the identity, with the certificate that an earlier process has left, if it is still good.
func New(o Options) *Identity {
	i := &Identity{options: o}
	i.restore()
	return i
}

// trusted is a source of certificates with the CA by which it knows others.
type trusted struct {
	ca     []byte
	broker *client.Client
	source *client.Source
}

// ClientTLS returns a configuration for the server with that URI, nil before the first certificate.
func (i *Identity) ClientTLS(server *url.URL) *tls.Config {
	source := i.source.Load()
	if source == nil {
		return nil
	}
	return source.ClientTLS(server)
}

// StoreTLS returns a configuration for the installation's store, nil before the
// first certificate.
func (i *Identity) StoreTLS() *tls.Config { return i.ClientTLS(pki.StoreURI()) }

// Ready reports whether there is a certificate that has not expired.
func (i *Identity) Ready() bool {
	source := i.source.Load()
	return source != nil && source.Ready()
}

// Expiry returns when the certificate ends, zero before the first one.
func (i *Identity) Expiry() time.Time {
	if source := i.source.Load(); source != nil {
		return source.Expiry()
	}
	return time.Time{}
}

// restore begins with the certificate that an earlier process has left, if it
// is still good.
func (i *Identity) restore() {
	if i.options.Kept == nil {
		return
	}
	pair, err := i.options.Kept.Credentials()
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
		i.options.Log.Warn("the kept certificate is not used", "error", err)
		return
	}
	i.restored = t
	i.use(t)
}

func (i *Identity) trust(ca []byte) (*trusted, error) {
	broker, err := client.New(client.Config{
		URL: i.options.KeybrokerURL, CAPEM: ca, TokenFile: i.options.TokenFile, Log: i.options.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("keybroker: %w", err)
	}
	return &trusted{ca, broker, client.NewSource(broker, clock.System{})}, nil
}

func (i *Identity) use(t *trusted) {
	i.source.Store(t.source)
	i.Secrets.known.Store(client.NewUserSecrets(t.broker, t.source))
	i.Login.use(client.NewLogin(t.broker, t.source), t.source.FirstReady())
}

// Run keeps the certificate fresh until ctx ends.
func (i *Identity) Run(ctx context.Context) error {
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
	i.options.Log.WarnContext(ctx, "the keybroker has another certificate than the kept one")
	return i.runWith(ctx, ca)
}

// runPublished is Run where nothing was kept.
func (i *Identity) runPublished(ctx context.Context) error {
	ca, err := i.awaitCA(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	return i.runWith(ctx, ca)
}

func (i *Identity) runWith(ctx context.Context, ca []byte) error {
	t, err := i.trust(ca)
	if err != nil {
		return err
	}
	i.use(t)
	return i.renew(ctx, t)
}

// renew asks for new certificates and keeps each, until ctx ends.
func (i *Identity) renew(ctx context.Context, t *trusted) error {
	if i.options.Kept == nil {
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
				i.options.Log.ErrorContext(ctx, "the certificate is not kept for a restart", "error", err)
			}
		}
	})
	return t.source.Run(ctx)
}

// keep leaves the newest certificate for the process after this one.
func (i *Identity) keep(t *trusted) error {
	chain, key, err := t.source.Export()
	if err != nil {
		return err
	}
	return i.options.Kept.KeepCredentials(snapshot.Pair{CA: t.ca, Chain: chain, Key: key})
}

// awaitCA returns the keybroker's certificate as soon as it is published, or
// nothing when ctx ends before.
func (i *Identity) awaitCA(ctx context.Context) ([]byte, error) {
	ticker := time.NewTicker(caInterval)
	defer ticker.Stop()
	for said := ""; ; {
		ca, err := i.options.PublishedCA(ctx)
		if err == nil {
			return ca, nil
		}
		if ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			i.options.Log.WarnContext(ctx, "waiting for the keybroker's certificate", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-ticker.C:
		}
	}
}
