// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command keybroker is the one process of an installation with the master key:
// it gives ingress and bridges their certificates, seals users' secrets, and
// opens them for the pod of their own bridge.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	os.Exit(execute(ctx, os.Args[1:], os.Stderr))
}

// execute runs the command and returns its exit code.
func execute(ctx context.Context, args []string, stderr io.Writer) int {
	o := Defaults()
	flags := pflag.NewFlagSet("keybroker", pflag.ContinueOnError)
	flags.SetOutput(stderr)
	o.RegisterFlags(flags)
	err := flags.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	if err = errors.Join(err, o.Validate()); err == nil {
		err = run(ctx, o, stderr)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "keybroker:", err)
		return 1
	}
	return 0
}
