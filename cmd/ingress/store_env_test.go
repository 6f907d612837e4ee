// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/sharedstore"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// storeToken is by which a test's keybroker knows the store.
const storeToken = "token-of-the-store"

const sixTier = `tiers: {six: {perMinute: 6, perHour: 6, perDay: 6, burst: 6, concurrentCalls: 6, streams: 6, auditDays: 7}}`

// TestTwoIngressesShareAStore has both count together and find the same, also
// after a restart of the store.
func TestTwoIngressesShareAStore(t *testing.T) {
	bridges := must.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	dir, address := t.TempDir(), freeAddress(t)
	for name, text := range map[string]string{"admin-key": testAdminKey, "tiers.yaml": sixTier, "store-token": storeToken} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	first := startAt(t, testenv.Client(t), testenv.Kubeconfig(t), bridges.Addr().(*net.TCPAddr).Port,
		"--admin-key-file="+filepath.Join(dir, "admin-key"), "--tiers-file="+filepath.Join(dir, "tiers.yaml"), "--replicas=2",
		"--audit-index=store:https://"+address, "--quota-store-url=https://"+address)
	second := *first
	second.launch()
	t.Cleanup(func() { second.end() })
	first.publishCA()
	first.await("readiness of the first, without the store", first.ready)
	second.await("readiness of the second, without the store", second.ready)

	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: first.namespace, Name: first.namespace}, Spec: v1alpha1.HostedBridgeSpec{Tier: "six"}}
	testenv.ExpectApplied(t, first.client, b)
	user := string(b.User())
	key := applyKey(t, first.client, keys.Command{User: user, Name: b.Name, Namespace: b.Namespace, Output: "text"}).Key
	first.serveBridge(bridges, b)
	first.addPod(b, "127.0.0.1")

	stop := startStore(t, first, address, dir)
	replicas := []*installation{first, &second}
	for _, i := range replicas {
		i.awaitPolicy(user, key, `"minute";q=6;`)
	}
	for n := range 6 {
		if status, body := replicas[n%2].call("POST", "/u/"+user+"/mcp", key); status != http.StatusOK {
			t.Fatalf("call %d: %d %s", n, status, body)
		}
	}
	for _, i := range replicas {
		if status, body := i.call("POST", "/u/"+user+"/mcp", key); status != http.StatusTooManyRequests {
			t.Errorf("a seventh call: %d %s", status, body)
		}
	}
	for range 3 {
		first.admin("GET", "analytics", "", nil)
	}
	second.awaitAnalyses(3)

	stop()
	first.awaitPolicy(user, key, `"minute";q=3;`)
	startStore(t, first, address, dir)
	for _, i := range replicas {
		i.awaitPolicy(user, key, `"minute";q=6;`)
		if status, body := i.call("POST", "/u/"+user+"/mcp", key); status != http.StatusTooManyRequests {
			t.Errorf("a call after a restart of the store: %d %s", status, body)
		}
		i.awaitAnalyses(3)
	}
}

// freeAddress returns an address at which nobody listens. Its port is none that the
// system gives to outgoing connections, so that it stays free while the store restarts.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(20000+rand.IntN(10000))))
		if err == nil {
			l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("there is no free port")
	return ""
}

// startStore runs the store at address until stop is called.
func startStore(t *testing.T, i *installation, address, dir string) (stop func()) {
	t.Helper()
	t.Setenv("KEYBROKER_CA", string(i.authority.CertificatePEM()))
	ctx, cancel := context.WithCancel(context.Background())
	ended, log := make(chan error, 1), &logtest.Log{}
	go func() {
		ended <- sharedstore.Run(ctx, []string{
			"--listen=" + address, "--probe-listen=127.0.0.1:0", "--namespace=" + i.namespace, "--directory=" + dir,
			"--keybroker-url=" + i.options.KeybrokerURL, "--token-file=" + filepath.Join(dir, "store-token"),
		}, log)
	}()
	stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("store: %v; log:\n%s", err, log)
		}
		ended <- nil
	}
	t.Cleanup(stop)
	return stop
}

// awaitPolicy waits until the headers of an answer are of those limits.
func (i *installation) awaitPolicy(user, key, want string) {
	i.t.Helper()
	i.await(want, func() bool {
		r, err := http.NewRequestWithContext(i.t.Context(), http.MethodGet, "http://"+i.public+"/u/"+user+"/health", http.NoBody)
		if err != nil {
			i.t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		res, err := http.DefaultClient.Do(r) //nolint:forbidigo // A test's client.
		if err != nil {
			i.t.Fatal(err)
		}
		res.Body.Close()
		policy := res.Header.Get("Ratelimit-Policy")
		return len(policy) >= len(want) && policy[:len(want)] == want
	})
}

// awaitAnalyses waits until so many questions for figures are found, of all
// replicas.
func (i *installation) awaitAnalyses(want int) {
	i.t.Helper()
	i.await("entries of all replicas", func() bool {
		var page struct {
			Scope   string
			Entries []struct{ Method string }
		}
		if i.admin("GET", "audit?limit=1000", "", &page) != http.StatusOK || page.Scope != "installation" {
			return false
		}
		n := 0
		for _, e := range page.Entries {
			if e.Method == "admin/analytics.query" {
				n++
			}
		}
		return n == want
	})
}
