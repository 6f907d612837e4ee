// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// restartDelay spaces the restarts of a program that ends by itself.
const restartDelay = time.Second

// stopTimeout bounds how long programs may take to end; what is left then ends
// with process 1.
const stopTimeout = 5 * time.Second

// supervisor runs the cluster's programs as process 1. It collects every
// orphan too, which is why it starts programs without os/exec's Wait: two
// waiters would take each other's children.
type supervisor struct {
	logs string

	mu       sync.Mutex
	running  map[int]program
	order    []int
	stopping bool
}

func newSupervisor(logs string) *supervisor {
	return &supervisor{logs: logs, running: map[int]program{}}
}

func (s *supervisor) start(programs []program) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range programs {
		if err := s.startLocked(p); err != nil {
			return fmt.Errorf("start %s: %w", p.name, err)
		}
	}
	return nil
}

func (s *supervisor) startLocked(p program) error {
	path, err := exec.LookPath(p.path)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(s.logs, p.name+".log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	process, err := os.StartProcess(path, append([]string{path}, p.args...), &os.ProcAttr{
		Env:   os.Environ(),
		Files: []*os.File{nil, log, log},
	})
	if err != nil {
		return err
	}
	s.running[process.Pid] = p
	s.order = append(s.order, process.Pid)
	return process.Release()
}

// reap collects ended processes for as long as process 1 lives, and starts the
// programs among them again.
func (s *supervisor) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err != nil { // No children yet, or interrupted.
			time.Sleep(10 * time.Millisecond)
			continue
		}
		s.ended(pid, status)
	}
}

func (s *supervisor) ended(pid int, status syscall.WaitStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ours := s.running[pid]
	if !ours {
		return
	}
	delete(s.running, pid)
	s.order = slices.DeleteFunc(s.order, func(other int) bool { return other == pid })
	if s.stopping {
		return
	}
	fmt.Fprintf(os.Stderr, "%s %s ended (exit %d, signal %d), starting it again\n",
		time.Now().UTC().Format(time.RFC3339), p.name, status.ExitStatus(), status.Signal())
	time.AfterFunc(restartDelay, func() {
		if err := s.start([]program{p}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	})
}

// stop asks the programs to end, the last started first, and waits for them.
func (s *supervisor) stop() {
	s.mu.Lock()
	s.stopping = true
	pids := slices.Clone(s.order)
	s.mu.Unlock()
	slices.Reverse(pids)
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
	for deadline := time.Now().Add(stopTimeout); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		s.mu.Lock()
		left := len(s.running)
		s.mu.Unlock()
		if left == 0 {
			return
		}
	}
}
