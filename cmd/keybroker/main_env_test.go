// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"os"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// Beside this TestMain there is no room for that of the scripts, which run
// without the tag.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }
