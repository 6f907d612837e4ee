// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/test/docs"
)

func TestTheReferenceHasEveryFlag(t *testing.T) {
	t.Parallel()
	all := []docs.Command{{
		Name: "/bridge", Summary: "The program of the image `bridge`. It has the following commands, which the operator starts.",
		Flags: pflag.NewFlagSet("", pflag.ContinueOnError),
	}}
	for _, c := range commands() {
		all = append(all, docs.Command{Name: "/bridge " + c.name, Summary: c.summary, Flags: c.settings.FlagSet})
	}
	docs.ExpectFlags(t, "bridgepod", all)
}
