// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command vault is HashiCorp Vault's server with the transit engine, in memory
// and unsealed, as `vault server -dev` is: for the tests of the transit
// provider alone. It is a module of its own, so that nothing of Vault is in the
// product's dependencies.
//
// It prints one line of JSON, {"address": …, "token": …}, and serves until its
// standard input ends, so that it cannot outlive who started it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/vault/builtin/logical/transit"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/internalshared/configutil"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/physical/inmem"
	"github.com/hashicorp/vault/vault"
)

func main() {
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "vault:", err)
		os.Exit(1)
	}
}

// run serves until in ends.
func run(ctx context.Context, in io.Reader, out io.Writer) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := "http://" + listener.Addr().String()
	core, token, err := start(ctx, address)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{
		Handler: vaulthttp.Handler.Handler(&vault.HandlerProperties{
			Core: core, ListenerConfig: &configutil.Listener{MaxRequestSize: vaulthttp.DefaultMaxRequestSize},
		}),
		ReadHeaderTimeout: time.Minute,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	if err := json.NewEncoder(out).Encode(map[string]string{"address": address, "token": token}); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, in)
	err = errors.Join(server.Close(), core.Shutdown())
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// start returns an unsealed Vault and its root token.
func start(ctx context.Context, address string) (*vault.Core, string, error) {
	log := hclog.New(&hclog.LoggerOptions{Name: "vault", Level: hclog.Warn, Output: os.Stderr})
	storage, err := inmem.NewInmem(nil, log)
	if err != nil {
		return nil, "", fmt.Errorf("make storage: %w", err)
	}
	core, err := vault.NewCore(&vault.CoreConfig{
		Physical:        storage,
		Logger:          log,
		RedirectAddr:    address,
		DisableMlock:    true,
		LogicalBackends: map[string]logical.Factory{engine: transit.Factory},
		BuiltinRegistry: builtins{},
	})
	if err != nil {
		return nil, "", fmt.Errorf("make Vault: %w", err)
	}
	one := &vault.SealConfig{SecretShares: 1, SecretThreshold: 1}
	made, err := core.Initialize(ctx, &vault.InitParams{BarrierConfig: one, RecoveryConfig: one})
	if err != nil {
		return nil, "", fmt.Errorf("initialise Vault: %w", err)
	}
	if _, err := core.Unseal(made.SecretShares[0]); err != nil {
		return nil, "", fmt.Errorf("unseal Vault: %w", err)
	}
	return core, made.RootToken, nil
}
