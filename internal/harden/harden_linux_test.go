// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package harden

import (
	"fmt"
	"io"
	stdlog "log"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// envHardened makes the test's own program run alone instead of the tests.
const envHardened = "HARDEN_TEST_HARDENED"

func TestMain(m *testing.M) {
	if os.Getenv(envHardened) == "" {
		os.Exit(m.Run())
	}
	if err := hardened(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hardened hardens this process and says what has become of it. The effects
// cannot be undone, so the tests' own process does not try them.
func hardened() error {
	if err := Process(); err != nil {
		return err
	}
	dumpable, _, errno := syscall.Syscall(syscall.SYS_PRCTL, syscall.PR_GET_DUMPABLE, 0, 0)
	if errno != 0 {
		return errno
	}
	var core syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &core); err != nil {
		return err
	}
	stdlog.Print("Unsolicited response")
	_, err := fmt.Fprintf(os.Stdout, "dumpable %d, core %d of %d, log discarded %v\n", dumpable, core.Cur, core.Max, stdlog.Writer() == io.Discard)
	return err
}

func TestTheProcessKeepsItsMemoryToItself(t *testing.T) {
	self := must.Value(os.Executable())(t)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), envHardened+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if want := "dumpable 0, core 0 of 0, log discarded true\n"; string(out) != want {
		t.Errorf("the process says %q, want %q", strings.TrimSpace(string(out)), strings.TrimSpace(want))
	}
}
