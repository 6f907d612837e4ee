// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// starts is how many starts the medians are of, and startSecrets how many
// secrets the one tenant has.
const (
	starts       = 5
	startSecrets = 20
)

// TestHowLongAPodTakesToStartWithSecrets prints a table and asserts no time:
// it is for whoever compares it with the last one. The pods of both tenants
// start at the same moment, so that they meet the same load.
func TestHowLongAPodTakesToStartWithSecrets(t *testing.T) {
	tenants := []tenant{startTenant(t, "olga"), startTenant(t, "otto")}
	for i := range startSecrets {
		// 1 KiB, about the size of a token with much in it.
		mustPut(t, tenants[1], fmt.Sprintf("SECRET_%d", i), strings.Repeat("x", 1<<10), http.StatusCreated)
	}
	ready, served := make([][]time.Duration, 2), make([][]time.Duration, 2)
	for range starts {
		for i, s := range restartBoth(t, tenants) {
			ready[i], served[i] = append(ready[i], s.ready), append(served[i], s.served)
		}
	}
	t.Logf("pod start, medians of %d:\n%-12s %22s %28s", starts, "", "deleted to next ready", "process start to serving")
	for i, label := range []string{"no secrets", fmt.Sprintf("%d of 1 KiB", startSecrets)} {
		t.Logf("%-12s %22s %28s", label, median(ready[i]).Round(time.Millisecond), median(served[i]).Round(100*time.Microsecond))
	}
}

// startTenant makes a tenant of a tier that allows so many secrets.
func startTenant(t *testing.T, short string) tenant {
	t.Helper()
	n := tenant{name: installed.name(short), key: mint(t)}
	b := bridge(n.name, []credential{n.key}, "everything")
	b.Spec.Tier = "pro"
	n.uid = create(t, b)
	awaitReady(t, n.name)
	return n
}

// podStart is how long a start took: from the end of the pod before to Ready,
// which the kubelet asks once a second, and by the log of the process.
type podStart struct{ ready, served time.Duration }

// restartBoth ends the tenants' pods and waits for the next ones.
func restartBoth(t *testing.T, tenants []tenant) []podStart {
	t.Helper()
	var old []corev1.Pod
	for _, n := range tenants {
		old = append(old, bridgePod(t, n.uid))
	}
	began := time.Now()
	remove(t, old...)
	all := make([]podStart, len(tenants))
	wait.NoError(t, wait.Limit, "the pods are others", func(ctx context.Context) error {
		waiting := 0
		for i, n := range tenants {
			if all[i].ready != 0 {
				continue
			}
			if startedAgain(ctx, n, old[i]) != nil {
				waiting++
				continue
			}
			all[i].ready = time.Since(began)
		}
		if waiting > 0 {
			return fmt.Errorf("%d of %d are not ready", waiting, len(tenants))
		}
		return nil
	})
	for i, n := range tenants {
		all[i].served = servedAfter(t, bridgePod(t, n.uid))
	}
	return all
}

// servedAfter returns how long after its first log line the bridge served.
func servedAfter(t *testing.T, p corev1.Pod) time.Duration {
	t.Helper()
	var first time.Time
	for line := range strings.Lines(string(mustOutput(t, "logs", p.Name, "--container="+v1alpha1.ComponentBridge))) {
		var l struct {
			Time time.Time
			Msg  string
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("parse a line of the log of %s: %v", p.Name, err)
		}
		if first.IsZero() {
			first = l.Time
		}
		if strings.HasSuffix(l.Msg, "serving") {
			return l.Time.Sub(first)
		}
	}
	t.Fatalf("the log of %s does not say that it serves", p.Name)
	return 0
}

func median(d []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[len(sorted)/2]
}
