// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"net"
	"net/http/cookiejar"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// TestFromCreationToACallInNamespacedMode has an API server of its own: nothing
// there is granted for the whole cluster.
func TestFromCreationToACallInNamespacedMode(t *testing.T) {
	t.Parallel()
	l := must.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	p := testenv.StartControlPlane(t)
	kubeconfig := p.InstallNamespaced("../..", "ingress")
	c := p.Client()
	// It was there first, and has the user id of the one that is looked after.
	other := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Elsewhere, Name: "alice"}}
	testenv.ExpectApplied(t, c, other, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.System, Name: "hosted-bridge-sessions"}})
	foreign := applyKey(t, c, keys.Command{User: "alice", Name: "alice", Namespace: testenv.Elsewhere, Output: "text"}).Key

	i := startAt(t, c, kubeconfig, l.Addr().(*net.TCPAddr).Port, "--namespace="+testenv.System, "--watch-namespaces="+testenv.Tenants+","+testenv.Trials)
	i.namespace = testenv.System
	i.publishCA()
	i.await("readiness", i.ready)
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Trials, Name: "alice"}}
	testenv.ExpectApplied(t, c, b)
	key := applyKey(t, c, keys.Command{User: "alice", Name: "alice", Namespace: testenv.Trials, Output: "text"}).Key
	i.await("the key", func() bool { status, _ := i.call("GET", "/u/alice/health", key); return status == 200 })
	i.serveBridge(l, b)
	i.addPod(b, "127.0.0.1")
	if status, body := i.call("POST", "/u/alice/mcp", key); status != 200 || body != "POST /u/alice/mcp" {
		t.Errorf("call = %d %s", status, body)
	}
	if status, body := i.call("POST", "/u/alice/mcp", foreign); status != 401 {
		t.Errorf("with a key of a bridge elsewhere: %d %s", status, body)
	}
	i.await("the status", func() bool {
		testenv.ExpectExists(t, c, b)
		return b.Status.Servers == "1/1" && b.Status.LastActivityTime != nil
	})
	testenv.ExpectExists(t, c, other)
	if other.Status.Servers != "" || other.Status.LastActivityTime != nil {
		t.Errorf("the status of a bridge elsewhere is %+v", other.Status)
	}
	v := &consoleVisitor{t, "http://" + i.public, must.Value(cookiejar.New(nil))(t)}
	if status, page := v.submit("/login", "/login", "key", key, "next", "/connect"); status != 200 {
		t.Errorf("log in: %d %s", status, page)
	}
	if status, page := v.submit("/connect", "/logout"); status != 200 || !strings.Contains(page, "You are logged out in all browsers") {
		t.Errorf("log out: %d %s", status, page)
	}
	// Contact with all informers: the routes count as confirmed.
	if log := i.log.String(); strings.Contains(log, "forbidden") || strings.Contains(log, "does not tell of changes") || strings.Contains(log, "out of date") {
		t.Errorf("the log has errors:\n%s", log)
	}
}

// TestOtherNamespacesAreServedWhereOneIsGone starts an ingress after a watched
// namespace was deleted, and with it the Role there.
func TestOtherNamespacesAreServedWhereOneIsGone(t *testing.T) {
	t.Parallel()
	l := must.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	p := testenv.StartControlPlane(t)
	kubeconfig := p.InstallNamespaced("../..", "ingress")
	c := p.Client()
	giveBack := testenv.TakeRole(t, c, testenv.Trials, "hosted-bridge-ingress-tenants")
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Tenants, Name: "alice"}}
	late := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Trials, Name: "bob"}}
	testenv.ExpectApplied(t, c, b, late)
	key := applyKey(t, c, keys.Command{User: "alice", Name: "alice", Namespace: testenv.Tenants, Output: "text"}).Key
	lateKey := applyKey(t, c, keys.Command{User: "bob", Name: "bob", Namespace: testenv.Trials, Output: "text"}).Key

	i := startAt(t, c, kubeconfig, l.Addr().(*net.TCPAddr).Port, "--namespace="+testenv.System, "--watch-namespaces="+testenv.Tenants+","+testenv.Trials)
	i.namespace = testenv.System
	i.publishCA()
	healthy := func(user, key string) func() bool {
		return func() bool { status, _ := i.call("GET", "/u/"+user+"/health", key); return status == 200 }
	}
	i.await("alice's key", healthy("alice", key))
	if log := i.log.String(); !strings.Contains(log, "is left out") || !strings.Contains(log, `in the namespace \"trials\"`) {
		t.Errorf("the log does not name the namespace:\n%s", log)
	}
	if healthy("bob", lateKey)() {
		t.Error("a key of a namespace that is not read is good")
	}
	// A key that is taken away is no good any more.
	testenv.ExpectChanged(t, c, b, func() { b.Spec.APIKeys = nil })
	i.await("the key's end", func() bool { status, _ := i.call("GET", "/u/alice/health", key); return status == 401 })
	// And what comes back is served.
	giveBack()
	i.await("bob's key", healthy("bob", lateKey))
}
