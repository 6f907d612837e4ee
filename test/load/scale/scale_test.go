// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

// Package scale measures the operator, and what else follows all tenants, with
// thousands of HostedBridges on a real control plane whose nodes kwok plays, and
// beside it toolhive's operator with MCPServers. hack/test/bench-scale.sh
// says how.
package scale

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	world.EndAtInterrupt()
	os.Exit(m.Run())
}

// plan is what is to be measured.
type plan struct {
	sizes      []int
	rate       float64
	burst      int
	quiet      time.Duration
	peerSizes  []int
	peerQuiet  time.Duration
	peerBinary string
}

func readPlan(t *testing.T) plan {
	t.Helper()
	p := plan{
		sizes: numbers(t, "SCALE_SIZES", "1000,5000,10000"), rate: float64(numbers(t, "SCALE_RATE", "50")[0]), burst: numbers(t, "SCALE_BURST", "200")[0],
		quiet: duration(t, "SCALE_QUIET", "10m"), peerQuiet: duration(t, "SCALE_PEER_QUIET", "3m"), peerBinary: os.Getenv("SCALE_PEER"),
	}
	p.peerQuiet = min(p.peerQuiet, p.quiet)
	p.peerSizes = numbers(t, "SCALE_PEER_SIZES", "100,500")
	return p
}

func numbers(t *testing.T, name, without string) (all []int) {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		text = without
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || len(all) > 0 && n <= all[len(all)-1] {
			t.Fatalf("%s = %q must be numbers of 1 or more, each larger than the one before", name, text)
		}
		all = append(all, n)
	}
	return all
}

func duration(t *testing.T, name, without string) time.Duration {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		text = without
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		t.Fatalf("%s = %q must be a duration such as 10m", name, text)
	}
	return d
}

// Results are what was measured, as they are written to SCALE_JSON.
type Results struct {
	Plan    string  `json:"plan"`
	Ours    Figures `json:"hostedBridge"`
	Peer    Figures `json:"toolhive"`
	Seconds float64 `json:"seconds"`
}

// Figures are those of one operator.
type Figures struct {
	// Empty is the memory without a tenant.
	Empty     map[string]world.Memory `json:"memoryWithoutTenants"`
	Provision []Provision             `json:"provision"`
	// Burst is with tenants created as fast as the API server takes them.
	Burst Provision `json:"burst"`
	Asleep
	Profiles
	Quiet
	// Failovers is how long it takes until a new tenant has its children.
	Killed   float64 `json:"failoverKilledSeconds"`
	Graceful float64 `json:"failoverGracefulSeconds"`
	Traffic  Traffic `json:"trafficDuringFailover"`
	Restart  Restart `json:"restart"`
	Woken
	Deletion
}

func TestScale(t *testing.T) {
	began := time.Now()
	p := readPlan(t)
	r := Results{Plan: fmt.Sprintf("sizes %v, %.0f a second, burst of %d, quiet for %s and %s", p.sizes, p.rate, p.burst, p.quiet, p.peerQuiet)}
	t.Run("hosted-bridge", func(t *testing.T) { measureOurs(t, p, &r.Ours) })
	if p.peerBinary != "" && !t.Failed() {
		t.Run("toolhive", func(t *testing.T) { measurePeer(t, p, &r.Peer) })
	}
	r.Seconds = time.Since(began).Seconds()
	if path := os.Getenv("SCALE_JSON"); path != "" {
		encoded := must.Value(json.MarshalIndent(r, "", "  "))(t)
		must.Succeed(t, os.WriteFile(path, append(encoded, '\n'), 0o644))
	}
	fmt.Println(r.markdown()) //nolint:forbidigo // The tables are what this is run for.
}

// measureOurs measures everything of this project's installation. What it has
// measured is in f also where it ends early.
func measureOurs(t *testing.T, p plan, f *Figures) {
	t.Helper()
	last := p.sizes[len(p.sizes)-1] + p.burst
	plane := startPlane(t, last)
	in := plane.install(t)
	s := in.subject(t)
	f.Empty = s.memory(t)
	from := 0
	for _, size := range p.sizes {
		plane.makeNamespaces(t, from, size, true)
		f.Provision = append(f.Provision, s.provision(t, from, size, p.rate))
		from = size
	}
	plane.makeNamespaces(t, from, last, true)
	f.Burst = s.provision(t, from, last, 0)
	f.Asleep = s.sleep(t, last)
	f.Profiles = s.profiles(t, last)
	f.Quiet = s.quiet(t, p.quiet)
	f.Traffic = in.during(t, func() {
		f.Killed = in.failover(t, s, last, os.Kill)
		f.Graceful = in.failover(t, s, last+1, os.Interrupt)
	})
	f.Restart = in.restart(t, s, last+2)
	f.Woken = in.wake(t, s, last)
	f.Deletion = s.delete(t, last+3)
}
