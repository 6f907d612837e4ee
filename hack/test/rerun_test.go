// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scripts_test holds the tests of the scripts that run tests.
package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The tests that rerun.sh runs here. FlakyOnce fails when it runs first.
const flaky = `package flaky

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv("LEAK") != "" {
		code = 1
	}
	os.Exit(code)
}

func TestPasses(t *testing.T) {}

func TestFlakyOnce(t *testing.T) {
	t.Run("part", func(t *testing.T) {
		if err := os.Mkdir(os.Getenv("SEEN"), 0o700); err == nil && os.Getenv("FLAKY") != "" {
			t.Fatal("the first time")
		}
	})
}

func TestBroken(t *testing.T) {
	if os.Getenv("BROKEN") != "" {
		t.Fatal("each time")
	}
}

func TestMany0(t *testing.T) { many(t) }
func TestMany1(t *testing.T) { many(t) }
func TestMany2(t *testing.T) { many(t) }
func TestMany3(t *testing.T) { many(t) }

func many(t *testing.T) {
	if os.Getenv("MANY") != "" {
		t.Fatal("each time")
	}
}

func TestPanics(t *testing.T) {
	if os.Getenv("PANIC") != "" {
		panic("each time")
	}
}
`

func TestAFailedTestRunsOnceMoreByItself(t *testing.T) {
	for name, test := range map[string]struct {
		environment []string
		passes      bool
		// says are parts of the output, and silent what is none.
		says, silent string
	}{
		"everything passes":                           {nil, true, "ok", "UNSTABLE"},
		"a test fails once":                           {[]string{"FLAKY=1"}, true, "UNSTABLE example.com/module/flaky TestFlakyOnce: failed in bin/test/stage.log, passed in bin/test/stage.TestFlakyOnce.again.log", "no test is run again"},
		"a test fails twice":                          {[]string{"BROKEN=1"}, false, "--- FAIL: TestBroken", "UNSTABLE"},
		"one fails once, another one twice":           {[]string{"FLAKY=1", "BROKEN=1"}, false, "UNSTABLE example.com/module/flaky TestFlakyOnce", "no test is run again"},
		"several fail twice":                          {[]string{"MANY=1"}, false, "rerun: 3 tests failed again: no other one is run again", "TestMany3 of "},
		"a package fails without a test":              {[]string{"LEAK=1"}, false, "example.com/module/flaky failed without a failed test: no test is run again", "UNSTABLE"},
		"a test panics, which ends those that follow": {[]string{"FLAKY=1", "PANIC=1"}, false, "no test is run again", "UNSTABLE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			module := t.TempDir()
			script, err := os.ReadFile("rerun.sh")
			if err != nil {
				t.Fatal(err)
			}
			for file, content := range map[string]string{
				"go.mod": "module example.com/module\n\ngo 1.21\n", "hack/test/rerun.sh": string(script),
				"flaky/flaky_test.go": flaky, "fine/fine_test.go": "package fine\n",
			} {
				path := filepath.Join(module, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), "bash", "hack/test/rerun.sh", "stage", "go", "test", "-count=1", "--", "./flaky", "./fine")
			cmd.Dir = module
			cmd.Env = append(append(os.Environ(), "GOFLAGS=", "SEEN="+filepath.Join(t.TempDir(), "seen")), test.environment...)
			out, err := cmd.CombinedOutput()
			if (err == nil) != test.passes {
				t.Errorf("it ends with %v, want success: %v", err, test.passes)
			}
			if !strings.Contains(string(out), test.says) || strings.Contains(string(out), test.silent) {
				t.Errorf("want %q and not %q in:\n%s", test.says, test.silent, out)
			}
		})
	}
}

func TestFewTestsAreKnownToBeUnstable(t *testing.T) {
	text, err := os.ReadFile("unstable.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		known++
		if !regexp.MustCompile(`^20\d\d-\d\d-\d\d [a-z0-9./]+ Test\w+\n$`).MatchString(line) {
			t.Errorf("%q is not DATE PACKAGE TEST", line)
		}
	}
	if known > 5 {
		t.Errorf("%d tests are known to be unstable: mend some, at most 5 may be", known)
	}
}
