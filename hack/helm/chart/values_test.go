// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	yamlnode "go.yaml.in/yaml/v3"
)

func TestValuesThatCannotBeAreRefusedWithTheKey(t *testing.T) {
	tests := []struct {
		name    string
		cluster secrets
		values  string
		want    []string
	}{
		{"a key that is misspelt", nil, "ingres: {replicas: 2}", []string{"ingres", "additional properties"}},
		{"a key within that is misspelt", nil, "ingress: {replica: 2}", []string{"/ingress", "replica"}},
		{"a number as a text", nil, `ingress: {replicas: "2"}`, []string{"/ingress/replicas", "integer"}},
		{"no replica", nil, "operator: {replicas: 0}", []string{"/operator/replicas", "minimum"}},
		{"a public address without a scheme", nil, "baseURL: bridges.example.com", []string{"/baseURL"}},
		{"an image with the shim that is none", nil, "bridge: {runtimes: {shimImages: ['a, b']}}", []string{"/bridge/runtimes/shimImages/0"}},
		{"an index that is none", nil, "audit: {index: {type: mysql}}", []string{"/audit/index/type", "sqlite"}},
		{"an address as a range", nil, "bridge: {upstream: {allowCIDRs: [10.0.0.1]}}", []string{"/bridge/upstream/allowCIDRs/0"}},
		{"resources of an unknown kind", nil, "operator: {resources: {limit: {memory: 1Gi}}}", []string{"/operator/resources", "limit"}},
		{"a tier with a limit that is none", nil, "tiers: {free: {perSecond: 1}}", []string{"/tiers/free", "perSecond"}},
		{"a Redis URL with a password", nil, "quota: {redis: {url: 'redis://:open-sesame@host:6379/0'}}", []string{"quota.redis.url", "without a password"}},
		{"a flag without its dashes", nil, "ingress: {extraArgs: [wait=10s]}", []string{"/ingress/extraArgs/0"}},
		{"a log level that is none", nil, "logLevel: loud", []string{"/logLevel"}},
		{"transit without a Vault", nil, "masterKey: {provider: transit}", []string{"set masterKey.vault.address"}},
		{"a Vault that lets nobody in", nil, "masterKey: {vault: {address: 'https://vault.example'}}", []string{"masterKey.vault.role", "masterKey.vault.tokenSecret"}},
		{"a Vault with a role and a token", nil, "masterKey: {vault: {address: 'https://vault.example', role: a, tokenSecret: b}}", []string{"are both set"}},
		{"a Vault in the clear", nil, "masterKey: {vault: {address: 'http://vault.example', role: a}}", []string{"masterKey.vault.insecure"}},
		{"PostgreSQL without its URL", nil, "audit: {index: {type: postgres}}", []string{"audit.index.postgres.existingSecret"}},
		{"a database beside the store", nil, "audit: {index: {postgres: {existingSecret: database}}}", []string{"audit.index.type is store"}},
		{"an index in a store that is off", nil, "store: {enabled: false}", []string{"audit.index.type is store, but store.enabled is false"}},
		{"more in one bundle than in all", nil, "bundles: {maxTotalBytes: 10000000}", []string{"bundles.maxTotalBytes is less than bundles.maxBytes"}},
		{"a claim that may be", nil, "store: {persistence: {enabled: perhaps}}", []string{"/store/persistence/enabled"}},
		{"a password without a Redis", nil, "quota: {redis: {existingSecret: redis}}", []string{"need quota.redis.url"}},
		{"a git repository", nil, "catalog: {seed: {source: 'git:https://me:open-sesame@git.example/r'}}", []string{"catalog.seed.source is git:URL", "archive:URL"}},
		{"a token for a folder", nil, "catalog: {seed: {tokenSecret: seed}}", []string{"catalog.seed.tokenSecret"}},
		{"a node's port of no node", nil, "ingress: {service: {nodePort: 30080}}", []string{"ingress.service.type"}},
		{"policies that are required and not made", nil, "isolation: {networkPolicy: {enabled: false, require: true}}", []string{"isolation.networkPolicy.require needs isolation.networkPolicy.enabled"}},
		{"policies that are required and not tried", nil, "isolation: {networkPolicy: {probe: false, require: true}}", []string{"isolation.networkPolicy.require needs", "isolation.networkPolicy.probe"}},
		{"a Secret that is not there", secrets{"other"}, "masterKey: {existingSecret: ring}", []string{"masterKey.existingSecret names the Secret ring", "namespace elsewhere"}},
		{"an administrators' Secret that is not there", secrets{"other"}, "admin: {existingSecret: gone}", []string{"admin.existingSecret names the Secret gone"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := renderAt(t, tt.cluster, tt.values)
			if err == nil {
				t.Fatal("the values are taken")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the message has no %q: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "sesame") {
				t.Error("the message has the password in it")
			}
		})
	}
}

func TestASecretThatIsThereIsTaken(t *testing.T) {
	if _, err := renderAt(t, secrets{"ring"}, "masterKey: {existingSecret: ring}"); err != nil {
		t.Error(err)
	}
	// Nobody can say without a cluster.
	if _, err := renderAt(t, nil, "masterKey: {existingSecret: ring}"); err != nil {
		t.Error(err)
	}
}

// schemaNode is what the test reads of a JSON schema.
type schemaNode struct {
	Type                 any                    `json:"type"`
	Properties           map[string]*schemaNode `json:"properties"`
	AdditionalProperties any                    `json:"additionalProperties"`
	Ref                  string                 `json:"$ref"`
}

func TestEveryValueIsInTheSchemaAndHasAComment(t *testing.T) {
	var s schemaNode
	if err := json.Unmarshal(load(t).Schema(), &s); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(folder + "/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document yamlnode.Node
	if err := yamlnode.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	compare(t, "", document.Content[0], &s, false)
}

// compare walks through values and schema. A key is explained by a comment of its
// own or by that of the key it belongs to.
func compare(t *testing.T, path string, values *yamlnode.Node, s *schemaNode, explained bool) {
	t.Helper()
	if closed, ok := s.AdditionalProperties.(bool); !ok || closed {
		t.Errorf("the schema of %q takes any key", path)
	}
	seen := map[string]bool{"global": path == ""}
	for n := 0; n+1 < len(values.Content); n += 2 {
		key, value := values.Content[n], values.Content[n+1]
		at := strings.TrimPrefix(path+"."+key.Value, ".")
		seen[key.Value] = true
		own := key.HeadComment != "" || value.LineComment != ""
		if !own && !explained {
			t.Errorf("values.yaml says nothing of %s", at)
		}
		sub, known := s.Properties[key.Value]
		switch {
		case !known:
			t.Errorf("the schema has no %s", at)
		case value.Kind == yamlnode.MappingNode && len(sub.Properties) > 0:
			compare(t, at, value, sub, own)
		}
	}
	for key := range s.Properties {
		if !seen[key] {
			t.Errorf("values.yaml has no %s, which is in the schema", strings.TrimPrefix(path+"."+key, "."))
		}
	}
}
