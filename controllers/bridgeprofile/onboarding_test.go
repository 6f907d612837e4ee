// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeprofile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestTheFileOfFirstLoginsIsABridgeProfile(t *testing.T) {
	const profile = "apiVersion: hostedbridge.dev/v1alpha1\nkind: BridgeProfile\n"
	for name, test := range map[string]struct{ text, want string }{
		"one":                  {profile + "spec: {tier: pro}\n", ""},
		"another kind":         {"apiVersion: hostedbridge.dev/v1alpha1\nkind: HostedBridge\n", "must be a BridgeProfile"},
		"another version":      {"apiVersion: hostedbridge.dev/v2\nkind: BridgeProfile\n", "must be a BridgeProfile of hostedbridge.dev/v1alpha1"},
		"a field that is none": {profile + "spec: {tiers: pro}\n", `unknown field "tiers"`},
		"no YAML":              {"{", "yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "profile.yaml")
			must.Succeed(t, os.WriteFile(file, []byte(test.text), 0o600))
			got, err := ReadOnboardingProfile(file)
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) || err == nil && got["kind"] != "BridgeProfile" {
				t.Errorf("%v, error %v, want %q", got, err, test.want)
			}
		})
	}
	if got, err := ReadOnboardingProfile(""); got != nil || err != nil {
		t.Errorf("without a file: %v, %v", got, err)
	}
	if _, err := ReadOnboardingProfile("missing.yaml"); err == nil {
		t.Error("a file that does not exist is read")
	}
}
