// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("a", 80)
	tests := map[string]struct {
		got, want string
	}{
		"a short name keeps all of itself":         {WorkloadName("alice"), "alice-bridge"},
		"envelopes":                                {EnvelopesSecretName("alice"), "alice-envelopes"},
		"salt":                                     {SaltSecretName("alice"), "alice-salt"},
		"the instance is the name":                 {InstanceLabelValue("alice"), "alice"},
		"dots stay":                                {WorkloadName("team.alice"), "team.alice-bridge"},
		"63 characters are not truncated":          {WorkloadName(long[:56]), long[:56] + "-bridge"},
		"64 characters are truncated and hashed":   {WorkloadName(long[:57]), long[:39] + "-36819478e9f52054-bridge"},
		"an instance of 63 is not truncated":       {InstanceLabelValue(long[:63]), long[:63]},
		"an instance of 64 is truncated":           {InstanceLabelValue(long[:64]), long[:46] + "-db007849f35ebbe5"},
		"no separator is left before the hash":     {InstanceLabelValue(long[:44] + ".-" + long[:30]), long[:44] + "-c8d5130a1797d4ca"},
		"the longest name of an object is handled": {EnvelopesSecretName(strings.Repeat("b", 253)), strings.Repeat("b", 36) + "-c195f175647d55a5-envelopes"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.got != tt.want {
				t.Errorf("got %q, want %q", tt.got, tt.want)
			}
			if errs := validation.IsDNS1123Subdomain(tt.got); len(errs) > 0 || len(tt.got) > 63 {
				t.Errorf("%q of %d characters is not a name: %v", tt.got, len(tt.got), errs)
			}
			if errs := validation.IsValidLabelValue(tt.got); len(errs) > 0 {
				t.Errorf("%q is not a label value: %v", tt.got, errs)
			}
		})
	}
}

func TestNamesOfLongBridgesDiffer(t *testing.T) {
	common := strings.Repeat("a", 100)
	if a, b := WorkloadName(common+"1"), WorkloadName(common+"2"); a == b {
		t.Errorf("two bridges share the name %q", a)
	}
}
