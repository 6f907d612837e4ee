// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !testenv

package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"keybroker": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata"})
}

func TestDefaultsAreValid(t *testing.T) {
	var o Options
	if err := o.Declare("").Parse(nil); err != nil {
		t.Error(err)
	}
}
