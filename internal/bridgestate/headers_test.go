// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/template"
)

// withHeaders gives the last server headers.
func withHeaders(headers ...v1alpha1.Header) func(*Observed) {
	return func(o *Observed) {
		servers := o.Bridge.Spec.Servers
		servers[len(servers)-1].Transport.Headers = headers
	}
}

func TestHeadersAreAccepted(t *testing.T) {
	authorization := func(value string) func(*Observed) {
		return withHeaders(v1alpha1.Header{Name: "Authorization", Value: value})
	}
	const at = "spec.servers[1].transport.headers[0].value: header Authorization of server github "
	tests := map[string]struct {
		headers  func(*Observed)
		rejected string
		says     []string
	}{
		"text":                                   {authorization("Bearer hunter2"), "", nil},
		"a secret that is granted":               {authorization("Bearer ${TOKEN}"), "", nil},
		"a file":                                 {authorization("${credentials.json}"), "", nil},
		"a secret that is granted, or a default": {authorization("Bearer ${TOKEN:-none}"), "", nil},
		"a dollar sign":                          {authorization("$$hunter2"), "", nil},
		"a secret that is not granted":           {authorization("Bearer hunter2 ${OTHER}"), "SecretNotGranted", []string{at, "names the secret OTHER", "spec.servers[].secrets"}},
		"not granted, and with a default":        {authorization("Bearer hunter2 ${OTHER:-none}"), "SecretNotGranted", []string{at, "names the secret OTHER"}},
		"granted to another server alone":        {authorization("Bearer hunter2 ${FIRST}"), "SecretNotGranted", []string{at, "names the secret FIRST"}},
		"braces without an end":                  {authorization("Bearer hunter2 ${TOKEN"), "InvalidHeader", []string{at, "cannot be read: $ at position 16", "$$ is a dollar sign"}},
		"a dollar sign alone":                    {authorization("hunter2 $5"), "InvalidHeader", []string{at, "$ at position 9"}},
		"a name that no secret has":              {authorization("hunter2 ${token}"), "InvalidHeader", []string{at, "$ at position 9"}},
		"a line break":                           {authorization("hunter2\r\nX: y"), "InvalidHeader", []string{at, "cannot be read: it holds a line break"}},
		"a line break in a default":              {authorization("${TOKEN:-hunter2\n}"), "InvalidHeader", []string{at, "cannot be read: it holds a line break"}},
		"one header twice": {
			withHeaders(v1alpha1.Header{Name: "X-Key", Value: "a"}, v1alpha1.Header{Name: "x-key", Value: "b"}),
			"InvalidHeader", []string{"spec.servers[1].transport.headers[1].name: x-key of server github is the same header as X-Key"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := observed(needing("first", "FIRST"), withHeaders(v1alpha1.Header{Name: "Authorization", Value: "${FIRST}"}),
				needing("github", "TOKEN", "credentials.json"), tt.headers, withWorkload)
			p := Decide(o, now)
			if p.Rejected.Reason != tt.rejected || (p.Action == Run) != (tt.rejected == "") {
				t.Errorf("%s, rejected %v; want %q", p.Action, p.Rejected, tt.rejected)
			}
			for _, says := range tt.says {
				if !strings.Contains(p.Rejected.Message, says) {
					t.Errorf("the message does not say %q: %s", says, p.Rejected.Message)
				}
			}
			if strings.Contains(p.Rejected.Message, "hunter2") {
				t.Errorf("the message quotes the value: %s", p.Rejected.Message)
			}
		})
	}
}

func TestAServerWithADefaultIsNotOutOfService(t *testing.T) {
	o := observed(needing("github", "TOKEN"), withHeaders(v1alpha1.Header{Name: "X", Value: "${TOKEN:-anonymous}"}), notSet("TOKEN"))
	if c := condition(t, v1alpha1.ConditionSecretsSealed, o); c.Reason != v1alpha1.ReasonSealed {
		t.Errorf("%s: %s", c.Reason, c.Message)
	}
	if c := condition(t, v1alpha1.ConditionReady, o); strings.Contains(c.Message, "github") {
		t.Errorf("ready, but %s", c.Message)
	}
	// It is, with one that is there and does not open: that one was meant to be used.
	failing(v1alpha1.ReasonSecretsUnreadable, "TOKEN", "it does not open")(&o)
	if c := condition(t, v1alpha1.ConditionReady, o); !strings.Contains(c.Message, "server github (TOKEN)") {
		t.Errorf("ready, and %s", c.Message)
	}
}

// The bridge cannot import the API and has the rule for names once more.
func TestTheBridgeTakesTheNamesThatTheAPITakes(t *testing.T) {
	for _, name := range []string{
		"A", "T0", "GITHUB_TOKEN", "credentials.json", "a.b.c", "-.-", strings.Repeat("A", 64), strings.Repeat("a", 62) + ".b",
		"", "a", "0A", "_A", "A-B", "A b", "Ä", ".", "..", ".index", "a.", "a..b", "a/b.c", "A\n",
		strings.Repeat("A", 65), strings.Repeat("a", 63) + ".b", strings.Repeat("a", 60) + ".json",
	} {
		if bridge, api := template.ValidName(name), v1alpha1.ValidSecretName(name); bridge != api {
			t.Errorf("%q: the bridge %v, the API %v", name, bridge, api)
		}
	}
}
