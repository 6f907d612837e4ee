// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command keybroker is the one process of an installation with the master key:
// it gives ingress and bridges their certificates, seals users' secrets, and
// opens them for the pod of their own bridge. Its subcommands look after the
// master key and what is sealed under it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	os.Exit(execute(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// execute runs the server or a subcommand and returns the exit code: 0 for
// what went well, 1 for what did not, 2 for what was asked wrongly.
func execute(ctx context.Context, args []string, s streams) int {
	if len(args) > 0 && (args[0] == "" || args[0][0] != '-') {
		return executeCommand(ctx, args[0], args[1:], s)
	}
	var o Options
	var said bool
	flags := o.Declare(serverUsage())
	flags.SetOutput(s.err)
	flags.Bool(&said, "version", false, "say which version this is, and end")
	err := flags.Parse(args)
	if said && err == nil {
		_, _ = fmt.Fprintln(s.out, version.String())
		return 0
	}
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	if err != nil {
		_, _ = fmt.Fprintln(s.err, "keybroker:", err)
		return 2
	}
	if err := run(ctx, o, s.err); err != nil {
		_, _ = fmt.Fprintln(s.err, "keybroker:", err)
		return 1
	}
	return 0
}
