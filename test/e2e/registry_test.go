// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// npxTimeout bounds the start of a bridge and what npx fetches for a small
// server, which takes some 5 s.
const npxTimeout = 3 * time.Minute

// TestTheReadmesExampleUserHasTheToolsOfAServerOverNpx applies the example of the
// README as it is there, except for the user's name, namespace and key. Its other
// servers lack their secrets.
func TestTheReadmesExampleUserHasTheToolsOfAServerOverNpx(t *testing.T) {
	t.Parallel()
	needRegistry(t)
	n := tenant{name: installed.name("readme"), key: mint(t)}
	b := exampleOfReadme(t)
	b.ObjectMeta = metav1.ObjectMeta{Namespace: installed.namespace, Name: n.name}
	b.Spec.APIKeys = []v1alpha1.APIKey{n.key.listed(n.name)}
	n.uid = create(t, b)
	awaitReady(t, n.name)
	session := must.Value(newSDKClient(n, modernVersion).connect(t.Context()))(t)
	defer session.Close()
	awaitToolsWithin(t, npxTimeout, session, "memory_create_entities", "memory_read_graph")
}

// exampleOfReadme returns the HostedBridge in the README.
func exampleOfReadme(t *testing.T) *v1alpha1.HostedBridge {
	t.Helper()
	text := must.Value(os.ReadFile("../../README.md"))(t)
	for block := range strings.SplitSeq(string(text), "```") {
		manifest, isYAML := strings.CutPrefix(block, "yaml\n")
		var b v1alpha1.HostedBridge
		if !isYAML || !strings.Contains(manifest, "kind: HostedBridge") {
			continue
		}
		if err := yaml.UnmarshalStrict([]byte(manifest), &b); err != nil {
			t.Fatalf("read the README's example: %v", err)
		}
		return &b
	}
	t.Fatal("the README has no example of a HostedBridge")
	return nil
}

// registryFromHere returns the registry that this machine's npm asks, and why it
// is not reached from here, empty where it is.
func registryFromHere(t testing.TB) (registry, reason string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "npm", "config", "get", "registry").Output()
	if err != nil {
		return "", "npm does not say which it is: " + err.Error()
	}
	registry = strings.TrimSpace(string(out))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, registry, nil)
	if err != nil {
		return registry, err.Error()
	}
	answer, err := (&http.Client{}).Do(request)
	if err != nil {
		return registry, err.Error()
	}
	_ = answer.Body.Close()
	return registry, ""
}

// TestAPodOfTheLocalClusterDoesNotReachTheMachine attacks a port that the machine
// has open on all its addresses, from a pod for which no policy holds.
func TestAPodOfTheLocalClusterDoesNotReachTheMachine(t *testing.T) {
	t.Parallel()
	if os.Getenv("CLUSTER") != "local" {
		t.Skip("the cluster is not the local one, which alone has its way out through this machine") //nolint:forbidigo // A cluster of somebody else.
	}
	forbidden := portsOfThisMachine(t)
	api := at(serviceAddress(t, "default", "kubernetes"), 443)
	name := installed.name("outsider")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: installed.namespace, Name: name},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken:  new(false),
			TerminationGracePeriodSeconds: new(int64(0)),
			RestartPolicy:                 corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "node", Image: installed.servers, ImagePullPolicy: corev1.PullIfNotPresent,
				Command: append([]string{"node", "-e", connects, api}, forbidden...),
			}},
		},
	}
	must.Succeed(t, installed.client.Create(t.Context(), pod))
	mustKubectl(t, "wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/"+name, "--timeout=60s")
	var reached []string
	must.Succeed(t, json.Unmarshal([]byte(mustKubectl(t, "logs", name)), &reached))
	if !slices.Contains(reached, api) {
		t.Error("the API server's Service is not reached, so that the attempts themselves do not work")
	}
	for _, target := range forbidden {
		if slices.Contains(reached, target) {
			t.Errorf("%s is reached, which is this machine", target)
		}
	}
}

// portsOfThisMachine opens a port on all addresses of the machine, and returns it
// at each of them, at a loopback address and at the gateway of the way out, where
// slirp4netns has the machine's loopback unless told otherwise.
func portsOfThisMachine(t *testing.T) (targets []string) {
	t.Helper()
	listener := must.Value(new(net.ListenConfig).Listen(t.Context(), "tcp4", "0.0.0.0:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	port := listener.Addr().(*net.TCPAddr).Port
	addresses := must.Value(net.InterfaceAddrs())(t)
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			targets = append(targets, at(n.IP.String(), port))
		}
	}
	if len(targets) == 0 {
		t.Log("this machine has no address but its loopback's")
	}
	return append(targets, at("127.0.0.1", port), at("10.213.1.2", port))
}
