// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"os"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestAProgramGetsTheVariablesAndAuthoritiesOfItsContainer(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const authorities = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	p := must.Value(container(Post{Env: []string{"NO_PROXY=a,b", "HOME=/elsewhere"}, Authorities: authorities}))(t)
	if got := variable(p.basics, "NO_PROXY"); got != "a,b" {
		t.Errorf("NO_PROXY is %q, want a,b", got)
	}
	if got := variable(p.basics, "HOME"); got == "/elsewhere" {
		t.Error("a variable moves the program's home out of the folder for temporary files")
	}
	got, err := os.ReadFile(variable(p.basics, "NODE_EXTRA_CA_CERTS"))
	if err != nil || string(got) != authorities {
		t.Errorf("NODE_EXTRA_CA_CERTS names a file with %q (%v), want the authorities", got, err)
	}
}

func TestAProgramWithoutAuthoritiesIsToldOfNone(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p := must.Value(container(Post{}))(t)
	if got := variable(p.basics, "NODE_EXTRA_CA_CERTS"); got != "" {
		t.Errorf("NODE_EXTRA_CA_CERTS is %q, want none", got)
	}
}
