// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// module returns the path of a file of the packages in node_modules.
func module(t *testing.T, file string) string {
	t.Helper()
	return must.Value(filepath.Abs(filepath.Join("node_modules", filepath.FromSlash(file))))(t)
}

// nodeProgram returns the node to run: the one pinned beside the packages, which is for
// Linux; elsewhere the machine's must do.
func nodeProgram(t *testing.T) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	pinned := module(t, "node-"+runtime.GOOS+"-"+arch+"/bin/node")
	if _, err := os.Stat(pinned); err != nil {
		return "node"
	}
	return pinned
}
