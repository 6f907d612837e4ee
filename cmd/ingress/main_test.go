// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !testenv

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ingress": main})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			// A kubectl of the script's own, where it brings one.
			bin := filepath.Join(e.WorkDir, "bin")
			e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
			kubectl := filepath.Join(bin, "kubectl")
			if _, err := os.Stat(kubectl); err != nil {
				return nil
			}
			return os.Chmod(kubectl, 0o755)
		},
	})
}
