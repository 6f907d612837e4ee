// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"os"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestValidSecretName(t *testing.T) {
	for name, want := range map[string]bool{
		"A": true, "GITHUB_TOKEN": true, "T0": true, strings.Repeat("A", 64): true,
		"credentials.json": true, "a.b.c": true, "-.-": true, "1.2": true,
		"": false, "a": false, "0A": false, "_A": false, "A-B": false, "A b": false, "A\n": false, "Ä": false,
		strings.Repeat("A", 65): false, strings.Repeat("a", 60) + ".json": false,
		".": false, "..": false, ".index": false, "..data": false, "a.": false, ".a": false, "a..b": false, "a/b.c": false, "a.b\n": false,
	} {
		if ValidSecretName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// The API server checks names by the type's marker: both must be one rule.
func TestSecretNamesAreThoseOfTheCRD(t *testing.T) {
	crd := must.Value(os.ReadFile("../../config/crd/bases/hostedbridge.dev_hostedbridges.yaml"))(t)
	if want := "self.matches('" + SecretNamePattern + "')"; !strings.Contains(string(crd), want) {
		t.Errorf("no rule of the API is %s", want)
	}
}
