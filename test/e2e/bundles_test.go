// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// installs returns a server that is a package of npm.
func installs(name, pkg, version string) v1alpha1.Server {
	return v1alpha1.Server{Name: name, Transport: v1alpha1.Transport{Type: v1alpha1.TransportStdio, Stdio: &v1alpha1.Stdio{
		Install: &v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: pkg, Version: version},
	}}}
}

// needRegistry skips a test whose packages cannot be fetched here.
func needRegistry(t testing.TB) {
	t.Helper()
	if os.Getenv("CLUSTER") != "local" {
		t.Skip("the cluster is not the local one, so that nothing is known of what its pods reach") //nolint:forbidigo // A cluster of somebody else.
	}
	if registry, reason := registryFromHere(t); reason != "" {
		t.Skipf("this machine does not reach npm's registry %s, so pods of the local cluster do not either: %s", registry, reason) //nolint:forbidigo // make up says the same.
	}
}

// TestTheFirstCallAfterASleepHasItsPackage calls a program of npm as soon as its bridge is made,
// and after each sleep. A second server, whose package does not exist, is out of service alone.
func TestTheFirstCallAfterASleepHasItsPackage(t *testing.T) {
	t.Parallel()
	needRegistry(t)
	n := newSleeper(t, "bundled", installs("memory", "@modelcontextprotocol/server-memory", "2026.8.31"), installs("missing", "@hosted-bridge-example/none", "1.0.0"))
	c := newHTTPClient(false)
	call := modern("tools/call", "memory_read_graph", `{"name":"memory_read_graph","arguments":{}}`)
	// A package that is installed for the first time may take longer than a call waits.
	wait.UntilWithin(t, wait.Limit, "the package is installed", func() bool {
		a := must.Value(send(t.Context(), c, n.url(), n.key.secret, call))(t)
		waits := strings.Contains(string(a.body), "being installed for the first time")
		if a.status != http.StatusOK || !waits && !strings.Contains(string(a.body), "entities") {
			t.Fatalf("the first call: %d %s", a.status, a.body)
		}
		return !waits
	})
	wait.UntilWithin(t, wait.Limit, "the other package is known to be missing", func() bool {
		b := must.Value(getBridge(t.Context(), n.name))(t)
		for _, condition := range b.Status.Conditions {
			if condition.Type == v1alpha1.ConditionAccepted {
				return condition.Status == metav1.ConditionTrue && condition.Reason == v1alpha1.ReasonProgramsNotInstalled &&
					strings.Contains(condition.Message, "server missing: package @hosted-bridge-example/none@1.0.0 could not be installed: The registry has no package")
			}
		}
		return false
	})
	for range 2 {
		fallAsleep(t, n)
		began := time.Now()
		a := must.Value(send(t.Context(), c, n.url(), n.key.secret, call))(t)
		if a.status != http.StatusOK || !strings.Contains(string(a.body), "entities") {
			t.Errorf("the first call after a sleep: %d %s", a.status, a.body)
		}
		t.Logf("the first call after a sleep took %v", time.Since(began).Round(time.Millisecond))
	}
	if listing := mustKubectl(t, "exec", bridgePod(t, n.uid).Name, "-c", "stdio-memory", "--", "node", "-e", programsOfTheContainer); strings.Contains(listing, "npx") || !strings.Contains(listing, "server-memory") {
		t.Errorf("the container runs %s", listing)
	}
}

// programsOfTheContainer prints the command lines of a container's processes.
const programsOfTheContainer = `const fs = require("node:fs");
for (const pid of fs.readdirSync("/proc")) if (/^[0-9]+$/.test(pid)) console.log(fs.readFileSync("/proc/" + pid + "/cmdline", "utf8").replaceAll("\0", " "))`

// BenchmarkWake has bridges asleep, one after the other in each round, and measures the first list
// of tools, which waits for nothing, and then the first request that waits for the server, from the
// beginning of the list until its answer: of a server at a URL, of programs from bundles, a small one and one of 251
// packages, and of the small one by npx, which any other option keeps from a bundle.
func BenchmarkWake(b *testing.B) {
	needRegistry(b)
	byNPX := installs("s", "@modelcontextprotocol/server-everything", "2026.8.31")
	byNPX.Transport.Stdio.Command = []string{"npx", "--loglevel=error", "-y", "@modelcontextprotocol/server-everything@2026.8.31"}
	kinds := []struct {
		name    string
		servers []v1alpha1.Server
	}{
		{"url", nil},
		{"bundle", []v1alpha1.Server{installs("s", "@modelcontextprotocol/server-everything", "2026.8.31")}},
		{"large-bundle", []v1alpha1.Server{installs("s", "@mastra/mcp-docs-server", "1.2.27")}},
		{"npx", []v1alpha1.Server{byNPX}},
	}
	c := newHTTPClient(false)
	sleepers, listed, took := make([]tenant, len(kinds)), make([][]time.Duration, len(kinds)), make([][]time.Duration, len(kinds))
	list := func(n tenant) bool {
		a, err := send(b.Context(), c, n.url(), n.key.secret, modern("tools/list", "", `{}`))
		return err == nil && a.status == http.StatusOK && strings.Contains(string(a.body), "inputSchema")
	}
	// No server has the resource, and each has to say so.
	read := func(n tenant) bool {
		a, err := send(b.Context(), c, n.url(), n.key.secret, modern("resources/read", "bench:none", `{"uri":"bench:none"}`))
		return err == nil && a.status < http.StatusInternalServerError && !strings.Contains(string(a.body), "upstream_unavailable")
	}
	for i, kind := range kinds {
		sleepers[i] = newSleeper(b, "wake-"+kind.name, kind.servers...)
		wait.UntilWithin(b, wait.Limit, "its tools are listed", func() bool { return list(sleepers[i]) })
	}
	b.ResetTimer()
	for range b.N {
		for i := range kinds {
			fallAsleep(b, sleepers[i])
			began := time.Now()
			if !list(sleepers[i]) {
				b.Errorf("%s: the first list was refused", kinds[i].name)
			}
			listed[i] = append(listed[i], time.Since(began))
			if !read(sleepers[i]) {
				b.Errorf("%s: the first request was refused", kinds[i].name)
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	b.ReportMetric(0, "ns/op") // Of all kinds together it says nothing.
	for i, kind := range kinds {
		b.ReportMetric(float64(quantile(listed[i], .95).Milliseconds()), kind.name+"-list-p95-ms")
		b.ReportMetric(float64(quantile(took[i], .5).Milliseconds()), kind.name+"-p50-ms")
		b.ReportMetric(float64(quantile(took[i], .95).Milliseconds()), kind.name+"-p95-ms")
	}
}
