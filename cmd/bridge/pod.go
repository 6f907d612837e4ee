// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"

	"github.com/spf13/cobra"
)

// newPod returns the command that is the process of one user's pod.
func newPod(getenv func(string) string) *cobra.Command {
	o := Defaults()
	c := &cobra.Command{
		Use:   "pod",
		Short: "Serve one user's servers in a cluster",
		Long:  "Serve one user's servers in a cluster. The operator starts it; only the ingress may call it.",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.ReadEnv(getenv)
			if err := o.Validate(); err != nil {
				return err
			}
			log := slog.New(slog.NewJSONHandler(c.ErrOrStderr(), &slog.HandlerOptions{Level: o.level}))
			if err := harden(); err != nil {
				log.Warn("the process's memory is less protected than it should be", "error", err)
			}
			return run(c.Context(), o, log)
		},
	}
	o.RegisterFlags(c.Flags())
	return c
}
