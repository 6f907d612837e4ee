// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/hostedbridge/hostedbridge/internal/laptop/commands"
	"github.com/hostedbridge/hostedbridge/test/docs"
)

func TestTheReferenceHasEveryFlag(t *testing.T) {
	t.Parallel()
	docs.ExpectFlags(t, "bridge", commandsOf(commands.New()))
}

// commandsOf returns a command and those below it that people type.
func commandsOf(c *cobra.Command) []docs.Command {
	var all []docs.Command
	if c.Runnable() {
		all = append(all, docs.Command{Name: c.CommandPath(), Summary: c.Short + ".", Flags: c.LocalFlags()})
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			all = append(all, commandsOf(sub)...)
		}
	}
	return all
}
