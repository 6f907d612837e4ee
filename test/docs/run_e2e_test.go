// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package docs

import (
	"cmp"
	"context"
	_ "embed" // What a reader brings along is a script.
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// pageTimeout bounds one page, also where it has Go compile a program.
const pageTimeout = 4 * time.Minute

//go:embed testdata/reader.sh
var reader string

// place is where pages are read: programs, files and a cluster.
type place struct {
	programs, url, kubeconfig string
	environment               []string
}

// TestTheDocumentationRuns runs the commands of each page as a reader does who
// has the repository, a cluster with the sample users, and a home of their own.
// HB_URL, HB_KUBECONFIG and KUBECTL say which, as they do for test/e2e.
func TestTheDocumentationRuns(t *testing.T) {
	pages := must.Value(Pages(Root))(t)
	p := newPlace(t)
	for _, page := range pages {
		t.Run(strings.ReplaceAll(page.Path, "/", "_"), func(t *testing.T) {
			p.manifests(t, page)
			p.read(t, page)
		})
	}
}

func newPlace(t *testing.T) place {
	t.Helper()
	p := place{programs: t.TempDir(), url: strings.TrimSuffix(os.Getenv("HB_URL"), "/")}
	if p.url == "" || os.Getenv("HB_KUBECONFIG") == "" {
		t.Fatal("HB_URL and HB_KUBECONFIG are not set: run these tests by make test-e2e")
	}
	var err error
	if p.kubeconfig, err = filepath.Abs(fromRoot(os.Getenv("HB_KUBECONFIG"))); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"kubectl": cmp.Or(os.Getenv("KUBECTL"), "kubectl"), "helm": fromRoot("bin/helm")} {
		if found, err := exec.LookPath(path); err == nil {
			found, _ = filepath.Abs(found)
			must.Succeed(t, os.Symlink(found, filepath.Join(p.programs, name)))
		}
	}
	// The flags are those of the images' programs, so that most is compiled
	// already, also for a copy of the repository.
	p.environment = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false '-ldflags=-s -w'")
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		p.environment = append(p.environment, name+"="+strings.TrimSpace(output(t, "", "go", "env", name)))
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", p.programs, "./cmd/bridge", "./cmd/kubectl-bridge")
	cmd.Dir, cmd.Env = Root, p.environment
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the programs: %v: %s", err, out)
	}
	return p
}

// fromRoot returns a path that is relative to the repository as it is from here.
func fromRoot(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(Root, path)
}

func output(t *testing.T, stdin, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stdin = Root, strings.NewReader(stdin)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(out)
}

var ourManifest = regexp.MustCompile(`(?m)^apiVersion: hostedbridge\.dev/`)

// manifests has the API server judge the page's objects, whether the page
// applies them or not.
func (p place) manifests(t *testing.T, page Page) {
	t.Helper()
	for _, step := range page.Steps {
		if step.Language != "yaml" || !ourManifest.MatchString(step.Text) {
			continue
		}
		for object := range strings.SplitSeq(step.Text, "\n---\n") {
			if !ourManifest.MatchString(object) || strings.Contains(object, "…") {
				continue
			}
			cmd := exec.CommandContext(t.Context(), filepath.Join(p.programs, "kubectl"), "--kubeconfig="+p.kubeconfig,
				"apply", "--server-side", "--force-conflicts", "--field-manager=docs", "--dry-run=server", "--validate=strict", "--filename=-")
			cmd.Stdin = strings.NewReader(object)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s:%d: the API server refuses the object: %s", page.Path, step.Line, out)
			}
		}
	}
}

// read runs a page's commands in one shell, among the files of a copy of the
// repository.
func (p place) read(t *testing.T, page Page) {
	t.Helper()
	home, copied, said := t.TempDir(), t.TempDir(), t.TempDir()
	script, exchanges := p.script(page, said, home)
	if len(exchanges) == 0 {
		return
	}
	output(t, "", "bash", "-c", `git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' f; do [[ -e $f ]] && printf '%s\0' "$f"; done | tar --null -T - -cf - | tar -xf - -C "$0"`, copied)
	ctx, cancel := context.WithTimeout(t.Context(), pageTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir = copied
	// In the shell of an official image of Go.
	cmd.Env = append(p.environment, "GOTOOLCHAIN=local", "HOME="+home, "PATH="+p.programs+":"+os.Getenv("PATH"), "KUBECONFIG="+p.kubeconfig, "HB_URL="+p.url, "XDG_CONFIG_HOME=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	rest, err := cmd.CombinedOutput()
	judge(t, page, exchanges, said)
	if err != nil {
		t.Errorf("%s: %v %s", page.Path, err, rest)
	}
}

// placed is an exchange and its step's line.
type placed struct {
	Exchange
	line int
}

// script returns what the shell of a page runs. Each command's output goes into
// a file of its own in the folder said, which has no file for a command that was
// not begun, and a second file for each that ended well.
func (p place) script(page Page, said, home string) (string, []placed) {
	var b strings.Builder
	b.WriteString(reader)
	var all []placed
	for _, step := range page.Steps {
		switch step.Kind {
		case File:
			fmt.Fprintf(&b, "\nmkdir -p \"$(dirname %[1]q)\"; cat >%[1]q <<'END-OF-FILE'\n%[2]sEND-OF-FILE\n", step.Name, p.mapped(step.Text, home))
		case Run, Hidden:
			for _, e := range step.Exchanges() {
				n := len(all)
				all = append(all, placed{Exchange{e.Command, p.mapped(e.Output, home)}, step.Line})
				fmt.Fprintf(&b, "\nexec >%[1]s/%[2]d.out 2>%[1]s/%[2]d.err </dev/null\n%[3]s\n: >%[1]s/%[2]d.ok\n", said, n, p.mapped(e.Command, home))
			}
		case Shown, NotRun:
		}
	}
	return b.String(), all
}

// mapped puts this place's names where a page has those of its reader.
func (p place) mapped(text, home string) string {
	return strings.NewReplacer(
		"https://bridges.example.com", p.url, "https://bridge.example.com", p.url, "http://127.0.0.1:8080", p.url,
		"/home/you", home, "$PWD/.cluster/default/kubeconfig", p.kubeconfig,
	).Replace(text)
}

// judge compares what was printed with what the page shows.
func judge(t *testing.T, page Page, exchanges []placed, said string) {
	t.Helper()
	for n, e := range exchanges {
		base := filepath.Join(said, fmt.Sprint(n))
		out, begun := os.ReadFile(base + ".out")
		problems, _ := os.ReadFile(base + ".err")
		if begun != nil {
			t.Errorf("%s:%d: not begun: %s", page.Path, e.line, e.Command)
			continue
		}
		if _, err := os.Stat(base + ".ok"); err != nil {
			t.Errorf("%s:%d: this fails:\n%s%s%s", page.Path, e.line, e.Command, out, problems)
			continue
		}
		if SelectsNothing(e.Command, string(problems)) && !strings.Contains(e.Output, "No resources found") {
			t.Errorf("%s:%d: nothing has the labels of:\n%s%s", page.Path, e.line, e.Command, problems)
		}
		if ListsNothing(string(out)) && !ListsNothing(e.Output) {
			t.Errorf("%s:%d: an answer lists nothing:\n%s%s", page.Path, e.line, e.Command, out)
		}
		if e.Output != "" && !Matches(e.Output, string(out)) && !Matches(e.Output, string(out)+string(problems)) {
			t.Errorf("%s:%d: %sshows\n%sand printed\n%s%s", page.Path, e.line, e.Command, e.Output, out, problems)
		}
	}
}
