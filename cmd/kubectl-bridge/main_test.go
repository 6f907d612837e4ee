// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hostedbridge/hostedbridge/internal/tenant/plugin"
	"github.com/hostedbridge/hostedbridge/test/docs"
)

func TestTheReferenceHasEveryFlag(t *testing.T) {
	root := plugin.New(plugin.Terminal{})
	docs.ExpectFlags(t, "kubectl-bridge", append([]docs.Command{{Name: root.CommandPath(), Summary: root.Short + ".", Flags: root.PersistentFlags()}}, commandsOf(root)...))
}

// commandsOf returns the commands below one that people type.
func commandsOf(c *cobra.Command) (all []docs.Command) {
	for _, sub := range c.Commands() {
		if sub.Runnable() {
			all = append(all, docs.Command{Name: sub.CommandPath(), Summary: sub.Short + ".", Flags: sub.LocalNonPersistentFlags()})
		}
		all = append(all, commandsOf(sub)...)
	}
	return all
}

func TestAFailureEndsWithACodeAndOneLine(t *testing.T) {
	var out, problems bytes.Buffer
	code := execute(t.Context(), []string{"list", "--kubeconfig=/nowhere"}, plugin.Terminal{Out: &out, Err: &problems})
	if code != 1 || !strings.HasPrefix(problems.String(), "error: read the kubeconfig") || strings.Count(problems.String(), "\n") != 1 || out.Len() > 0 {
		t.Errorf("code %d, %q, %q", code, &out, &problems)
	}
	if code := execute(t.Context(), []string{"--version"}, plugin.Terminal{Out: &out, Err: &problems}); code != 0 || out.Len() == 0 {
		t.Errorf("code %d, %q", code, &out)
	}
}
