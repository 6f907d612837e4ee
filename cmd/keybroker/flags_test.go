// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/test/docs"
)

func TestTheReferenceHasEveryFlag(t *testing.T) {
	o, fs := Defaults(), pflag.NewFlagSet("keybroker", pflag.ContinueOnError)
	o.RegisterFlags(fs)
	all := []docs.Command{{Name: "keybroker", Summary: "Issues certificates, and seals and opens users' secrets.", Flags: fs}}
	for _, name := range slices.Sorted(maps.Keys(commands())) {
		o, fs, c := Defaults(), pflag.NewFlagSet(name, pflag.ContinueOnError), commands()[name]
		c.prepare(&o, fs)
		all = append(all, docs.Command{Name: "keybroker " + name, Summary: c.summary, Flags: fs})
	}
	docs.ExpectFlags(t, "keybroker", all)
}
