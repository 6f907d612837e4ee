// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/knftables"
)

var update = flag.Bool("update", false, "write the golden files")

// clusterOfTests has two namespaces with a pod of each kind.
func clusterOfTests() State {
	web := []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}, {Name: "dns", ContainerPort: 53, Protocol: corev1.ProtocolUDP}}
	other := []corev1.ContainerPort{{Name: "web", ContainerPort: 9090}}
	return State{
		Namespaces: []*corev1.Namespace{namespace("a"), namespace("b")},
		Pods: []Pod{
			{Namespace: "a", Address: "10.244.0.2", Labels: labels.Set{"app": "web"}, Ports: web},
			{Namespace: "a", Address: "10.244.0.3", Labels: labels.Set{"app": "client"}},
			{Namespace: "b", Address: "10.244.0.4", Labels: labels.Set{"app": "web"}, Ports: other},
			{Namespace: "b", Address: "10.244.0.5", Labels: labels.Set{"app": "client"}},
		},
	}
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}}}
}

// TestRules compares the whole table for the policies of each file of testdata.
func TestRules(t *testing.T) {
	files, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are %d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".in.yaml"), func(t *testing.T) {
			state := clusterOfTests()
			state.Policies = policies(t, file)
			got := table(t, Compute(state))
			golden := strings.TrimSuffix(file, ".in.yaml") + ".out.nft"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || got != string(want) {
				t.Errorf("%v; the table is\n%s\nwant\n%s", err, got, want)
			}
			slices.Reverse(state.Pods)
			slices.Reverse(state.Policies)
			if again := table(t, Compute(state)); again != got {
				t.Errorf("in another order of the same objects the table is\n%s", again)
			}
		})
	}
}

func policies(t *testing.T, file string) (all []*networkingv1.NetworkPolicy) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		p := &networkingv1.NetworkPolicy{}
		document, err := yaml.ToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		strict := json.NewDecoder(bytes.NewReader(document))
		strict.DisallowUnknownFields()
		if err := strict.Decode(p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// table writes the rules twice, as a change does, and returns what is there then.
func table(t *testing.T, r Rules) string {
	t.Helper()
	fake := knftables.NewFake(knftables.InetFamily, Table)
	for range 2 {
		tx := fake.NewTransaction()
		Write(tx, "pods0", r)
		if err := fake.Run(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
	}
	return fake.Dump()
}
