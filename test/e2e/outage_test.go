// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// outage is how long the API server is away: long enough that kubelet and
// clients notice, and shorter than the 40 s after which a node that says nothing
// counts as lost, with all of its pods.
const outage = 30 * time.Second

func TestCallsGoOnWhileTheAPIServerIsAway(t *testing.T) {
	if os.Getenv("CLUSTER") != "local" {
		t.Log("the cluster is not local: its API server is not ours to stop")
		return
	}
	pat := newTenant(t, "pat", "everything")
	ingresses := podsOf(t, "hosted-bridge-ingress")
	loop := startCalls(t, pat)
	loop.await(t, 20)

	resume := pauseAPIServer(t)
	back := time.Now().Add(outage)
	loop.await(t, 20)
	// A container that ends now has nobody to ask for routes and certificate.
	kill(t, ingresses[0])
	for time.Now().Before(back) {
		loop.await(t, 20)
	}
	resume()
	loop.await(t, 20)
	awaitReplaced(t, "hosted-bridge-ingress", len(ingresses), ingresses[:1])
	for _, c := range loop.stop() {
		if len(c.failures) > 0 {
			t.Errorf("%s: %d of %d calls failed, the first: %s", c.name, len(c.failures), c.calls, c.failures[0])
		}
		t.Logf("%s: %d calls, %d attempts without an answer, the slowest call %s", c.name, c.calls, c.lost, c.slowest)
	}
	if log := mustKubectl(t, "logs", "--namespace="+systemNamespace, ingresses[0].Name); !strings.Contains(log, "serving the kept routes") {
		t.Errorf("the container that was started again did not begin with the snapshot:\n%s", log)
	}
	// And what is new gets through again.
	newTenant(t, "pat-after", "everything")
}

// pauseAPIServer has the local cluster's API server answer nobody, until what it
// returns is called.
func pauseAPIServer(t *testing.T) (resume func()) {
	t.Helper()
	ca := filepath.Join(localNode(t).folder, "pki", "ca.crt")
	files := must.Value(filepath.Glob("/proc/[0-9]*/cmdline"))(t)
	for _, file := range files {
		command, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(command, []byte("kube-apiserver\x00")) || !bytes.Contains(command, []byte("--client-ca-file="+ca)) {
			continue // One that has ended meanwhile, or another one.
		}
		pid := must.Value(strconv.Atoi(filepath.Base(filepath.Dir(file))))(t)
		resume = func() { _ = syscall.Kill(pid, syscall.SIGCONT) }
		t.Cleanup(resume)
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatalf("stop the API server: %v", err)
		}
		return resume
	}
	t.Fatalf("there is no API server with the CA %s", ca)
	return nil
}
