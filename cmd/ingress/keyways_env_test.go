// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"maps"
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
	"github.com/hostedbridge/hostedbridge/internal/tenant/bridgestore"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// shell runs commands as a person does who has kubectl and the ingress program.
type shell struct {
	t          *testing.T
	kubeconfig string
	dir        string
}

// run runs a command by the shell, with the text as its input.
func (c shell) run(input, command string) {
	c.t.Helper()
	if out, err := c.try(input, command); err != nil {
		c.t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// try is run for a command that may fail. It returns what the command prints.
func (c shell) try(input, command string) (string, error) {
	cmd := exec.CommandContext(c.t.Context(), "sh", "-e", "-c", command)
	cmd.Dir, cmd.Stdin = c.dir, strings.NewReader(input)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "HOME="+c.dir,
		"PATH="+os.Getenv("KUBEBUILDER_ASSETS")+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// createKey runs "keys create" and the command that it prints. It returns the id of the key.
func (c shell) createKey(b *v1alpha1.HostedBridge) string {
	c.t.Helper()
	id, command := c.mint(b)
	c.run("", command)
	return id
}

// mint runs "keys create". It returns the id of the key and the command that adds the key.
func (c shell) mint(b *v1alpha1.HostedBridge) (id, command string) {
	c.t.Helper()
	var out, problems bytes.Buffer
	args := []string{"create", "--user=" + string(b.User()), "--name=" + b.Name, "--namespace=" + b.Namespace}
	if err := keys.Create(args, rand.Reader, time.Now(), &out, &problems); err != nil {
		c.t.Fatalf("%v\n%s", err, problems.String())
	}
	key, command, _ := strings.Cut(out.String(), "\n")
	return strings.Split(key, "_")[1], command
}

// TestNoCommandLosesAFieldOfABridge adds and removes keys of HostedBridges that were applied in
// each way that people and tools have.
func TestNoCommandLosesAFieldOfABridge(t *testing.T) {
	t.Parallel()
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
		{name: "Argo CD by server-side apply", first: argoOnServer, again: argoOnServer},
		{name: "Argo CD by client-side, then the other", first: argo, then: argoOnServer, again: argoOnServer},
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
			want := meaning(b)
			expect := func(keys ...string) {
				t.Helper()
				testenv.ExpectExists(t, i.client, b)
				ids := idsOf(b)
				if diff := cmp.Diff(want, meaning(b)); diff != "" {
					t.Fatalf("the object has changed (-before +after):\n%s", diff)
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
			accept(t, i.client, b)
			want.Spec.OAuth = &v1alpha1.OAuthAccess{Subjects: []v1alpha1.OAuthSubject{{Issuer: invitedIssuer, Subject: b.Name}}}
			expect(second)
			if way.again != "" {
				want.Spec.Tier = "free" // as the manifest says
				do(way.again)
				expect(second)
			}
		})
	}
}

// TestAManifestThatIsAppliedAgainAndItsKeys shows what docs/operations/keys.md says of manifests
// that list keys, and of those that do so no longer.
func TestAManifestThatIsAppliedAgainAndItsKeys(t *testing.T) {
	t.Parallel()
	kubeconfig, dir, cl := testenv.Kubeconfig(t), t.TempDir(), testenv.Client(t)
	namespace := testenv.Namespace(t, cl)
	const listed, added = "manifest0000", "the added key"
	keys := "  apiKeys:\n  - {id: " + listed + ", hash: \"sha256:" + strings.Repeat("0a", 32) + "\"}\n"
	const csa, ssa, replace = "kubectl apply -f -", "kubectl apply --server-side -f -", "kubectl replace -f -"
	const forget = "cat >manifest; kubectl apply set-last-applied -f manifest; kubectl apply -f manifest"
	for n, way := range []struct {
		name, first, again string
		still              bool // whether the manifest still lists its key
		left               []string
	}{
		{"kubectl apply replaces the list", csa, csa, true, []string{listed}},
		{"kubectl apply on the server adds to the list", ssa, ssa, true, []string{listed, added}},
		{"Argo CD's client-side apply replaces the list", argo, argo, true, []string{listed}},
		{"Argo CD's server-side apply adds to the list", argoOnServer, argoOnServer, true, []string{listed, added}},
		{"kubectl apply of a manifest without its list removes all keys", csa, csa, false, nil},
		{"kubectl apply on the server of a manifest without its list removes the manifest's keys", ssa, ssa, false, []string{added}},
		{"set-last-applied before kubectl apply keeps all keys", csa, forget, false, []string{listed, added}},
		{"kubectl replace removes the keys that it does not list", csa, replace, true, []string{listed}},
		{"kubectl replace by a manifest without a list removes all keys", csa, replace, false, nil},
	} {
		t.Run(way.name, func(t *testing.T) {
			c := shell{t, kubeconfig, dir}
			b := &v1alpha1.HostedBridge{}
			b.Namespace, b.Name = namespace, fmt.Sprintf("%s-%d", namespace, n)
			manifest := fmt.Sprintf(bridgeManifest, b.Namespace, b.Name)
			c.run(manifest+keys, way.first)
			id := c.createKey(b)
			testenv.ExpectExists(t, cl, b)
			if ids := idsOf(b); !slices.Equal(ids, []string{listed, id}) || len(b.Spec.Servers) != 2 {
				t.Fatalf("the spec is %+v", b.Spec)
			}
			again := manifest
			if way.still {
				again += keys
			}
			c.run(again, way.again)
			testenv.ExpectExists(t, cl, b)
			var left []string
			for _, k := range idsOf(b) {
				left = append(left, strings.Replace(k, id, added, 1))
			}
			if !slices.Equal(left, way.left) {
				t.Errorf("keys are %v, want %v", left, way.left)
			}
		})
	}
}

// TestTheCommandOfAKeyTooManySaysSo runs the printed command for a HostedBridge whose list is full.
func TestTheCommandOfAKeyTooManySaysSo(t *testing.T) {
	t.Parallel()
	cl := testenv.Client(t)
	c := shell{t, testenv.Kubeconfig(t), t.TempDir()}
	b := &v1alpha1.HostedBridge{}
	b.Namespace = testenv.Namespace(t, cl)
	b.Name = b.Namespace
	for n := range keys.Max {
		b.Spec.APIKeys = append(b.Spec.APIKeys, v1alpha1.APIKey{ID: fmt.Sprintf("manifest%04d", n), Hash: "sha256:" + strings.Repeat("0a", 32)})
	}
	testenv.ExpectApplied(t, cl, b)
	_, command := c.mint(b)
	out, err := c.try("", command)
	if err == nil || !strings.Contains(out, "spec.apiKeys: Too many: ") {
		t.Errorf("the command ends with %v and prints\n%s", err, out)
	}
	testenv.ExpectExists(t, cl, b)
	if len(b.Spec.APIKeys) != keys.Max {
		t.Errorf("there are %d keys", len(b.Spec.APIKeys))
	}
}

// meaning returns what people and tools have written into the object, without keys.
func meaning(b *v1alpha1.HostedBridge) *v1alpha1.HostedBridge {
	written := &v1alpha1.HostedBridge{Spec: *b.Spec.DeepCopy()}
	written.Name, written.Namespace, written.Labels, written.Annotations = b.Name, b.Namespace, maps.Clone(b.Labels), maps.Clone(b.Annotations)
	written.Spec.APIKeys = nil
	delete(written.Annotations, "kubectl.kubernetes.io/last-applied-configuration") // It is kubectl's own.
	if len(written.Annotations) == 0 {
		written.Annotations = nil
	}
	return written
}

func idsOf(b *v1alpha1.HostedBridge) (ids []string) {
	for _, k := range b.Spec.APIKeys {
		ids = append(ids, k.ID)
	}
	return ids
}

const invitedIssuer = "https://login.example.com"

// accept adds the subject that accepts an invitation to the bridge.
func accept(t *testing.T, c client.Client, b *v1alpha1.HostedBridge) {
	t.Helper()
	onboarding := &bridgestore.Onboarding{Client: c}
	of := bridgestore.BridgeRef{NamespacedName: client.ObjectKeyFromObject(b), UID: b.UID}
	if err := onboarding.Bind(t.Context(), of, invitedIssuer, b.Name); err != nil {
		t.Fatalf("accept an invitation: %v", err)
	}
}

const (
	argo         = "kubectl apply --field-manager=argocd-controller -f -"
	argoOnServer = argo + " --server-side --force-conflicts"
	edit         = `KUBE_EDITOR="sed -i 's/tier: free/tier: pro/'" kubectl edit hb NAME -n NAMESPACE`
	// flux stands for the request that Flux makes, without kubectl.
	flux = "flux"
)

const bridgeManifest = `apiVersion: hostedbridge.dev/v1alpha1
kind: HostedBridge
metadata:
  namespace: %s
  name: %s
  labels: {team: blue}
  annotations: {example.com/owner: ada}
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
	must.Succeed(t, yaml.Unmarshal([]byte(manifest), b))
	if err := c.Patch(t.Context(), b, client.RawPatch(types.ApplyPatchType, []byte(manifest)), client.FieldOwner("kustomize-controller"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
}
