// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import "testing"

func TestSecretsOfALaunchAreTakenOut(t *testing.T) {
	t.Parallel()
	const key = "{\"client\":{\"secret\":\"inner-value\",\"lines\":\"first-line\\nsecond-line\"},\"list\":[\"an-element\"],\"short\":\"oauth2\"}"
	all := Launch{Env: []string{"A=env-value", "B=ab"}, Files: []File{{Name: "k", Content: []byte(key)}, {Name: "p", Content: []byte("-----BEGIN-----\nAAAABBBBCCCC\n")}}}
	named := Launch{Env: []string{"A=env-value"}, Secrets: []string{"one-secret"}}
	none := Launch{Env: []string{"A=env-value"}, Secrets: []string{}}
	for name, tt := range map[string]struct {
		launch   Launch
		in, want string
	}{
		"a variable":           {all, "x env-value x", "x [redacted] x"},
		"a short one":          {all, "ab", "ab"},
		"a whole file":         {all, key, "[redacted]"},
		"a field of one":       {all, "inner-value", "[redacted]"},
		"a line of a field":    {all, "second-line", "[redacted]"},
		"an element":           {all, "an-element", "[redacted]"},
		"a word in one":        {all, "oauth2", "oauth2"},
		"a line of a file":     {all, "AAAABBBBCCCC", "[redacted]"},
		"what is named":        {named, "one-secret env-value", "[redacted] env-value"},
		"where none are named": {none, "env-value", "env-value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.launch.Redactor().Redact(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
