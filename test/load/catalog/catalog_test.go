// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

// Package catalog measures the catalog with 10,000 recipes: how long they take
// to be served, and what reading them costs beside file servers that give the
// same bytes, on one machine, in one run. hack/test/bench-catalog.sh says how.
package catalog

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	if addr := os.Getenv("BENCH_SERVE"); addr != "" {
		server := &http.Server{Addr: addr, Handler: http.FileServer(http.Dir(os.Getenv("BENCH_FILES"))), ReadHeaderTimeout: 10 * time.Second}
		fmt.Fprintln(os.Stderr, server.ListenAndServe())
		os.Exit(1)
	}
	os.Exit(m.Run())
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

// TestManyRecipes brings the recipes into a catalog that has none, as the first
// start of an installation does, starts the ingress anew, and reads.
func TestManyRecipes(t *testing.T) {
	recipes, rounds, seconds := number(t, "BENCH_RECIPES", 10_000), number(t, "BENCH_ROUNDS", 3), number(t, "BENCH_SECONDS", 2)
	w := newWorld(t)
	source := writeRecipes(t, recipes)
	var report table
	report.row("plain creations by another client, without an operator", w.floor(t, source, recipes))

	empty := w.startIngress(t, "--catalog-seed=none")
	w.awaitServed(t, empty, 0)
	report.row("ingress, resident without recipes", empty.memory(t))
	empty.stop(t)

	began, before := time.Now(), cpuTimes(t)
	first := w.startIngress(t, "--catalog-seed=dir:"+source, "--catalog-seed-at-start")
	first.said(t, "the catalog was seeded")
	report.row("import: start of the ingress to all written", fmt.Sprintf("%s, %.0f a second", since(began), float64(recipes)/time.Since(began).Seconds()))
	w.awaitServed(t, first, recipes)
	report.row("import: start of the ingress to all accepted and served", since(began))
	after := cpuTimes(t)
	for _, name := range []string{"ingress", "operator", "kube-apiserver", "etcd"} {
		report.row("import: CPU time of "+name, fmt.Sprintf("%.1f s", (after[name]-before[name]).Seconds()))
	}
	report.row("ingress, resident after the import", first.memory(t))
	report.row("operator, resident after the import", w.operator.memory(t))
	report.row("import again, nothing to write", w.seedAgain(t, first, recipes))
	first.stop(t)

	began = time.Now()
	ours := w.startIngress(t, "--catalog-seed=none")
	w.awaitServed(t, ours, recipes)
	report.row("another start, until all are served", since(began))
	report.row("ingress, resident after another start", ours.memory(t))
	reads := w.reads(t, ours, recipes)
	ways := append([]way{{"hosted-bridge", ours.addr, false}}, fileServers(t, reads)...)
	measured := measure(t, ways, reads, rounds, time.Duration(seconds)*time.Second)
	report.row("ingress, resident after the reads", ours.memory(t))
	t.Logf("%d recipes; %d clients; %d rounds of %d s each\n\n%s\n%s", recipes, clients, rounds, seconds, report.String(), measured.table(ways, reads))
}

func since(began time.Time) string { return fmt.Sprintf("%.1f s", time.Since(began).Seconds()) }
