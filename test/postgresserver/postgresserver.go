// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package postgresserver runs a PostgreSQL for a package's tests: a process of
// its own on a free port of the loopback interface, which waits for no disk.
package postgresserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/database"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// Server is a server of a package's own. The first test that wants a database
// starts it, and the package's TestMain removes it.
type Server struct {
	mu      sync.Mutex
	dir     string
	port    int
	user    *syscall.Credential // nil: as who runs the tests
	running *exec.Cmd
	names   int
}

// program returns the path of one of PostgreSQL's programs, which Debian does
// not put on the PATH.
func program(name string) (string, bool) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) > 0 {
		return found[len(found)-1], true
	}
	path, err := exec.LookPath(name)
	return path, err == nil
}

// begin makes the cluster and starts it, the first time.
func (s *Server) begin(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		return
	}
	initdb, ok := program("initdb")
	if !ok {
		t.Skip("there is no PostgreSQL on this machine: hack/install-deps.sh installs it") //nolint:forbidigo // It is a server; the same tests run against SQLite.
	}
	var err error
	if s.dir, err = os.MkdirTemp("", "hosted-bridge-postgres-"); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		s.beNobody(t)
	}
	l := must.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	s.port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	out, err := s.command(initdb, "-D", s.dir+"/data", "-U", "tests", "-A", "trust", "--no-sync", "--locale=C.UTF-8", "-E", "UTF8").CombinedOutput()
	if err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	s.Run(t)
}

// beNobody is for tests that run as root, as which it refuses to run.
func (s *Server) beNobody(t testing.TB) {
	t.Helper()
	nobody := must.Value(user.Lookup("nobody"))(t)
	uid, _ := strconv.ParseUint(nobody.Uid, 10, 32)
	gid, _ := strconv.ParseUint(nobody.Gid, 10, 32)
	s.user = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	must.Succeed(t, os.Chown(s.dir, int(uid), int(gid)))
}

func (s *Server) command(path string, args ...string) *exec.Cmd {
	c := exec.Command(path, args...)
	c.Dir = s.dir
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.user, Pdeathsig: syscall.SIGKILL}
	return c
}

// Run starts the server again, where it was, after Stop.
func (s *Server) Run(t testing.TB) {
	t.Helper()
	server, _ := program("postgres")
	log := must.Value(os.OpenFile(s.dir+"/log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600))(t)
	defer log.Close()
	c := s.command(server, "-D", s.dir+"/data", "-k", "", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-F")
	c.Stdout, c.Stderr = log, log
	must.Succeed(t, c.Start())
	s.running = c
	wait.NoError(t, wait.Limit, "PostgreSQL answers", func(ctx context.Context) error { return s.exec(ctx, "SELECT 1") })
}

func (s *Server) url(name string) string {
	return fmt.Sprintf("postgres://tests@127.0.0.1:%d/%s?sslmode=disable", s.port, name)
}

func (s *Server) exec(ctx context.Context, statement string) error {
	db, err := database.OpenPostgres(s.url("postgres"))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}

// Stop ends the server as an operator would who is in a hurry.
func (s *Server) Stop() {
	_ = s.running.Process.Signal(syscall.SIGINT)
	_ = s.running.Wait()
}

// Remove ends the server, if it was ever started, and removes what it has kept.
func (s *Server) Remove() {
	if s.running == nil {
		return
	}
	s.Stop()
	_ = os.RemoveAll(s.dir)
}

// Database returns the URL of a new and empty database. Where there is no
// PostgreSQL on the machine the test is skipped.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	s.begin(t)
	s.mu.Lock()
	s.names++
	name := "database" + strconv.Itoa(s.names)
	s.mu.Unlock()
	must.Succeed(t, s.exec(t.Context(), "CREATE DATABASE "+name))
	return s.url(name)
}
