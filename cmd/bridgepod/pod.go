// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/hostedbridge/hostedbridge/internal/harden"
)

// newPod returns the command that is the process of one user's pod.
func newPod(getenv func(string) string) command {
	o := Defaults()
	c := newCommand("pod", "Serve one user's servers in a cluster. The operator starts it; only the ingress may call it.")
	o.RegisterFlags(c.flags)
	c.run = func(ctx context.Context, stderr io.Writer) error {
		o.ReadEnv(getenv)
		if err := o.Validate(); err != nil {
			return err
		}
		log := slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: o.level}))
		if err := harden.Process(); err != nil {
			log.Warn("the process's memory is less protected than it should be", "error", err)
		}
		return run(ctx, o, log)
	}
	return c
}
