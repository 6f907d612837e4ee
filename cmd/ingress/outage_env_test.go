// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/route/snapshot"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// tenant is a user of an installation with his key.
type tenant struct {
	bridge *v1alpha1.HostedBridge
	user   v1alpha1.UserID
	key    string
}

// addTenant makes a bridge of that name with a key.
func (i *installation) addTenant(name string) tenant {
	i.t.Helper()
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: name}}
	testenv.ExpectApplied(i.t, i.client, b)
	key := applyKey(i.t, i.client, keys.Command{User: name, Name: name, Namespace: i.namespace, Output: "text"}).Key
	return tenant{b, b.User(), key}
}

// metric returns the value of a metric without labels.
func (i *installation) metric(name string) float64 {
	i.t.Helper()
	res, err := http.Get("http://" + i.probes + "/metrics") //nolint:forbidigo // A test's client.
	if err != nil {
		i.t.Fatal(err)
	}
	defer res.Body.Close()
	body := must.Value(io.ReadAll(res.Body))(i.t)
	for line := range strings.Lines(string(body)) {
		if digits, ok := strings.CutPrefix(line, name+" "); ok {
			return must.Value(strconv.ParseFloat(strings.TrimSpace(digits), 64))(i.t)
		}
	}
	i.t.Fatalf("there is no metric %s", name)
	return 0
}

// opened calls the tenant's bridge and fails the test if it does not answer.
func (i *installation) opened(what string, of tenant) {
	i.t.Helper()
	if status, body := i.call("POST", "/u/"+string(of.user)+"/mcp", of.key); status != http.StatusOK {
		i.t.Errorf("%s: a call is answered %d %s", what, status, body)
	}
}

// expectSelf asks what the tenant may see of their bridge.
func (i *installation) expectSelf(of tenant, status int, paths ...string) {
	i.t.Helper()
	for _, path := range paths {
		if got, body := i.call("GET", "/u/"+string(of.user)+"/"+path, of.key); got != status || status == http.StatusServiceUnavailable && !strings.Contains(body, "cluster_unavailable") {
			i.t.Errorf("%s is answered %d %s, want %d", path, got, body, status)
		}
	}
}

// expectChangesRefused has the tenant try changes without an API server.
func (i *installation) expectChangesRefused(of tenant) {
	i.t.Helper()
	self := "/u/" + string(of.user)
	for path, body := range map[string]string{"/keys": "{}", "/servers/docs/choice": `{"use":"On"}`} {
		method := map[string]string{"/keys": "POST"}[path]
		if got, body := i.send(cmp.Or(method, "PUT"), self+path, of.key, body); got != http.StatusServiceUnavailable || !strings.Contains(body, "Running bridges go on") {
			i.t.Errorf("%s without an API server is answered %d %s", path, got, body)
		}
	}
}

// awaitKept returns when the directory has the tenant's route to a ready pod
// and a certificate.
func (i *installation) awaitKept(of tenant) {
	i.t.Helper()
	o := i.options.Snapshot
	i.await("a snapshot", func() bool {
		d := must.Value(snapshot.OpenDirectory(o.Dir, o.KeyFile, i.namespace))(i.t)
		table, err := d.Routes(time.Now(), snapshotMaxAge)
		if err != nil {
			return false
		}
		b, _ := table.Routes.Lookup(of.user)
		_, err = d.Credentials()
		return err == nil && b.State == route.Ready
	})
}

// keepingFlags has an ingress keep what it needs, and take as many calls as come.
func keepingFlags(t *testing.T) []string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"key":   strings.Repeat("A", 43) + "=",
		"tiers": "tiers: {free: {perMinute: 1000000, perHour: 1000000, perDay: 1000000, burst: 1000000, auditDays: 1, concurrentCalls: 100, streams: 100}}",
	} {
		must.Succeed(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	return []string{
		"--snapshot-dir=" + filepath.Join(folder, "kept"), "--snapshot-key-file=" + filepath.Join(folder, "key"),
		"--tiers-file=" + filepath.Join(folder, "tiers"),
	}
}

func TestARestartWhileTheAPIServerIsAwayLosesNoCall(t *testing.T) {
	t.Parallel()
	p := testenv.StartControlPlane(t)
	l := must.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	i := startAt(t, p.Client(), p.Kubeconfig(), l.Addr().(*net.TCPAddr).Port, keepingFlags(t)...)
	i.publishCA()
	i.await("readiness", i.ready)
	alice := i.addTenant("alice")
	i.serveBridge(l, alice.bridge)
	i.addPod(alice.bridge, "127.0.0.1")
	i.await("alice's bridge", func() bool { status, _ := i.call("POST", "/u/alice/mcp", alice.key); return status == http.StatusOK })
	i.awaitKept(alice)
	if age := i.metric("hostedbridge_ingress_routes_age_seconds"); age > 1 {
		t.Errorf("the routes are %f s old while the API server answers", age)
	}

	// Whoever could tell of routes or give a certificate is away.
	p.Stop()
	i.broker.Close()
	i.opened("the process that was there before", alice)
	i.expectSelf(alice, http.StatusOK, "servers", "keys", "usage")
	i.expectChangesRefused(alice)
	i.end()
	launched := time.Now()
	i.launch()
	// Nobody takes it out of the service, so that its first callers wait.
	i.opened("right after a restart", alice)
	if !i.ready() {
		t.Error("not ready after a restart")
	}
	i.expectSelf(alice, http.StatusServiceUnavailable, "servers", "tools", "connections")
	i.expectSelf(alice, http.StatusOK, "usage")
	t.Logf("answers %s after the start", time.Since(launched).Round(time.Millisecond))
	if status, _ := i.call("POST", "/u/alice/mcp", "hb_wrong"); status != http.StatusUnauthorized {
		t.Errorf("a wrong key is answered %d", status)
	}
	i.await("an age", func() bool { return i.metric("hostedbridge_ingress_routes_age_seconds") > 1 })
	if !strings.Contains(i.log.String(), "serving the kept routes") {
		t.Errorf("the log does not say so:\n%s", i.log.String())
	}

	// The API server comes back, and nobody notices.
	ctx, cancel := context.WithCancel(t.Context())
	calling := make(chan int)
	go func() {
		calls := 0
		for ; ctx.Err() == nil; calls++ {
			i.opened("while the API server comes back", alice)
		}
		calling <- calls
	}()
	p.Start()
	started := time.Now()
	i.await("contact", func() bool { return i.metric("hostedbridge_ingress_routes_age_seconds") < 1 })
	t.Logf("the API server tells of changes %s after its start", time.Since(started).Round(time.Millisecond))
	bob := i.addTenant("bob")
	i.await("a user who is new", func() bool { status, _ := i.call("GET", "/u/bob/health", bob.key); return status == http.StatusOK })
	cancel()
	t.Logf("%d calls meanwhile", <-calling)
	testenv.ExpectChanged(t, i.client, alice.bridge, func() { alice.bridge.Spec.APIKeys = nil })
	i.await("the revocation", func() bool {
		status, _ := i.call("POST", "/u/alice/mcp", alice.key)
		return status == http.StatusUnauthorized
	})
	if shown := i.log.String(); strings.Contains(shown, "PRIVATE KEY") || strings.Contains(shown, alice.key[len(alice.key)-20:]) {
		t.Error("the log contains a key")
	}

	// What somebody has changed is not served.
	i.end()
	p.Stop()
	file := filepath.Join(i.options.Snapshot.Dir, "routes")
	content := must.Value(os.ReadFile(file))(t)
	must.Succeed(t, os.WriteFile(file, bytes.ReplaceAll(content, []byte(`"bob"`), []byte(`"eve"`)), 0o600))
	i.launch()
	i.await("the refusal", func() bool { return strings.Contains(i.log.String(), "the kept routes are not used") })
	if i.ready() {
		t.Error("ready without routes")
	}
	p.Start()
	i.await("readiness by the API server", i.ready)
	if status, _ := i.call("GET", "/u/eve/health", bob.key); status != http.StatusUnauthorized {
		t.Errorf("another user is answered %d", status)
	}
}
