// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// shell runs commands as a person does who has kubectl and the ingress program.
type shell struct {
	t          *testing.T
	kubeconfig string
	dir        string
}

// run runs a command by the shell, with the text as its input.
func (c shell) run(input, command string) string {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), "sh", "-e", "-c", command)
	cmd.Dir, cmd.Stdin = c.dir, strings.NewReader(input)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "HOME="+c.dir,
		"PATH="+os.Getenv("KUBEBUILDER_ASSETS")+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// createKey runs "keys create" and the command that it prints. It returns the id of the key.
func (c shell) createKey(b *v1alpha1.HostedBridge) string {
	c.t.Helper()
	var out, problems bytes.Buffer
	args := []string{"create", "--user=" + string(b.User()), "--name=" + b.Name, "--namespace=" + b.Namespace}
	if err := runKeys(args, rand.Reader, time.Now(), &out, &problems); err != nil {
		c.t.Fatalf("%v\n%s", err, problems.String())
	}
	key, command, _ := strings.Cut(out.String(), "\n")
	c.run("", command)
	return strings.Split(key, "_")[1]
}

// TestNoCommandLosesAFieldOfABridge adds and removes keys of HostedBridges that were applied in
// each way that people and tools have.
func TestNoCommandLosesAFieldOfABridge(t *testing.T) {
	i, _ := startTwo(t)
	kubeconfig, dir := testenv.Kubeconfig(t), t.TempDir()
	const csa, ssa = "kubectl apply -f -", "kubectl apply --server-side -f -"
	for n, way := range []struct{ name, first, then, again string }{
		{name: "kubectl create", first: "kubectl create -f -"},
		{name: "kubectl apply", first: csa, again: csa},
		{name: "kubectl apply on the server", first: ssa, again: ssa},
		{name: "kubectl apply, then on the server", first: csa, then: ssa, again: ssa},
		{name: "kubectl create, then apply", first: "kubectl create -f -", then: csa, again: csa},
		{name: "kubectl edit", first: "kubectl create -f -", then: edit},
		{name: "kubectl apply, then edit", first: csa, then: edit},
		{name: "kubectl apply, then patch", first: csa, then: "kubectl patch hb NAME -n NAMESPACE --type=merge -p '{\"spec\":{\"tier\":\"pro\"}}'", again: csa},
		{name: "Argo CD by client-side apply", first: argo, again: argo},
		{name: "Argo CD by server-side apply", first: argo + " --server-side --force-conflicts", again: argo + " --server-side --force-conflicts"},
		{name: "Argo CD by client-side, then the other", first: argo, then: argo + " --server-side --force-conflicts", again: argo + " --server-side --force-conflicts"},
		{name: "Flux", first: flux, again: flux},
		{name: "kubectl apply, then Flux", first: csa, then: flux, again: flux},
	} {
		t.Run(way.name, func(t *testing.T) {
			b := &v1alpha1.HostedBridge{}
			b.Namespace, b.Name = i.namespace, fmt.Sprintf("%s-%d", i.namespace, n)
			manifest := fmt.Sprintf(bridgeManifest, b.Namespace, b.Name)
			c := shell{t, kubeconfig, dir}
			do := func(command string) {
				if command == flux {
					applyAsFlux(t, i.client, manifest)
				} else if command != "" {
					c.run(manifest, strings.NewReplacer("NAMESPACE", b.Namespace, "NAME", b.Name).Replace(command))
				}
			}
			do(way.first)
			do(way.then)
			testenv.ExpectExists(t, i.client, b)
			want := *b.Spec.DeepCopy()
			expect := func(keys ...string) {
				t.Helper()
				testenv.ExpectExists(t, i.client, b)
				got := *b.Spec.DeepCopy()
				var ids []string
				for _, k := range got.APIKeys {
					ids = append(ids, k.ID)
				}
				got.APIKeys = nil
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("the spec has changed (-before +after):\n%s", diff)
				}
				if !slices.Equal(ids, keys) {
					t.Fatalf("keys are %v, want %v", ids, keys)
				}
			}
			first := c.createKey(b)
			expect(first)
			second := c.createKey(b)
			expect(first, second)
			var third struct{ ID string }
			keys := "users/" + b.Name + "/keys"
			i.await("the user", func() bool { return i.admin("GET", keys, "", nil) == http.StatusOK })
			if status := i.admin("POST", keys, `{}`, &third); status != http.StatusCreated {
				t.Fatalf("a key over HTTP: status %d", status)
			}
			expect(first, second, third.ID)
			for _, id := range []string{first, third.ID} {
				if status := i.admin("DELETE", keys+"/"+id, "", nil); status != http.StatusNoContent {
					t.Errorf("revoke a key over HTTP: status %d", status)
				}
			}
			expect(second)
			if way.again != "" {
				want.Tier = "free" // as the manifest says
				do(way.again)
				expect(second)
			}
		})
	}
}

// TestAKeyAndAManifestThatListsKeys shows what docs/operations/keys.md says of such manifests.
func TestAKeyAndAManifestThatListsKeys(t *testing.T) {
	c := shell{t, testenv.Kubeconfig(t), t.TempDir()}
	cl := testenv.Client(t)
	namespace := testenv.Namespace(t, cl)
	listed := "  apiKeys:\n  - {id: manifest0000, hash: \"sha256:" + strings.Repeat("0a", 32) + "\"}\n"
	for n, way := range []struct {
		name, apply string
		keeps       bool
	}{
		{"kubectl apply replaces the list", "kubectl apply -f -", false},
		{"kubectl apply on the server adds to the list", "kubectl apply --server-side -f -", true},
		{"Argo CD's server-side apply adds to the list", argo + " --server-side --force-conflicts", true},
	} {
		t.Run(way.name, func(t *testing.T) {
			c := shell{t, c.kubeconfig, c.dir}
			b := &v1alpha1.HostedBridge{}
			b.Namespace, b.Name = namespace, fmt.Sprintf("%s-%d", namespace, n)
			manifest := fmt.Sprintf(bridgeManifest, b.Namespace, b.Name) + listed
			c.run(manifest, way.apply)
			added := c.createKey(b)
			testenv.ExpectExists(t, cl, b)
			if len(b.Spec.APIKeys) != 2 || len(b.Spec.Servers) != 2 {
				t.Fatalf("the spec is %+v", b.Spec)
			}
			c.run(manifest, way.apply)
			testenv.ExpectExists(t, cl, b)
			if slices.ContainsFunc(b.Spec.APIKeys, func(k v1alpha1.APIKey) bool { return k.ID == added }) != way.keeps {
				t.Errorf("keys are %+v, the added one kept: want %t", b.Spec.APIKeys, way.keeps)
			}
		})
	}
}

const (
	argo = "kubectl apply --field-manager=argocd-controller -f -"
	edit = `KUBE_EDITOR="sed -i 's/tier: free/tier: pro/'" kubectl edit hb NAME -n NAMESPACE`
	// flux stands for the request that Flux makes, without kubectl.
	flux = "flux"
)

const bridgeManifest = `apiVersion: hostedbridge.dev/v1alpha1
kind: HostedBridge
metadata:
  namespace: %s
  name: %s
  labels: {team: blue}
spec:
  tier: free
  servers:
  - name: one
    transport: {url: "https://mcp.example.com/mcp"}
  - name: two
    transport: {url: "https://other.example.com/mcp"}
`

// applyAsFlux does what Flux's kustomize-controller does: a server-side apply that takes over
// fields of others.
func applyAsFlux(t *testing.T, c client.Client, manifest string) {
	t.Helper()
	b := &v1alpha1.HostedBridge{}
	if err := yaml.Unmarshal([]byte(manifest), b); err != nil {
		t.Fatal(err)
	}
	if err := c.Patch(t.Context(), b, client.RawPatch(types.ApplyPatchType, []byte(manifest)), client.FieldOwner("kustomize-controller"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
}
