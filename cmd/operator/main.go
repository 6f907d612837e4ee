// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command operator makes of each HostedBridge the objects that its bridge
// needs. It holds no secrets: those are sealed and opened by the keybroker.
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

	"github.com/hostedbridge/hostedbridge/internal/version"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	o := Defaults()
	flags := pflag.NewFlagSet("operator", pflag.ContinueOnError)
	o.RegisterFlags(flags)
	said := flags.Bool("version", false, "say which version this is, and end")
	err := flags.Parse(os.Args[1:])
	if *said && err == nil {
		fmt.Println(version.String())
		return
	}
	if errors.Is(err, pflag.ErrHelp) {
		return
	}
	if err = errors.Join(err, o.Validate()); err != nil {
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
