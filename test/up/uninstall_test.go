// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package up tries the scripts in hack/up with a cluster that answers from a
// file, for what a real one does not do on demand.
package up_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// Questions that uninstall.sh asks, as the beginnings of kubectl's arguments.
const (
	askDefinition = "get crd "
	askBridges    = "get hostedbridges "
	askNamespace  = "get namespace tenants "
	askOurs       = "get namespace --selector="
)

// answers are what the cluster says to a question; one that it fails at says so.
type answers map[string]string

const fails = "(fails)"

// script is a program that looks for its arguments' beginnings among the answers,
// and keeps what it is called with.
func script(t *testing.T, name, calls string, a answers) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/sh\necho \"%s $*\" >>%q\ncase \"$*\" in\n", name, calls)
	for question, answer := range a {
		if answer == fails {
			fmt.Fprintf(&b, "'%s'*) echo 'the connection was refused' >&2; exit 1 ;;\n", question)
			continue
		}
		fmt.Fprintf(&b, "'%s'*) printf '%%b' '%s' ;;\n", question, answer)
	}
	b.WriteString("esac\n")
	path := filepath.Join(t.TempDir(), name)
	must.Succeed(t, os.WriteFile(path, []byte(b.String()), 0o700))
	return path
}

func TestNothingIsRemovedThatMayBeSomebodyElses(t *testing.T) {
	const ours, defined = "namespace/tenants\n", "customresourcedefinition.apiextensions.k8s.io/hostedbridges.hostedbridge.dev\n"
	samples := answers{askDefinition: defined, askBridges: `tenants/alice\ntenants/bob\n`, askNamespace: ours, askOurs: ours}
	with := func(question, answer string) answers {
		a := answers{question: answer}
		for q, answer := range samples {
			if q != question {
				a[q] = answer
			}
		}
		return a
	}
	tests := []struct {
		name    string
		cluster answers
		force   string
		says    string // Empty where everything is removed.
	}{
		{"the samples alone", samples, "", ""},
		{"no definitions", answers{}, "", ""},
		{"no HostedBridges", with(askBridges, ""), "", ""},
		{"somebody else's bridges", with(askBridges, `team/carol\ntenants/alice\n`), "", "team/carol"},
		{"one that is only called like a sample", with(askBridges, `team-tenants/alice\n`), "", "team-tenants/alice"},
		{"somebody else's bridges, forced", with(askBridges, `team/carol\n`), "1", ""},
		{"definitions that cannot be asked for", with(askDefinition, fails), "", "cannot tell whether there are HostedBridges"},
		{"bridges that cannot be listed", with(askBridges, fails), "", "cannot list the HostedBridges"},
		{"bridges that cannot be listed, forced", with(askBridges, fails), "1", "cannot list the HostedBridges"},
		{"a namespace that cannot be looked at", with(askNamespace, fails), "", "cannot look at the namespace"},
		{"a label that cannot be asked for", with(askOurs, fails), "", "cannot look at the namespace"},
		{"a namespace of somebody else's", with(askOurs, ""), "", "not labelled"},
		{"a namespace of somebody else's, forced", with(askOurs, ""), "1", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			calls := filepath.Join(t.TempDir(), "calls")
			cmd := exec.CommandContext(t.Context(), "hack/up/uninstall.sh")
			cmd.Dir = "../.."
			cmd.Env = append(os.Environ(), "KUBECTL="+script(t, "kubectl", calls, tt.cluster), "HELM="+script(t, "helm", calls, nil), "FORCE="+tt.force)
			out, err := cmd.CombinedOutput()
			done := must.Value(os.ReadFile(calls))(t)
			removed := strings.Contains(string(done), "kubectl delete") || strings.Contains(string(done), "helm uninstall")
			if tt.says == "" {
				if err != nil || !strings.Contains(string(done), "delete --ignore-not-found --timeout=180s --kustomize=config/default") {
					t.Errorf("%v: %s\n%s", err, out, done)
				}
				return
			}
			if err == nil || removed || !strings.Contains(string(out), tt.says) {
				t.Errorf("%v, something removed: %t\n%s\n%s", err, removed, out, done)
			}
			if strings.Contains(string(out), "tenants/alice\n") && !strings.Contains(tt.says, "alice") {
				t.Errorf("a sample counts as somebody else's: %s", out)
			}
		})
	}
}
