// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundlejob

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/pki"
)

// peers are the processes of the installation that this one calls.
type peers struct {
	broker *client.Client
	store  *bundle.Client
}

// withPeers gets a certificate, by which the store knows this process, and returns what act does.
func withPeers(ctx context.Context, o *Options, log *slog.Logger, act func(context.Context, peers) (bundle.Outcome, error)) (none bundle.Outcome, err error) {
	broker, err := client.New(client.Config{URL: o.KeybrokerURL, CAPEM: []byte(o.KeybrokerCA), TokenFile: o.TokenFile, Log: log})
	if err != nil {
		return none, fmt.Errorf("keybroker: %w", err)
	}
	source := client.NewSource(broker, clock.System{})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = source.Run(ctx) // It ends with ctx, which is no error.
	}()
	defer func() {
		cancel()
		<-ended
	}()
	select {
	case <-source.FirstReady():
	case <-time.After(certificateTimeout):
		return none, errors.New("the keybroker issues no certificate: its log and the lines above have the reason")
	case <-ctx.Done():
		return none, ctx.Err()
	}
	store, err := bundle.NewClient(o.StoreURL, func() *tls.Config { return source.ClientTLS(pki.StoreURI()) })
	if err != nil {
		return none, err
	}
	defer store.Close()
	return act(ctx, peers{broker, store})
}

// put uploads a bundle to the store.
func (p peers) put(ctx context.Context, record *bundle.Record, content io.Reader) error {
	err := p.store.Put(ctx, record, content)
	if e, ok := errors.AsType[*bundle.StoreError](err); ok && e.Status == http.StatusRequestEntityTooLarge {
		return &bundle.Failure{Code: bundle.TooLarge, Message: e.Detail}
	}
	if err != nil {
		return fmt.Errorf("upload the bundle: %w", err)
	}
	return nil
}
