// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience ends a test that waits for what does not come.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if cluster.running != nil {
			cluster.remove()
		}
		os.Exit(code)
	}))
}

// postgres is a server of the tests' own.
type postgres struct {
	mu      sync.Mutex
	dir     string
	port    int
	user    *syscall.Credential // nil: as who runs the tests
	running *exec.Cmd
	names   int
}

var cluster postgres

// postgresProgram returns the path of one of PostgreSQL's programs, which
// Debian does not put on the PATH.
func postgresProgram(name string) (string, bool) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) > 0 {
		return found[len(found)-1], true
	}
	path, err := exec.LookPath(name)
	return path, err == nil
}

// begin makes the cluster and starts it, the first time.
func (p *postgres) begin(t testing.TB) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil {
		return
	}
	initdb, ok := postgresProgram("initdb")
	if !ok {
		t.Skip("there is no PostgreSQL on this machine: hack/install-deps.sh installs it") //nolint:forbidigo // It is a server; the same tests run against SQLite.
	}
	var err error
	if p.dir, err = os.MkdirTemp("", "hosted-bridge-postgres-"); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		// It refuses to run as root.
		nobody, err := user.Lookup("nobody")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.ParseUint(nobody.Uid, 10, 32)
		gid, _ := strconv.ParseUint(nobody.Gid, 10, 32)
		p.user = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(p.dir, int(uid), int(gid)); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	out, err := p.command(initdb, "-D", p.dir+"/data", "-U", "index", "-A", "trust", "--no-sync", "--locale=C.UTF-8", "-E", "UTF8").CombinedOutput()
	if err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	p.run(t)
}

func (p *postgres) command(path string, args ...string) *exec.Cmd {
	c := exec.Command(path, args...)
	c.Dir = p.dir
	c.SysProcAttr = &syscall.SysProcAttr{Credential: p.user, Pdeathsig: syscall.SIGKILL}
	return c
}

func (p *postgres) run(t testing.TB) {
	t.Helper()
	server, _ := postgresProgram("postgres")
	log, err := os.OpenFile(p.dir+"/log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c := p.command(server, "-D", p.dir+"/data", "-k", "", "-h", "127.0.0.1", "-p", strconv.Itoa(p.port), "-F")
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	p.running = c
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if err = p.ping(t.Context()); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("PostgreSQL does not answer: %v", err)
		}
	}
}

func (p *postgres) url(database string) string {
	return fmt.Sprintf("postgres://index@127.0.0.1:%d/%s?sslmode=disable", p.port, database)
}

func (p *postgres) ping(ctx context.Context) error { return p.exec(ctx, "SELECT 1") }

func (p *postgres) exec(ctx context.Context, statement string) error {
	s, err := OpenPostgres(p.url("postgres"))
	if err != nil {
		return err
	}
	_, err = s.db.ExecContext(ctx, statement)
	return errors.Join(err, s.Close())
}

// stop ends the server as an operator would who is in a hurry.
func (p *postgres) stop() {
	_ = p.running.Process.Signal(syscall.SIGINT)
	_ = p.running.Wait()
}

func (p *postgres) remove() {
	p.stop()
	_ = os.RemoveAll(p.dir)
}

// database returns the URL of a new and empty database.
func (p *postgres) database(t testing.TB) string {
	t.Helper()
	p.begin(t)
	p.mu.Lock()
	p.names++
	name := "index" + strconv.Itoa(p.names)
	p.mu.Unlock()
	if err := p.exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return p.url(name)
}

// everywhere runs a test against each of the databases.
func everywhere(t *testing.T, test func(t *testing.T, open func() *Store)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "an index?.db")
		test(t, func() *Store { return opened(t, OpenSQLite, path) })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		database := cluster.database(t)
		test(t, func() *Store { return opened(t, OpenPostgres, database) })
	})
}

func opened(t *testing.T, open func(string) (*Store, error), where string) *Store {
	t.Helper()
	s, err := open(where)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestStatementsAreBoundAsTheDatabaseHasIt(t *testing.T) {
	const statement = `SELECT a FROM b WHERE (c, d) < (?, ?) LIMIT ?`
	if got := (dialect{}).bind(statement); got != statement {
		t.Error(got)
	}
	if got := (dialect{numbered: true}).bind(statement); got != `SELECT a FROM b WHERE (c, d) < ($1, $2) LIMIT $3` {
		t.Error(got)
	}
}

func TestABadURLIsNotRepeated(t *testing.T) {
	for _, bad := range []string{"postgres://index:geheim@host:port/x", "geheim", "postgres://index:geheim@[::1"} {
		if _, err := OpenPostgres(bad); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("OpenPostgres(%q) = %v", bad, err)
		}
	}
}

func TestTheSQLiteFileIsItsOwnersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.db")
	s := opened(t, OpenSQLite, path)
	if err := s.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || !slices.Contains(files, path) {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, info.Mode(), err)
		}
	}
}
