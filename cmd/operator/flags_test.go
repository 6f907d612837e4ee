// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/tenant/profilediff"
	"github.com/hostedbridge/hostedbridge/test/docs"
)

func TestTheReferenceHasEveryFlag(t *testing.T) {
	docs.ExpectFlags(t, "operator", []docs.Command{
		{Name: "operator", Summary: "Makes a pod of each HostedBridge, and accepts the catalog's recipes.", Flags: new(Options).Declare().FlagSet},
		{Name: "operator profiles diff", Summary: "Says what BridgeProfiles would change before they are applied.", Flags: new(profilediff.Options).Declare().FlagSet},
	})
}
