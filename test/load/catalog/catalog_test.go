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
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hostedbridge/hostedbridge/test/load/world"
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

// TestManyRecipes brings the recipes into a catalog that has none, as the first
// start of an installation does, starts the ingress anew, and reads.
func TestManyRecipes(t *testing.T) {
	recipes, rounds, seconds := world.Number(t, "BENCH_RECIPES", 10_000), world.Number(t, "BENCH_ROUNDS", 3), world.Number(t, "BENCH_SECONDS", 2)
	w := newInstallation(t)
	source := writeRecipes(t, recipes)
	var report table
	report.row("plain creations by another client, without an operator", w.floor(t, source, recipes))

	empty := w.startIngress(t, "--catalog-seed=none")
	w.awaitServed(t, empty, 0)
	report.row("ingress, resident (live) without recipes", empty.Memory(t).String()+" MB")
	empty.Stop()

	began, before := time.Now(), world.CPUByProgram()
	first := w.startIngress(t, "--catalog-seed=dir:"+source, "--catalog-seed-at-start")
	first.AwaitSaid(t, "the catalog was seeded", &struct{}{})
	report.row("import: start of the ingress to all written", fmt.Sprintf("%s, %.0f a second", since(began), float64(recipes)/time.Since(began).Seconds()))
	w.awaitServed(t, first, recipes)
	report.row("import: start of the ingress to all accepted and served", since(began))
	after := world.CPUByProgram()
	for _, name := range []string{"ingress", "operator", "kube-apiserver", "etcd"} {
		report.row("import: CPU time of "+name, fmt.Sprintf("%.1f s", (after[name]-before[name]).Seconds()))
	}
	report.row("ingress, resident (live) after the import", first.Memory(t).String()+" MB")
	report.row("operator, resident (live) after the import", w.operator.Memory(t).String()+" MB")
	report.row("import again, nothing to write", w.seedAgain(t, first, recipes))
	first.Stop()

	began = time.Now()
	ours := w.startIngress(t, "--catalog-seed=none")
	w.awaitServed(t, ours, recipes)
	report.row("another start, until all are served", since(began))
	report.row("ingress, resident (live) after another start", ours.Memory(t).String()+" MB")
	reads := w.reads(t, ours, recipes)
	ways := append([]way{{"hosted-bridge", ours.Addr, false}}, fileServers(t, reads)...)
	measured := measure(t, ways, reads, rounds, time.Duration(seconds)*time.Second)
	report.row("ingress, resident (live) after the reads", ours.Memory(t).String()+" MB")
	t.Logf("%d recipes; %d clients; %d rounds of %d s each\n\n%s\n%s", recipes, clients, rounds, seconds, report.String(), measured.table(ways, reads))
}

func since(began time.Time) string { return fmt.Sprintf("%.1f s", time.Since(began).Seconds()) }
