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
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hostedbridge/hostedbridge/test/postgresserver"
	"github.com/hostedbridge/hostedbridge/test/redisserver"
)

// postgres is started by the way that wants it.
var postgres postgresserver.Server

// interrupted ends when the run is interrupted. What a test then has started it
// ends itself, the API server too, which is in no group with this process.
var interrupted context.Context

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	var stop context.CancelFunc
	interrupted, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := m.Run()
	stop()
	postgres.Remove()
	os.Exit(code)
}

// number returns a number from the environment, or what it is without.
func number(t *testing.T, name string, without int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return without
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s = %q must be a number of 1 or more", name, text)
	}
	return n
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
	program *program
	do      doer
	// file is SQLite's, empty for none.
	file string
}

// TestLogins logs in at each way, at the target's rate and then at twice the rate
// as long as the way keeps up.
func TestLogins(t *testing.T) {
	d := time.Duration(number(t, "BENCH_SECONDS", 60)) * time.Second
	w := newWorld(t)
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
		{"hosted-bridge, PostgreSQL", func(t *testing.T) way { return w.ours(t, "postgres:"+w.secret(t, "postgres", postgres.Database(t))) }},
		{"hosted-bridge, Redis", func(t *testing.T) way { return w.ours(t, "redis:"+w.secret(t, "redis", startRedis(t))) }},
		{"oidc-provider " + peerVersion(t), w.peer},
	} {
		t.Run(of.name, func(t *testing.T) {
			if interrupted.Err() != nil {
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

// startRedis starts one that keeps what it has, as the chart's notes ask for.
func startRedis(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if _, err := exec.LookPath("valkey-server"); err != nil {
			t.Skip("there is no Redis on this machine: hack/install-deps.sh installs it") //nolint:forbidigo // It is a server; the others are measured.
		}
	}
	return redisserver.Start(t, "--appendonly", "yes", "--dir", t.TempDir()).URL()
}

// warmUp logs people in, one after the other.
func (w way) warmUp(t *testing.T) {
	t.Helper()
	for i := range warm {
		if _, err := w.do.login(interrupted, i%people); err != nil {
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
		measured := run(interrupted, w.do, rate, d)
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
