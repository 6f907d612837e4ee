// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be pause: a test cannot reap its own children
// without taking those of the testing package.
func TestMain(m *testing.M) {
	if os.Getenv("RUN_AS_PAUSE") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestPauseReapsChildrenAndEndsWhenTold(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The shell leaves two children to the program that it becomes: one that
	// has ended by then, and one that ends later.
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `sleep 0 & sleep 0.3 & exec "$0"`, self)
	cmd.Env = append(os.Environ(), "RUN_AS_PAUSE=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitAlone(t, cmd.Process.Pid)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("pause ended with %v", err)
	}
}

// awaitAlone returns when the process is no shell any more and has no children
// left, which pause comes to after it has begun to listen for signals.
func awaitAlone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err != nil {
			t.Fatal(err)
		}
		children, err := childrenOf(pid)
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(string(name)) != "sh" && len(children) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s still has the children %v", strings.TrimSpace(string(name)), children)
		}
	}
}

// childrenOf lists the children that any thread of the process has, those
// that have ended and are not reaped included.
func childrenOf(pid int) (children []string, err error) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, err
	}
	for _, task := range tasks {
		list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		if os.IsNotExist(err) {
			continue // A thread that has just ended.
		}
		if err != nil {
			return nil, err
		}
		children = append(children, strings.Fields(string(list))...)
	}
	return children, nil
}
