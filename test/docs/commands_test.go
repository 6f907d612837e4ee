// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// reasons are all for which commands may not be run by the documentation's own
// tests. Each has a sentence beside it in the page that says more.
var reasons = []string{
	"installation", // They make, end or change an installation that other tests use.
	"registry",     // They need a registry of packages or images, or the internet.
	"service",      // They need a program of somebody else's that is not there.
	"long",         // They take more minutes than a test has.
	"machine",      // They change the reader's own machine, or need a person at it.
	"test",         // Another test runs them; it stands in the sentence.
}

// TestEveryCommandIsRunOrSaysWhyNot holds the pages to the form in which their
// commands can be run, and checks the commands without running them.
func TestEveryCommandIsRunOrSaysWhyNot(t *testing.T) {
	f := learn(t)
	pages := must.Value(Pages(Root))(t)
	for _, page := range pages {
		var written []string
		defined := []string{"new_key", "await", "everywhere", "offers"}
		for _, step := range page.Steps {
			said := func(format string, args ...any) {
				t.Helper()
				t.Errorf("%s:%d: "+format, append([]any{page.Path, step.Line}, args...)...)
			}
			switch step.Kind {
			case File:
				written = append(written, step.Name)
			case Shown:
				if err := looksRun(step); err != "" {
					said("%s", err)
				}
			case NotRun:
				checkReason(t, page, step)
				fallthrough
			default:
				for _, err := range f.problems(t, step, written, &defined) {
					said("%v", err)
				}
			}
		}
	}
}

// TestCommandsOfTheTextAreThere checks the plugin's commands and make's targets that stand in
// sentences.
func TestCommandsOfTheTextAreThere(t *testing.T) {
	f, checked := learn(t), 0
	span := regexp.MustCompile("`((?:kubectl bridge|kubectl-bridge|make) [^`\n]+)`")
	for _, page := range must.Value(Pages(Root))(t) {
		for _, found := range span.FindAllStringSubmatch(mustRead(t, page.Path), -1) {
			calls, err := Calls(strings.NewReplacer("<", "", ">", "").Replace(found[1]))
			if err != nil {
				t.Errorf("%s: `%s`: %v", page.Path, found[1], err)
				continue
			}
			for _, call := range calls {
				checked++
				if err := f.check(call, nil); err != nil {
					t.Errorf("%s: `%s`: %v", page.Path, found[1], err)
				}
			}
		}
		for _, ours := range regexp.MustCompile("`go (run|build) \\./cmd/").FindAllString(mustRead(t, page.Path), -1) {
			if !strings.HasPrefix(page.Path, "docs/adr/") {
				t.Errorf("%s: %s …` is no command for readers: write a target of make, or a program of a release", page.Path, ours)
			}
		}
	}
	if checked < 20 {
		t.Errorf("%d commands are found", checked)
	}
}

// TestMakeFetchesTheToolchain has make run in the shell of an official image of Go, whose Go is
// older than the one that go.mod names.
func TestMakeFetchesTheToolchain(t *testing.T) {
	for want, words := range map[string][]string{"auto": nil, "local": {"GOTOOLCHAIN=local"}} {
		cmd := exec.CommandContext(t.Context(), "make", append([]string{"--no-print-directory", "--eval=said: ; @echo $$GOTOOLCHAIN", "said"}, words...)...)
		cmd.Dir, cmd.Env = Root, append(os.Environ(), "GOTOOLCHAIN=local", "MAKEFLAGS=")
		out, err := cmd.CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("make %q has GOTOOLCHAIN=%s (%v), want %s", words, out, err, want)
		}
	}
}

// problems returns what is wrong with the commands of a step.
func (f facts) problems(t *testing.T, step Step, written []string, defined *[]string) (all []error) {
	script := step.Commands()
	if err := bash(t, script); err != nil {
		return []error{err}
	}
	calls, err := Calls(script)
	if err != nil {
		return []error{err}
	}
	for _, function := range regexp.MustCompile(`(?m)^\s*([a-z_]+)\(\)`).FindAllStringSubmatch(script, -1) {
		*defined = append(*defined, function[1])
	}
	for _, call := range calls {
		if strings.HasPrefix(call[0], "$") {
			continue
		}
		if err := f.check(call, *defined); err != nil {
			all = append(all, err)
		}
		if err := files(call, written); err != nil {
			all = append(all, err)
		}
	}
	return all
}

// emptyResults are answers that a check of a result must not match.
var emptyResults = []string{
	"",
	`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[]}}`,
	`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"tools"}}`,
	`{"keys":[],"limit":32}`, `{"recipes":[],"total":0}`, `{"secrets":[],"limit":64}`, `{"servers":[],"metadata":{"count":0}}`,
	"No resources found in tenants namespace.",
	"NAME   USER   TIER   PHASE   READY   TOOLS   URL   LAST-ACTIVE   AGE",
}

// TestNoCheckMatchesAnEmptyResult looks at each "grep -q" of the pages and of the scripts.
func TestNoCheckMatchesAnEmptyResult(t *testing.T) {
	pages := must.Value(Pages(Root))(t)
	sources := map[string]string{}
	for _, page := range pages {
		for _, step := range page.Steps {
			if step.Kind == Run || step.Kind == Hidden {
				sources[page.Path] += step.Commands()
			}
		}
	}
	files := must.Value(filepath.Glob(filepath.Join(Root, "hack/*/*.sh")))(t)
	for _, file := range files {
		sources[strings.TrimPrefix(file, Root+"/")] = mustRead(t, strings.TrimPrefix(file, Root+"/"))
	}
	checks := 0
	for path, source := range sources {
		calls, err := Calls(source)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, call := range calls {
			if !isCheck(call) {
				continue
			}
			checks++
			for _, result := range emptyResults {
				if matches(t, call, result) {
					t.Errorf("%s: %q matches also the empty result %q", path, call, result)
				}
			}
		}
	}
	if checks == 0 {
		t.Error("no check is found")
	}
}

// isCheck reports whether the call asks by grep whether something is there.
// What the shell would put into the words is not known here.
func isCheck(call Call) bool {
	return call[0] == "grep" && strings.HasPrefix(call[min(1, len(call)-1)], "-q") && !strings.Contains(strings.Join(call, " "), "$")
}

// matches runs a check on a result in place of its files.
func matches(t *testing.T, call Call, result string) bool {
	t.Helper()
	pattern := slices.IndexFunc(call[1:], func(word string) bool { return !strings.HasPrefix(word, "-") }) + 2
	cmd := exec.CommandContext(t.Context(), "grep", call[1:pattern]...)
	cmd.Stdin = strings.NewReader(result)
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatalf("%q: %v", call, err)
	}
	return err == nil
}

var command = regexp.MustCompile(`^(\$ |(make|kubectl|curl|helm|go|ingress|bridge|keybroker|git|docker|kind|vault|hack/\S+) .*$)`)

// looksRun returns what is wrong with a block that looks like commands and whose
// language does not say so.
func looksRun(step Step) string {
	if slices.Contains([]string{"bash", "shell", "shellsession", "zsh"}, step.Language) {
		return "commands are sh, or console where their output is shown"
	}
	if step.Language != "" && step.Language != "text" {
		return ""
	}
	for line := range strings.Lines(step.Text) {
		if drawn := strings.ContainsAny(line, "─▶◀│"); !drawn && command.MatchString(strings.TrimSpace(line)) {
			return "a block without a language has commands: it is sh, or console where their output is shown"
		}
	}
	return ""
}

// checkReason checks why something is not run.
func checkReason(t *testing.T, page Page, step Step) {
	t.Helper()
	if !slices.Contains(reasons, step.Reason) || step.Why == "" {
		t.Errorf("%s:%d: not run for the reason %q; %q: reasons are %s, and a sentence comes after one", page.Path, step.Line, step.Reason, step.Why, strings.Join(reasons, ", "))
	}
	if step.Reason != "test" {
		return
	}
	name, _, _ := strings.Cut(step.Why, " ")
	if _, err := os.Stat(filepath.Join(Root, name)); err == nil {
		return
	}
	if !slices.Contains(tests(t), name) {
		t.Errorf("%s:%d: there is no test %s", page.Path, step.Line, name)
	}
}

var found []string

// tests returns the names of all tests of the repository.
func tests(t *testing.T) []string {
	t.Helper()
	if found != nil {
		return found
	}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, folder := range []string{"api", "cmd", "controllers", "hack", "internal", "test"} {
		must.Succeed(t, filepath.WalkDir(filepath.Join(Root, folder), func(path string, entry os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				if err == nil && entry.Name() == "node_modules" {
					return filepath.SkipDir
				}
				return err
			}
			content, err := os.ReadFile(path)
			for _, name := range function.FindAllSubmatch(content, -1) {
				found = append(found, string(name[1]))
			}
			return err
		}))
	}
	return found
}
