// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load || testenv

// Package load puts an installation without nodes under load: a real API
// server, keybroker and ingresses as processes, bridges on loopback addresses,
// of which a few are real, and the test in the place of the operator and the
// kubelet.
package load

import (
	"os"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }
