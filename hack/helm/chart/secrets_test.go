// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// entries are the keys that the chart makes.
var entries = map[string][]string{
	"hosted-bridge-master-key":   {"1", "authority"},
	"hosted-bridge-admin":        {"key"},
	"hosted-bridge-audit-key":    {"key"},
	"hosted-bridge-catalog-key":  {"key"},
	"hosted-bridge-snapshot-key": {"key"},
}

func made(t *testing.T, cluster secrets, values string) map[string]unstructured.Unstructured {
	t.Helper()
	files, err := renderAt(t, cluster, values)
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, files["secrets.yaml"])
}

func TestKeysAreMadeWhereTheClusterHasNone(t *testing.T) {
	all := slices.Sorted(maps.Keys(entries))
	tests := []struct {
		name    string
		cluster secrets
		values  string
		want    []string
	}{
		{"a namespace without any", secrets{}, "", all},
		{"a namespace with others", secrets{"sh.helm.release.v1.some-name.v1"}, "", all},
		{"one that is there stays", secrets{"hosted-bridge-master-key"}, "", []string{"hosted-bridge-admin", "hosted-bridge-audit-key", "hosted-bridge-catalog-key", "hosted-bridge-snapshot-key"}},
		{"all that are there stay", all, "", nil},
		{"one that is named is not made", secrets{"ring"}, "masterKey: {existingSecret: ring}", []string{"hosted-bridge-admin", "hosted-bridge-audit-key", "hosted-bridge-catalog-key", "hosted-bridge-snapshot-key"}},
		{"none is made that another would take the place of", nil, "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, o := range made(t, tt.cluster, tt.values) {
				got = append(got, o.GetName())
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("made are %v, want %v", got, tt.want)
			}
		})
	}
}

func TestAKeyBelongsToNoRevisionAndIsDeletedByNone(t *testing.T) {
	for name, o := range made(t, secrets{}, "") {
		a := o.GetAnnotations()
		if a["helm.sh/hook"] != "pre-install,pre-upgrade" {
			t.Errorf("%s is in the release: a rollback would write it", name)
		}
		// Without a policy the default holds, which deletes what is there.
		if policy := a["helm.sh/hook-delete-policy"]; policy == "" || strings.Contains(policy, "before-hook-creation") || strings.Contains(policy, "hook-succeeded") {
			t.Errorf("%s has the policy %q", name, policy)
		}
		if a["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s does not say that it stays", name)
		}
	}
}

func TestEachKeyIsOf32RandomBytes(t *testing.T) {
	seen := map[string]bool{}
	for range 2 {
		for name, o := range made(t, secrets{}, "") {
			data, _ := o.Object["data"].(map[string]any)
			if got := slices.Sorted(maps.Keys(data)); !slices.Equal(got, entries[o.GetName()]) {
				t.Errorf("%s has %v", name, got)
			}
			for entry, text := range data {
				key := decode(t, text.(string))
				if len(key) != 32 || seen[string(key)] {
					t.Errorf("%s: the key %s has %d bytes or is not random", name, entry, len(key))
				}
				seen[string(key)] = true
			}
		}
	}
}

// TestASecondMasterKeyIsNotMade has a cluster without the Secret of the ring.
func TestASecondMasterKeyIsNotMade(t *testing.T) {
	trust := func(fields map[string]any) object {
		return object{kind: "ConfigMap", namespace: elsewhere, name: "hosted-bridge-ca", fields: fields}
	}
	bridge := func(namespace string, status map[string]any) object {
		return object{kind: "HostedBridge", namespace: namespace, name: "alice", fields: map[string]any{"status": status}}
	}
	ran := trust(map[string]any{"data": map[string]any{"ca.crt": "certificate"}})
	sealed := map[string]any{"keyVersion": int64(1)}
	tests := []struct {
		name    string
		cluster cluster
		values  string
		says    []string // None where a key is made, or where one is named.
	}{
		{"an upgrade that forgets which Secret the ring has", secrets{"ring"}.and(ran), "", []string{"hosted-bridge-master-key", "masterKey.existingSecret", elsewhere, "a keybroker has run"}},
		{"the same, with the Secret", secrets{"ring"}.and(ran), "masterKey: {existingSecret: ring}", nil},
		{"an installation that failed before a keybroker ran", secrets{}.and(trust(nil)), "", nil},
		{"another installation's certificate", secrets{}.and(object{kind: "ConfigMap", namespace: "other", name: "hosted-bridge-ca", fields: ran.fields}), "", nil},
		{"an installation after an uninstall that kept the ring", secrets{"hosted-bridge-master-key"}.and(bridge("tenants", sealed)), "", nil},
		{"one that did not keep the ring", secrets{}.and(bridge("tenants", sealed)), "", []string{"tenants/alice", "masterKey.existingSecret"}},
		{"one that did not need the ring", secrets{}.and(bridge("tenants", nil)), "", nil},
		{"a bridge in a namespace that is watched", secrets{}.and(bridge("tenants", sealed)), "watchNamespaces: [trials, tenants]", []string{"tenants/alice"}},
		{"a bridge in one that is not", secrets{}.and(bridge("tenants", sealed)), "watchNamespaces: [trials]", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := renderAt(t, tt.cluster, tt.values)
			expectRefusal(t, err, tt.says)
		})
	}
}

func TestDefinitionsThatAnUpgradeWouldDeleteAreNotGivenUp(t *testing.T) {
	definition := func(release, namespace, policy string) object {
		return object{kind: "CustomResourceDefinition", name: "hostedbridges.hostedbridge.dev", annotations: map[string]string{
			"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": namespace, "helm.sh/resource-policy": policy,
		}}
	}
	ours := secrets{}.and(definition("some-name", elsewhere, ""))
	refused := []string{"hostedbridges.hostedbridge.dev", "crds.keep", "delete"}
	tests := []struct {
		name    string
		cluster cluster
		values  string
		says    []string
	}{
		{"those that need not stay", ours, "crds: {install: false, keep: false}", refused},
		{"those that should have stayed", ours, "crds: {install: false}", refused},
		{"in namespaced mode, that need not stay", ours, "{watchNamespaces: [tenants], crds: {install: false, keep: false}}", refused},
		{"those that go on in the release", ours, "crds: {keep: false}", nil},
		{"those that stay", secrets{}.and(definition("some-name", elsewhere, "keep")), "crds: {install: false, keep: false}", nil},
		{"those of another release", secrets{}.and(definition("other", elsewhere, "")), "crds: {install: false, keep: false}", nil},
		{"those of another namespace's release", secrets{}.and(definition("some-name", "other", "")), "crds: {install: false, keep: false}", nil},
		{"none", secrets{}.and(), "crds: {install: false}", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := renderAt(t, tt.cluster, tt.values)
			expectRefusal(t, err, tt.says)
		})
	}
}

// expectRefusal expects an error that says this, and none where there is nothing
// to say.
func expectRefusal(t *testing.T, err error, says []string) {
	t.Helper()
	if (err != nil) != (len(says) > 0) {
		t.Fatalf("error %v, want one that has %q", err, says)
	}
	for _, part := range says {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
}
