// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load || testenv

// Package load puts an installation without nodes under load: a real API
// server, keybroker and ingresses as processes, bridges on loopback addresses,
// of which a few are real, and the test in the place of the operator and the
// kubelet.
package load

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// programDir is where the programs are built.
var programDir string

// build builds the programs as they ship, once for all tests.
var build = sync.OnceValue(func() error {
	return world.Build(context.Background(), programDir, "keybroker", "ingress", "bridgepod")
})

// launch starts a program. It is killed at the end of the test at the latest: who
// lets it end in order does so before.
func (i *installation) launch(t *testing.T, name string, cmd *exec.Cmd) *world.Process {
	t.Helper()
	p := world.Follow(t, i.dir, name, cmd, func([]byte) {})
	t.Cleanup(p.Kill)
	return p
}

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
