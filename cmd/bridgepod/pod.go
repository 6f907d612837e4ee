// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/hostedbridge/hostedbridge/internal/bridgeprocess"
	"github.com/hostedbridge/hostedbridge/internal/harden"
)

// newPod returns the command that is the process of one user's pod.
func newPod(getenv func(string) string) command {
	var o bridgeprocess.Options
	c := newCommand("pod", "Serve one user's servers in a cluster. The operator starts it; only the ingress may call it.")
	o.Declare(c.settings, getenv)
	c.run = func(ctx context.Context, stderr io.Writer) error {
		log := slog.New(slog.NewJSONHandler(stderr, nil))
		if err := harden.Process(); err != nil {
			log.Warn("the process's memory is less protected than it should be", "error", err)
		}
		return bridgeprocess.Run(ctx, o, log)
	}
	return c
}
