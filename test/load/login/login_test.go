// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

// Package login measures whole logins at the ingress's own authorization server,
// for each of its stores, and beside it at npm's oidc-provider, on one machine, in
// one run. hack/test/bench-login.sh says how.
package login

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/postgresserver"
)

// postgres is started by the way that wants it.
var postgres postgresserver.Server

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	// What a test has started it then ends itself, the API server too.
	var stop context.CancelFunc
	world.Interrupted, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := m.Run()
	stop()
	postgres.Remove()
	os.Exit(code)
}

const (
	// target is how many logins a minute have to be done without a failure.
	target = 1000
	// most is the rate, in logins a minute, after which nothing is asked for.
	most = 64 * target
	// warm is how many logins a way has done before the first that counts: its
	// connections are open, and what it compiles as it runs is compiled.
	warm = 100
)

// way is what people log in at.
type way struct {
	name string
	// ours must reach the target.
	ours    bool
	program *world.Process
	do      doer
	// file is SQLite's, empty for none.
	file string
}

// TestLogins logs in at each way, at the target's rate and then at twice the rate
// as long as the way keeps up.
func TestLogins(t *testing.T) {
	d := time.Duration(world.Number(t, "BENCH_SECONDS", 60)) * time.Second
	w := newTown(t)
	var report table
	for _, of := range []struct {
		name  string
		start func(*testing.T) way
	}{
		{"hosted-bridge, SQLite", func(t *testing.T) way {
			file := filepath.Join(t.TempDir(), "login.db")
			started := w.ours(t, "sqlite:"+file)
			started.file = file
			return started
		}},
		{"hosted-bridge, PostgreSQL", func(t *testing.T) way { return w.ours(t, "postgres:"+w.File(t, "postgres", postgres.Database(t))) }},
		{"oidc-provider " + peerVersion(t), w.peer},
	} {
		t.Run(of.name, func(t *testing.T) {
			if world.Interrupted.Err() != nil {
				t.Fatal("interrupted")
			}
			measured := of.start(t)
			measured.name = of.name
			measured.warmUp(t)
			measured.measure(t, &report, d)
		})
	}
	t.Logf("%d people, each with a bridge; %s at the first rate, %s at each other\n\n%s", people, d, shorter(d), report.String())
}

// warmUp logs people in, one after the other.
func (w way) warmUp(t *testing.T) {
	t.Helper()
	for i := range warm {
		if _, err := w.do.login(world.Interrupted, i%people); err != nil {
			t.Fatalf("login %d: %v", i, err)
		}
	}
}

// shorter is for how long the rates are measured that nobody asks for.
func shorter(d time.Duration) time.Duration { return max(d/4, 5*time.Second) }

// measure adds a row for each rate.
func (w way) measure(t *testing.T, report *table, d time.Duration) {
	t.Helper()
	for rate := target; rate <= most; rate *= 2 {
		if rate > target {
			d = shorter(d)
		}
		before := w.usage(t)
		measured := run(world.Interrupted, w.do, rate, d)
		report.add(w, measured, before, w.usage(t))
		if measured.firstError != nil {
			t.Logf("%d a minute: %d of %d failed, the first: %v", rate, measured.failed, measured.asked, measured.firstError)
		}
		if rate == target && w.ours && measured.failed > 0 {
			t.Errorf("%d a minute: %d of %d failed", rate, measured.failed, measured.asked)
		}
		if !measured.keptUp() {
			break
		}
	}
}
