// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bridge joins MCP servers at one place, on a person's own machine, for
// that person's clients.
package main

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hostedbridge/hostedbridge/internal/laptop/commands"
)

func main() {
	if !hasRoots(cmp.Or(os.Getenv("SSL_CERT_FILE"), systemRoots)) {
		x509.SetFallbackRoots(publicRoots())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	code := execute(ctx, commands.New(), os.Args[1:])
	stop()
	os.Exit(code)
}

// execute runs a command and returns the exit code.
func execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if !errors.Is(err, commands.ErrSilent) {
		root.PrintErrln("bridge:", err)
	}
	return 1
}
