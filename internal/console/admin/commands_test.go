// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/overview"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestCommandsAreRunAsTheyAreShown gives each command to a shell whose kubectl and operator
// write down their arguments, also for names that no API server accepts.
func TestCommandsAreRunAsTheyAreShown(t *testing.T) {
	dir := t.TempDir()
	// A line is written at once, because two of them run at a time in a pipe.
	const notes = `line=; for a in "$(basename "$0")" "$@"; do line="$line[$a]"; done; printf '%s\n' "$line" >>"$OUT"; [ "$2" != hb ] || printf '%s' "$KEYS_ARE"`
	for _, name := range []string{"kubectl", "operator"} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+notes+"\n"), 0o700))
	}
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "MANIFEST.yaml"), nil, 0o600))
	run := func(text string) string {
		out := filepath.Join(t.TempDir(), "out")
		sh := exec.CommandContext(t.Context(), "sh", "-ec", text)
		sh.Dir, sh.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "OUT="+out, `KEYS_ARE=[{"hash":"user-sha256:1"}]`)
		if said, err := sh.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v %s", text, err, said)
		}
		return string(must.Value(os.ReadFile(out))(t))
	}
	for _, name := range []string{"frank", `it's; "$(touch broken)"`} {
		d := &overview.Detail{User: overview.User{User: "frank", Namespace: "tenants", Name: name}}
		commands := commandsFor(d, "hosted-bridge-system")
		got := run(commands[0].Text) + run(commands[1].Text) + run(commands[3].Text) + run(eventsCommand(d))
		patch := func(namespace, spec string) string {
			return "[kubectl][patch][hb][" + name + "][-n][" + namespace + "][--type=merge][-p][" + spec + "]"
		}
		want := strings.Join([]string{
			patch("tenants", `{"spec":{"tier":"TIER"}}`), patch("tenants", `{"spec":{"groups":["GROUP"]}}`),
			"[kubectl][apply][-f][-]", "[kubectl][get][hb][" + name + "][-n][tenants][-o][jsonpath={.spec.apiKeys}]",
			patch("NAMESPACE", `{"spec":{"userID":"frank","apiKeys":[{"hash":"user-sha256:1"}]}}`),
			"[kubectl][delete][hb][" + name + "][-n][tenants]", "[kubectl][wait][--for=condition=Ready][hb][" + name + "][-n][NAMESPACE][--timeout=90s]",
			"[kubectl][events][--for][hostedbridge/" + name + "][-n][tenants]", "",
		}, "\n")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if _, err := os.Stat(filepath.Join(dir, "broken")); err == nil {
			t.Errorf("%s: a name was run", name)
		}
		if got := run(commands[2].Text); !strings.Contains(got, "[operator][profiles][diff][--namespace][hosted-bridge-system]") || !strings.Contains(got, "[kubectl][apply][-f][PROFILE.yaml]") {
			t.Errorf("a profile: %s", got)
		}
	}
}

func TestFiguresSayOfWhatAPercentageIs(t *testing.T) {
	for want, f := range map[string]overview.Figures{
		"50 calls: 14 ran, 2 of these failed (14.3 %), 36 over a quota":    overview.FiguresOf(audit.Calls{ByStatus: map[audit.Status]int64{audit.Success: 12, audit.Timeout: 2, audit.RateLimited: 36}}),
		"3 calls: 0 ran, 0 of these failed, 1 over a quota, 2 not allowed": overview.FiguresOf(audit.Calls{ByStatus: map[audit.Status]int64{audit.Denied: 2, audit.RateLimited: 1}}),
		"0 calls": overview.FiguresOf(audit.Calls{}),
	} {
		if got := endedOf(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
