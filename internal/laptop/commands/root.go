// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package commands has what a person does with a bridge on their own machine: the commands of the
// program bridge.
package commands

import (
	"github.com/spf13/cobra"

	"github.com/hostedbridge/hostedbridge/internal/setting"
	"github.com/hostedbridge/hostedbridge/internal/version"
)

// settings returns the settings of a command, which are checked before it runs.
func settings(c *cobra.Command) *setting.Set {
	s := &setting.Set{FlagSet: c.Flags()}
	c.PreRunE = func(*cobra.Command, []string) error { return s.Validate() }
	return s
}

// New returns the program with all its commands. Without one it serves over
// stdio, as clients start it.
func New() *cobra.Command {
	var o serveOptions
	root := &cobra.Command{
		Use:           "bridge",
		Short:         "Join MCP servers at one place",
		Version:       version.String(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          o.run,
	}
	o.register(root)
	root.AddCommand(newInit(), newSearch(), newList(), newAdd(), newRemove(), newForget(), newBundle(), newKeys(), newSign(), newSecret(), newStatus(), newCall(), newLogin(), newServe())
	return root
}
