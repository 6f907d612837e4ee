// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

// Package proxy measures the ingress beside what one would put in its place, on
// one machine, in one run: hack/test/bench-ingress.sh says how.
package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// concurrency are how many clients call at once, unless BENCH_CLIENTS names one
// number.
var concurrency = []int{1, 32, 256}

func TestMain(m *testing.M) {
	role := os.Getenv("BENCH_ROLE")
	if role == "" {
		os.Exit(m.Run())
	}
	if err := serve(role, os.Getenv("BENCH_DIR"), os.Getenv("BENCH_LISTEN"), os.Getenv("BENCH_BACKEND")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func clientTLS(certificate tls.Certificate, roots *x509.CertPool) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}, RootCAs: roots, ServerName: serverName}
}

// TestIngressBesideOthers takes turns: in each round every way is loaded for
// some seconds, so that what else the machine does meets all alike. The table
// has the medians of the rounds.
func TestIngressBesideOthers(t *testing.T) {
	rounds, seconds := world.Number(t, "BENCH_ROUNDS", 5), world.Number(t, "BENCH_SECONDS", 3)
	if n := world.Number(t, "BENCH_CLIENTS", 0); n > 0 {
		concurrency = []int{n}
	}
	all := targets(t, peers{nginx: os.Getenv("BENCH_NGINX"), caddy: os.Getenv("BENCH_CADDY"), goproxy: os.Getenv("BENCH_GOPROXY")})
	if only := os.Getenv("BENCH_ONLY"); only != "" {
		all = slices.DeleteFunc(all, func(w target) bool { return !slices.Contains(strings.Split(only, "+"), w.name) })
	}
	measured := map[string]map[int][]figures{}
	for round := range rounds {
		for _, way := range all {
			if measured[way.name] == nil {
				measured[way.name] = map[int][]figures{}
			}
			for _, clients := range concurrency {
				f := must.Value(way.load(t.Context(), clients, time.Duration(seconds)*time.Second))(t)
				measured[way.name][clients] = append(measured[way.name][clients], f)
			}
		}
		t.Logf("round %d of %d", round+1, rounds)
	}
	t.Logf("%d rounds of %d s each\n\n%s", rounds, seconds, table(all, measured))
}

// table has a line for each way and number of clients. What a way adds is its
// median less that of the direct way.
func table(all []target, measured map[string]map[int][]figures) string {
	var b strings.Builder
	b.WriteString("| way | clients | calls/s | of nginx | p50 ms | adds ms | p99 ms | CPU µs a call |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, clients := range concurrency {
		for _, way := range all {
			f := measured[way.name][clients]
			perSec, p50 := median(f, func(f figures) float64 { return f.perSec }), median(f, p50Of)
			ratio, adds := "-", "-"
			if nginx := measured["nginx"][clients]; nginx != nil {
				ratio = fmt.Sprintf("%.2f", perSec/median(nginx, func(f figures) float64 { return f.perSec }))
			}
			if direct := measured["direct"][clients]; direct != nil && way.name != "direct" {
				adds = fmt.Sprintf("%.3f", p50-median(direct, p50Of))
			}
			fmt.Fprintf(&b, "| %s | %d | %.0f | %s | %.3f | %s | %.2f | %.1f |\n", way.name, clients, perSec, ratio, p50, adds,
				median(f, func(f figures) float64 { return f.p99.Seconds() * 1e3 }), median(f, func(f figures) float64 { return f.cpu.Seconds() * 1e6 }))
		}
	}
	return b.String()
}

func p50Of(f figures) float64 { return f.p50.Seconds() * 1e3 }

func median(all []figures, of func(figures) float64) float64 {
	values := make([]float64, len(all))
	for i, f := range all {
		values[i] = of(f)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
