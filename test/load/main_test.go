// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load || testenv

// Package load puts an installation without nodes under load: a real API
// server, keybroker and ingresses as processes, bridges on loopback addresses,
// of which a few are real, and the test in the place of the operator and the
// kubelet.
package load

import (
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// programDir is where the programs are built.
var programDir string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	var err error
	if programDir, err = os.MkdirTemp("", "load"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(programDir) //nolint:errcheck // It is the system's folder for what may stay behind.
	return testenv.Main(m)
}
