// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/cmd/operator/profiles"
	"github.com/hostedbridge/hostedbridge/test/docs"
)

func TestTheReferenceHasEveryFlag(t *testing.T) {
	o, fs := Defaults(), pflag.NewFlagSet("operator", pflag.ContinueOnError)
	o.RegisterFlags(fs)
	diff, ofDiff := pflag.NewFlagSet("diff", pflag.ContinueOnError), profiles.Defaults()
	ofDiff.RegisterFlags(diff)
	docs.ExpectFlags(t, "operator", []docs.Command{
		{Name: "operator", Summary: "Makes a pod of each HostedBridge, and accepts the catalog's recipes.", Flags: fs},
		{Name: "operator profiles diff", Summary: "Says what BridgeProfiles would change before they are applied.", Flags: diff},
	})
}
