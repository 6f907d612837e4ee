// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
)

func TestAMessageIsReadAsItWasWritten(t *testing.T) {
	for _, m := range []health.Suspect{
		{},
		{Server: "jira", Cause: health.SuspectMemory},
		{Server: `a "name" <&>`, Cause: health.SuspectInFlight},
	} {
		if got := health.ParseSuspect(m.Text()); got != m {
			t.Errorf("%q is read as %+v", m.Text(), got)
		}
	}
}

func TestATextThatIsNoMessageSuspectsNobody(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                      "",
		"blanks":                       "  \n",
		"the beginning of a message":   `{"server":"jira","cau`,
		"two messages":                 `{"server":"jira","cause":"memory"}{"server":"files","cause":"memory"}`,
		"a message and rest of one":    `{"server":"jira","cause":"memory"}"memory"}`,
		"a log line":                   "panic: runtime error",
		"an unknown cause":             `{"server":"jira","cause":"mood"}`,
		"no server":                    `{"server":"","cause":"memory"}`,
		"an unknown field":             `{"server":"jira","cause":"memory","spec":{}}`,
		"more than the kubelet copies": `{"server":"` + strings.Repeat("x", 4096) + `","cause":"memory"}`,
	} {
		if got := health.ParseSuspect(text); got != (health.Suspect{}) {
			t.Errorf("%s: %q is read as %+v", name, text, got)
		}
	}
}
