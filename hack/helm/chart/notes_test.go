// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestTheNotesHaveAFirstProfile reads the manifest that the notes give, as somebody does who copies it.
func TestTheNotesHaveAFirstProfile(t *testing.T) {
	for values, namespaces := range map[string]string{"": "*", "watchNamespaces: [people, trials]": "people trials"} {
		_, after, _ := strings.Cut(render(t, values)["NOTES.txt"], "kubectl apply --filename=- <<END\n")
		manifest, _, found := strings.Cut(after, "\n  END\n")
		var p struct {
			Kind     string
			Metadata struct{ Namespace string }
			Spec     struct {
				Who     struct{ Namespaces []string }
				Servers []struct{ Name, Use string }
			}
		}
		if err := yaml.Unmarshal([]byte(manifest), &p); err != nil || !found {
			t.Fatalf("%v in %q", err, manifest)
		}
		if p.Kind != "BridgeProfile" || p.Metadata.Namespace == "" || strings.Join(p.Spec.Who.Namespaces, " ") != namespaces || len(p.Spec.Servers) != 2 || p.Spec.Servers[0].Use != "Optional" {
			t.Errorf("%q: %+v", values, p)
		}
	}
}
