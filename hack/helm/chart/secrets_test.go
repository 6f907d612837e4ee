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
		{"one that is there stays", secrets{"hosted-bridge-master-key"}, "", []string{"hosted-bridge-admin", "hosted-bridge-audit-key", "hosted-bridge-snapshot-key"}},
		{"all that are there stay", all, "", nil},
		{"one that is named is not made", secrets{"ring"}, "masterKey: {existingSecret: ring}", []string{"hosted-bridge-admin", "hosted-bridge-audit-key", "hosted-bridge-snapshot-key"}},
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
