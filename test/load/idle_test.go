// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load

package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const (
	// settled is when a bridge that is ready has listed its servers and given back what its
	// start has left.
	settled = 10 * time.Second
	// wantedPrivate and wantedResident are how much an idle bridge may have, in KiB.
	wantedPrivate, wantedResident = 6 << 10, 16 << 10
)

// TestWhatAnIdleBridgeTakes measures the memory of bridges of one server each, which are
// built as their image is, asked by probes as in a pod, and called in between. It prints
// a table.
func TestWhatAnIdleBridgeTakes(t *testing.T) {
	n, calls := world.Number(t, "BENCH_BRIDGES", 10), world.Number(t, "BENCH_CALLS", 500)
	idle := time.Duration(world.Number(t, "BENCH_SECONDS", 60)) * time.Second
	buildShipped(t, "bridgepod")
	i := install(t, n)
	program := must.Value(os.Stat(filepath.Join(programDir, "bridgepod")))(t)
	g := i.startIngresses(t, 1)
	all := make([]*hosted, n)
	for k := range all {
		all[k] = i.newReal(t, k)
		i.probe(t, all[k])
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%d bridges, program of %.1f MB\n", n, float64(program.Size())/1e6)
	table.WriteString("| when | private MB (RssAnon) | file MB (RssFile) | resident MB (VmRSS) | share of the node MB (PSS) | CPU ms a minute |\n| --- | --- | --- | --- | --- | --- |\n")
	row := func(when string, wait time.Duration) footprint {
		before := cpuOf(all)
		<-time.After(wait)
		f := meanOf(t, all)
		cpu := "-"
		if wait > 0 {
			cpu = fmt.Sprintf("%.0f", (cpuOf(all)-before).Seconds()*1e3/float64(n)/wait.Minutes())
		}
		fmt.Fprintf(&table, "| %s | %.1f | %.1f | %.1f | %.1f | %s |\n", when, f.private/1024, f.file/1024, f.resident/1024, f.share/1024, cpu)
		return f
	}
	row(fmt.Sprintf("%v after the start", settled), settled)
	row(fmt.Sprintf("idle for %v more", idle), idle)
	var took time.Duration
	for _, b := range all {
		c := call{of: b.tenant, tool: realTool, modern: true}
		wait.Until(t, "an answer of the bridge of "+b.user, func() bool { return g.send(t.Context(), c).answered(c) })
		c = call{of: b.tenant, tool: realTool, session: g.begin(t, b.tenant)}
		before := b.process.CPU()
		for range calls {
			if r := g.send(t.Context(), c); !r.answered(c) {
				t.Fatalf("status %d, error %v: %s", r.status, r.err, r.body)
			}
		}
		took += b.process.CPU() - before
	}
	row(fmt.Sprintf("after %d calls", calls), 0)
	last := row(fmt.Sprintf("idle for %v after these", idle), idle)
	t.Logf("\n%sa call took %.2f ms of CPU time", &table, took.Seconds()*1e3/float64(n*calls))
	if last.private > wantedPrivate || last.resident > wantedResident {
		t.Logf("the target is %d and %d MB", wantedPrivate>>10, wantedResident>>10)
	}
	g.expectAlive(t)
}

// buildShipped builds programs as their images have them, in place of those of the other
// tests.
func buildShipped(t *testing.T, programs ...string) {
	t.Helper()
	must.Succeed(t, build())
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", programDir + string(filepath.Separator)}
	for _, name := range programs {
		args = append(args, "github.com/hostedbridge/hostedbridge/cmd/"+name)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %v: %v: %s", programs, err, out)
	}
}

// probe asks a bridge as the kubelet does, by a connection each time, until the test ends.
func (i *installation) probe(t *testing.T, b *hosted) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var probes sync.WaitGroup
	for path, every := range map[string]time.Duration{"/readyz": time.Second, "/healthz": 10 * time.Second} {
		probes.Go(func() {
			ticker := time.NewTicker(every)
			defer ticker.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-ticker.C:
				}
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.probes+path, nil)
				if err != nil {
					panic(err)
				}
				if res, err := client.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
			}
		})
	}
	t.Cleanup(func() { stop(); probes.Wait() })
}

// footprint is the memory of a process, in KiB. Of share, pages that processes have
// together count for each by its part.
type footprint struct{ private, file, resident, share float64 }

// meanOf returns the mean of bridges.
func meanOf(t *testing.T, all []*hosted) (mean footprint) {
	t.Helper()
	n := float64(len(all))
	for _, b := range all {
		mean.private += b.process.Status(t, "RssAnon") / n
		mean.file += b.process.Status(t, "RssFile") / n
		mean.resident += b.process.Status(t, "VmRSS") / n
		mean.share += b.process.Share(t) / n
	}
	return mean
}

// cpuOf returns the CPU time that bridges have taken together.
func cpuOf(all []*hosted) (sum time.Duration) {
	for _, b := range all {
		sum += b.process.CPU()
	}
	return sum
}
