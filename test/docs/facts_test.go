// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// facts are what the commands of the documentation may speak of.
type facts struct {
	targets   []string
	variables []string
	// flags are those of our programs, by the program and its subcommand.
	flags map[string][]string
	// values are the keys of the chart's values, with dots between them.
	values []string
}

// foreign are programs of others that readers are told to run. The list is what
// tells a mistyped name from a program.
var foreign = strings.Fields(`. [ age age-keygen alias awk base64 bao bash cat cd chmod claude cosign curl cut docker echo exit export false git go
	grep head helm jq kill kind kubectl kubeadm mkdir npm npx openssl pass printf psql pwd read rm sed seq set sh skopeo sleep sort source ss
	tail tar tee test trap true tr umask uniq vault wait wc xargs`)

func learn(t *testing.T) facts {
	t.Helper()
	var f facts
	makefile := mustRead(t, "Makefile")
	for _, target := range regexp.MustCompile(`(?m)^([a-z][a-z0-9/_.-]*):`).FindAllStringSubmatch(makefile, -1) {
		f.targets = append(f.targets, target[1])
	}
	f.variables = append(f.variables, regexp.MustCompile(`\b[A-Z][A-Z_]+\b`).FindAllString(makefile+scripts(t), -1)...)
	f.flags = map[string][]string{}
	var command string
	for line := range strings.Lines(mustRead(t, "docs/reference/flags.md")) {
		if heading := regexp.MustCompile("^##+ `(.*)`").FindStringSubmatch(line); heading != nil {
			command = heading[1]
			f.flags[command] = []string{"--help", "-h", "--version"}
		}
		if row := regexp.MustCompile("^\\| `(--[^` ]+)`(?:, `(-.)`)?").FindStringSubmatch(line); row != nil {
			f.flags[command] = append(f.flags[command], row[1], row[2])
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(mustRead(t, "docs/reference/values.md"), -1) {
		f.values = append(f.values, row[1])
	}
	return f
}

// scripts returns the scripts that targets of make call: what they take from
// the environment can be given to make.
func scripts(t *testing.T) string {
	t.Helper()
	files := must.Value(filepath.Glob(filepath.Join(Root, "hack/*/*.sh")))(t)
	var all strings.Builder
	for _, file := range files {
		content := must.Value(os.ReadFile(file))(t)
		all.Write(content)
	}
	return all.String()
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	return string(must.Value(os.ReadFile(filepath.Join(Root, path)))(t))
}

// check returns what is wrong with a call.
func (f facts) check(call Call, defined []string) error {
	program := call[0]
	if strings.HasPrefix(program, "/") || strings.HasPrefix(program, "./") {
		program = filepath.Base(program)
	}
	switch {
	case program == "make":
		return f.make(call)
	case program == "go" && len(call) > 1 && slices.Contains([]string{"run", "build", "test"}, call[1]):
		return fmt.Errorf("go %s needs the Go that go.mod names, which readers need not have: write a target of make, or a program of a release", call[1])
	case program == "kubectl":
		return f.kubectl(call, defined)
	case program == "helm":
		return f.helm(call)
	case slices.Contains([]string{"ingress", "keybroker", "operator"}, call[0]):
		return fmt.Errorf("%s is in its image alone: kubectl exec runs it there, as /%s", program, program)
	case slices.Contains([]string{"bridge", "ingress", "keybroker", "operator"}, program):
		return f.ours(program, call[1:])
	case program == "kubectl-bridge":
		return f.ours("kubectl bridge", call[1:])
	case strings.HasPrefix(call[0], "hack/"), strings.HasPrefix(call[0], "bin/"):
		return nil // Files are looked for in any case.
	case slices.Contains(foreign, program), slices.Contains(defined, program):
		return nil
	}
	return fmt.Errorf("no program is called %q", program)
}

func (f facts) make(call Call) error {
	for _, word := range call[1:] {
		if name, _, variable := strings.Cut(word, "="); variable {
			if !slices.Contains(f.variables, name) {
				return fmt.Errorf("make has no variable %s", name)
			}
		} else if !strings.HasPrefix(word, "-") && !slices.Contains(f.targets, word) {
			return fmt.Errorf("make has no target %s", word)
		}
	}
	return nil
}

// kubectl checks what is run in a pod, and the plugin.
func (f facts) kubectl(call Call, defined []string) error {
	if len(call) > 1 && call[1] == "bridge" {
		return f.ours("kubectl bridge", call[2:])
	}
	if _, words, rest := call.Flags(); slices.Contains(words, "exec") && len(rest) > 0 {
		return f.check(rest, defined)
	}
	return nil
}

// helm checks the chart's values that are set.
func (f facts) helm(call Call) error {
	for i, word := range call {
		name, setting, joined := strings.Cut(word, "=")
		if !strings.HasPrefix(name, "--set") {
			continue
		}
		if !joined && i+1 < len(call) {
			setting = call[i+1]
		}
		for pair := range strings.SplitSeq(setting, ",") {
			key, _, _ := strings.Cut(pair, "=")
			if key, _, _ = strings.Cut(key, "["); !f.value(key) {
				return fmt.Errorf("the chart has no value %s", key)
			}
		}
	}
	return nil
}

// value reports whether a key is one of the chart's, or within one whose form
// the chart leaves open.
func (f facts) value(key string) bool {
	return slices.ContainsFunc(f.values, func(known string) bool {
		return key == known || strings.HasPrefix(known, key+".") || strings.HasPrefix(key, known+".") || strings.HasPrefix(key, known+`\.`)
	})
}

// ours checks the flags of a program of ours.
func (f facts) ours(program string, args Call) error {
	flags, words, _ := args.Flags()
	command := program
	for n := min(len(words), 2); n > 0; n-- {
		if longer := strings.Join(append([]string{program}, words[:n]...), " "); f.flags[longer] != nil {
			command = longer
			break
		}
	}
	if f.flags[command] == nil {
		return fmt.Errorf("there is no command %s", command)
	}
	if takesNothing := command == program && len(words) > 0; takesNothing {
		return fmt.Errorf("%s has no command %s", program, words[0])
	}
	for _, flag := range flags {
		if !slices.Contains(f.flags[command], flag) && !slices.Contains(f.flags[program], flag) {
			return fmt.Errorf("%s has no flag %s", command, flag)
		}
	}
	return nil
}

// inTree are the folders whose files are looked for where a command names one.
var inTree = regexp.MustCompile(`^(\./)?(api|charts|cmd|config|docs|hack|test)/[A-Za-z0-9_./-]+$`)

// files returns what is wrong with the files that a call names.
func files(call Call, written []string) error {
	for _, word := range call {
		_, value, assigned := strings.Cut(word, "=")
		if !assigned {
			value = word
		}
		if !inTree.MatchString(value) || slices.Contains(written, value) {
			continue
		}
		if _, err := os.Stat(filepath.Join(Root, strings.TrimSuffix(value, "/..."))); err != nil {
			return fmt.Errorf("there is no %s", value)
		}
	}
	return nil
}

// bash has bash read a script without running it.
func bash(t *testing.T, script string) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-n")
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("bash -n: %w: %s", err, out)
	}
	return nil
}
