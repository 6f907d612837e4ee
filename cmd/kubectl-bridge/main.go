// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-bridge is a plugin of kubectl: "kubectl bridge" looks after users' bridges.
package main

import (
	"context"
	"crypto/rand"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/term"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/hostedbridge/hostedbridge/internal/tenant/plugin"
)

func main() {
	log.SetLogger(logr.Discard()) // What is wrong is in the errors.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	code := execute(ctx, os.Args[1:], plugin.Terminal{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Interactive: term.IsTerminal(int(os.Stdin.Fd())), Random: rand.Reader, Now: time.Now,
	})
	stop()
	os.Exit(code)
}

// execute runs a command and returns the exit code.
func execute(ctx context.Context, args []string, t plugin.Terminal) int {
	root := plugin.New(t) //nolint:contextcheck // A command has the context of ExecuteContext.
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		root.PrintErrln("error:", err)
		return 1
	}
	return 0
}
