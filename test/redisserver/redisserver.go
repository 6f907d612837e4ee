// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redisserver runs a Redis or Valkey for a test: a process of its own on
// a free port of the loopback interface, which keeps nothing on disk.
package redisserver

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// Server is a server that runs, unless it was stopped.
type Server struct {
	program string
	args    []string
	port    int

	mu      sync.Mutex
	process *exec.Cmd
	ended   chan struct{}
}

// Start runs a server until the test has ended. args follow its own.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := &Server{args: args}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			s.program = path
		}
	}
	if s.program == "" {
		t.Fatal("neither redis-server nor valkey-server is on PATH: hack/install-deps.sh installs one")
	}
	t.Cleanup(s.Stop)
	// Another process may take the port that was free.
	for range 20 {
		s.port = freePort(t)
		if s.launch(t) {
			return s
		}
	}
	t.Fatalf("%s does not listen", s.program)
	return nil
}

// URL returns where it is.
func (s *Server) URL() string { return "redis://127.0.0.1:" + strconv.Itoa(s.port) + "/0" }

// Stop kills it: its memory is lost.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	_ = s.process.Process.Kill()
	<-s.ended
	s.process = nil
}

// Restart starts it again where it was.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Stop()
	if !s.launch(t) {
		t.Fatalf("%s does not listen again", s.program)
	}
}

// Signal sends it a signal, such as SIGSTOP.
func (s *Server) Signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	must.Succeed(t, s.process.Process.Signal(signal))
}

// launch reports whether the server listens.
func (s *Server) launch(t testing.TB) bool {
	t.Helper()
	args := append([]string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", os.TempDir(), "--logfile", "/dev/null",
	}, s.args...)
	cmd := exec.Command(s.program, args...)
	// It ends with the test's process, however that does.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must.Succeed(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // However it ends.
	}()
	s.mu.Lock()
	s.process, s.ended = cmd, ended
	s.mu.Unlock()
	listens := false
	wait.Until(t, "the Redis server listens or has ended", func() bool {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
		if listens = err == nil; listens {
			_ = conn.Close()
		}
		select {
		case <-ended:
			return true
		default:
			return listens
		}
	})
	if !listens {
		s.Stop()
	}
	return listens
}

func freePort(t testing.TB) int {
	t.Helper()
	l := must.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}
