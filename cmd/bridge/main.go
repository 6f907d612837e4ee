// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bridge is the process of one user's pod: it joins that user's MCP
// servers at one URL, which only the ingress may call.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	// An image without CA certificates still trusts the public ones.
	_ "golang.org/x/crypto/x509roots/fallback"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := start(ctx, os.Args[1:], os.Getenv); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "bridge:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, args []string, getenv func(string) string) error {
	o := Defaults()
	flags := pflag.NewFlagSet("bridge", pflag.ContinueOnError)
	o.RegisterFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	o.ReadEnv(getenv)
	if err := o.Validate(); err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: o.level}))
	if err := harden(); err != nil {
		log.Warn("the process's memory is less protected than it should be", "error", err)
	}
	return run(ctx, o, log)
}
