// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"strings"
	"testing"
)

// TestWhyAPackageWasNotFetched has what npx 11.13, uvx 0.8 and pipx 1.7 write.
func TestWhyAPackageWasNotFetched(t *testing.T) {
	t.Parallel()
	const npm404 = "npm error code E404\nnpm error 404 Not Found - GET https://registry.npmjs.org/x - Not found\nnpm error 404\nnpm error 404  '%' is not in this registry.\n"
	for name, tt := range map[string]struct {
		program, log string
		code         Code
		says         string
	}{
		"npm's 404":               {"npx", strings.ReplaceAll(npm404, "%", "@a/servr@1.0.0"), PackageNotFound, "no package @a/servr@1.0.0, or"},
		"a name of another form":  {"npx", strings.ReplaceAll(npm404, "%", "what a person wrote"), PackageNotFound, "no package that it was asked for, or"},
		"another version":         {"npx", "npm error code ETARGET\nnpm error notarget No matching version found for a@9.9.9.\n", VersionNotFound, "no version a@9.9.9:"},
		"no registry":             {"npx", "npm error code ENOTFOUND\nnpm error request to https://token@registry.example/a failed, reason: getaddrinfo ENOTFOUND\n", RegistryUnreachable, "did not answer"},
		"a program of npx":        {"npx", "Error: GITHUB_TOKEN is not set\n", "", ""},
		"another program":         {"server", npm404, "", ""},
		"uv has no such package":  {"uvx", "  × No solution found when resolving tool dependencies:\n  ╰─▶ Because servr was not found in the package registry and you require\n      servr==1.0.0, we can conclude that your requirements are unsatisfiable.\n", PackageNotFound, "no package servr, or"},
		"uv has no such version":  {"uvx", "  × No solution found when resolving tool dependencies:\n  ╰─▶ Because there is no version of notes==9.9.9 and you require notes==9.9.9, we\n      can conclude that your requirements are unsatisfiable.\n", VersionNotFound, "no version notes==9.9.9:"},
		"pip has no such package": {"pipx", "ERROR: Could not find a version that satisfies the requirement servr (from versions: none)\nERROR: No matching distribution found for servr\n", PackageNotFound, "no package servr, or"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := FetchFailure(tt.program, tt.log)
			if f == nil {
				f = &Failure{}
			}
			if f.Code != tt.code || !strings.Contains(f.Message, tt.says) || strings.Contains(f.Message, "://") {
				t.Errorf("got %s %q, want %s and %q", f.Code, f.Message, tt.code, tt.says)
			}
		})
	}
}
