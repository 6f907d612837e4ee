// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// connects is a program for Node: it prints which of its arguments, each a host
// and a port, it connects to within 3 seconds, which is three attempts of TCP.
const connects = `Promise.all(process.argv.slice(1).map(target => new Promise(done => {
  const at = target.lastIndexOf(":")
  const socket = require("net").connect({host: target.slice(0, at), port: Number(target.slice(at + 1))})
  const end = reached => { socket.destroy(); done(reached ? [target] : []) }
  socket.setTimeout(3000, () => end(false))
  socket.on("connect", () => end(true)).on("error", () => end(false))
}))).then(reached => console.log(JSON.stringify(reached.flat())))`

// TestAProgramBesideABridgeReachesNothingThatIsNotAllowed attacks from within the
// container of a server over stdio, where tenants run programs of their own. That
// it reaches what it needs shows that the attempts themselves work.
func TestAProgramBesideABridgeReachesNothingThatIsNotAllowed(t *testing.T) {
	t.Parallel()
	if os.Getenv("CLUSTER") != "local" && !networkEnforces(t) {
		t.Log("the cluster's network does not enforce policies, as the operator says: nothing is attacked")
		return
	}
	attacker, victim := newStdioTenant(t, "attacker"), newTenant(t, "victim", "everything")
	pod, other := bridgePod(t, attacker.uid), bridgePod(t, victim.uid)
	node := nodeAddress(t)
	operator := podOf(t, systemNamespace, "operator")
	api := serviceAddress(t, "default", "kubernetes")
	forbidden := map[string]string{
		"another tenant's bridge":                    at(other.Status.PodIP, 8443),
		"the probes and metrics of another tenant's": at(other.Status.PodIP, 8081),
		"the operator":                               at(operator.Status.PodIP, 8081),
		"the API server by its Service":              at(api, 443),
		"the API server by its node":                 at(node, 6443),
		"the kubelet":                                at(node, 10250),
		"the metadata address of clouds":             at("169.254.169.254", 80),
	}
	if os.Getenv("CLUSTER") == "local" {
		for _, target := range portsOfThisMachine(t) {
			forbidden["this machine at "+target] = target
		}
	}
	needed := map[string]string{"the keybroker": at(serviceAddress(t, systemNamespace, "hosted-bridge-keybroker"), 8443)}
	args := []string{"exec", pod.Name, "--container=" + containerOf(t, pod, "everything").Name, "--", "node", "-e", connects}
	for _, targets := range []map[string]string{forbidden, needed} {
		for _, target := range targets {
			args = append(args, target)
		}
	}
	var reached []string
	must.Succeed(t, json.Unmarshal([]byte(mustKubectl(t, args...)), &reached))
	is := map[string]bool{}
	for _, target := range reached {
		is[target] = true
	}
	for what, target := range forbidden {
		t.Run(what, func(t *testing.T) {
			if is[target] {
				t.Errorf("%s is reached", target)
			}
		})
	}
	for what, target := range needed {
		if !is[target] {
			t.Errorf("%s is not reached at %s", what, target)
		}
	}
}

func at(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

func nodeAddress(t *testing.T) string {
	t.Helper()
	var nodes corev1.NodeList
	must.Succeed(t, installed.client.List(t.Context(), &nodes))
	for _, a := range nodes.Items[0].Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	t.Fatal("the node has no address")
	return ""
}

func serviceAddress(t *testing.T, namespace, name string) string {
	t.Helper()
	var s corev1.Service
	must.Succeed(t, installed.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &s))
	return s.Spec.ClusterIP
}

// podOf returns a running pod of a component of the installation.
func podOf(t *testing.T, namespace, component string) (pod corev1.Pod) {
	t.Helper()
	wait.NoError(t, wait.Limit, "the "+component+" runs", func(ctx context.Context) error {
		var pods corev1.PodList
		err := installed.client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/component": component})
		for _, p := range pods.Items {
			if p.Status.PodIP != "" && p.DeletionTimestamp == nil {
				pod = p
				return nil
			}
		}
		return errors.Join(fmt.Errorf("of %d pods none has an address", len(pods.Items)), err)
	})
	return pod
}

// networkEnforces returns what the operator found.
func networkEnforces(t *testing.T) bool {
	t.Helper()
	b := installed.name("enforced")
	if out, err := installed.runKubectl(t.Context(), manifest(b, "desiredState: Suspended"), "apply", "--filename=-"); err != nil {
		t.Fatalf("apply: %v: %s", err, out)
	}
	t.Cleanup(func() { _, _ = installed.runKubectl(t.Context(), "", "delete", "hostedbridge", b, "--wait=false") })
	return strings.HasPrefix(isolationFound(t, b), "True ")
}
