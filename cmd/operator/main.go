// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command operator creates the objects that the bridge of each HostedBridge
// needs. It holds no secrets: those are sealed and opened by the keybroker.
// "operator profiles diff" says what BridgeProfiles would change.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hostedbridge/hostedbridge/internal/tenant/profilediff"
	"github.com/hostedbridge/hostedbridge/internal/version"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "profiles" {
		os.Exit(runProfiles(os.Args[2:]))
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	var o Options
	flags := o.Declare()
	var said bool
	flags.Bool(&said, "version", false, "say which version this is, and end")
	err := flags.Parse(os.Args[1:])
	if said && err == nil {
		fmt.Println(version.String())
		return
	}
	if errors.Is(err, pflag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(2)
	}
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	klog.SetSlogLogger(log)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, o, log); err != nil {
		log.Error("operator ends", "error", err)
		stop()
		os.Exit(1)
	}
}

// runProfiles runs the command and returns its exit code, which is as of "kubectl diff".
func runProfiles(args []string) int {
	ctrl.SetLogger(logr.Discard())
	switch err := profilediff.Run(context.Background(), args, os.Stdin, os.Stdout, os.Stderr); {
	case err == nil, errors.Is(err, pflag.ErrHelp):
		return 0
	case errors.Is(err, profilediff.ErrChanges):
		return 1
	default:
		fmt.Fprintln(os.Stderr, "operator:", err)
		return 2
	}
}
