// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/setting"
	"github.com/hostedbridge/hostedbridge/test/docs"
)

func TestTheReferenceHasEveryFlag(t *testing.T) {
	all := []docs.Command{{Name: "keybroker", Summary: "Issues certificates, and seals and opens users' secrets.", Flags: new(Options).Declare("").FlagSet}}
	for _, name := range slices.Sorted(maps.Keys(commands())) {
		s, c := setting.New(name, ""), commands()[name]
		c.prepare(&Options{}, s)
		all = append(all, docs.Command{Name: "keybroker " + name, Summary: c.summary, Flags: s.FlagSet})
	}
	docs.ExpectFlags(t, "keybroker", all)
}

// shipped returns the settings without flags.
func shipped() (o Options) {
	o.Declare("")
	return o
}
