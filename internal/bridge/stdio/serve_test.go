//go:build linux

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/programio"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func socketOf(w way) string { return w.shim.Args[3] }

func TestAnotherConnectionEndsTheFormersProgram(t *testing.T) {
	t.Parallel()
	w := startShim(t)
	transport := w.transport(stdio.Launch{Command: helper("family", "token-of-the-former")})
	former := connect(t, transport)
	mustAsk(t, former, "tools/list")
	wait.Until(t, "three processes", func() bool { return len(running(t, "token-of-the-former", 0)) >= 3 })
	next := connect(t, w.transport(stdio.Launch{Command: helper("echo")}))
	// It runs only once nothing remains of the other.
	if left := running(t, "token-of-the-former", 0); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	mustAsk(t, next, "tools/list")
	if _, err := former.Read(); err == nil || !strings.Contains(err.Error(), "the bridge connected again") {
		t.Errorf("the former connection: %v", err)
	}
}

// TestAChangedServerWaitsForTheFormersCalls has a server change while a call is in
// flight.
func TestAChangedServerWaitsForTheFormersCalls(t *testing.T) {
	t.Parallel()
	w := startShim(t)
	changed := func(courtesy time.Duration) client.Dialer {
		l := stdio.Launch{Command: helper("echo")}
		return programio.Dialer(stdio.ShimWithin(courtesy, socketOf(w), l), l, loggerOf(w.log, slog.LevelDebug))
	}
	same := w.transport(stdio.Launch{Command: helper("echo")})
	connect(t, same)
	former := connect(t, same) // It waits for none of its own.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	var waits *stdio.ProgramError
	if _, err := changed(time.Hour)(ctx); !errors.As(err, &waits) || !strings.Contains(err.Error(), "before it was changed") {
		t.Errorf("while the former works: %v", err)
	}
	mustAsk(t, former, "tools/call")
	next := make(chan error, 1)
	go func() {
		c, err := changed(time.Hour)(t.Context())
		if err == nil {
			defer c.Close()
		}
		next <- err
	}()
	mustAsk(t, former, "tools/call")
	former.Close()
	if err := <-next; err != nil {
		t.Errorf("after the former: %v", err)
	}
	stuck := connect(t, same)
	mustAsk(t, connect(t, changed(50*time.Millisecond)), "tools/list")
	if _, err := stuck.Read(); err == nil {
		t.Error("the former has the shim for ever")
	}
}

func TestConnectionsAtTheSameTimeLeaveOneProgram(t *testing.T) {
	t.Parallel()
	w := startShim(t)
	results := make(chan client.Stream)
	const many = 5
	for range many {
		go func() {
			c, err := w.transport(stdio.Launch{Command: helper("echo", "token-of-many")})(t.Context())
			if err != nil && !strings.Contains(err.Error(), "connected again") {
				t.Error(err)
			}
			results <- c
		}()
	}
	var all []client.Stream
	for range many {
		if c := <-results; c != nil {
			all = append(all, c)
		}
	}
	wait.Until(t, "one program", func() bool { return len(running(t, "token-of-many", w.root())) == 1 })
	answered := 0
	for _, c := range all {
		if _, err := ask(t, c, "tools/list"); err == nil {
			answered++
		}
		c.Close()
	}
	if answered != 1 {
		t.Errorf("%d of %d answer", answered, len(all))
	}
}

func TestWhoeverIsNoBridgeEndsNoProgram(t *testing.T) {
	t.Parallel()
	w := startShim(t)
	c := connect(t, w.transport(stdio.Launch{Command: helper("echo")}))
	mustAsk(t, c, "tools/list")
	for _, said := range []string{"", "GET / HTTP/1.1\r\n\r\n", "hbs\x02\xff\xff\xff\xff", "hbs\x02\x00\x00\x00\x02{}"} {
		stranger := must.Value(net.Dial("unix", socketOf(w)))(t)
		_, _ = stranger.Write([]byte(said))
		stranger.Close()
	}
	mustAsk(t, c, "tools/list")
}

// TestAShimRunsItsOwnServersProgramAlone has a bridge reach the shim of another
// server than it means to.
func TestAShimRunsItsOwnServersProgramAlone(t *testing.T) {
	t.Parallel()
	w := startShim(t, "0s", "victim")
	c := connect(t, w.transport(stdio.Launch{Server: "victim", Command: helper("echo", "token-of-the-victim")}))
	mustAsk(t, c, "tools/list")
	for _, server := range []string{"attacker", ""} {
		_, err := w.transport(stdio.Launch{Server: server, Command: helper("echo", "token-of-the-attacker")})(t.Context())
		var refused *stdio.ProgramError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "another server's") {
			t.Errorf("server %q: %v", server, err)
		}
	}
	if left := running(t, "token-of-the-attacker", 0); len(left) > 0 {
		t.Errorf("runs: %q", left)
	}
	mustAsk(t, c, "tools/list") // The victim's own goes on.
}

// TestTheBridgeFollowsNoLink has a server put something else in the place of its
// shim's socket.
func TestTheBridgeFollowsNoLink(t *testing.T) {
	t.Parallel()
	w := startShim(t)
	folder := t.TempDir()
	link, file := filepath.Join(folder, "link.sock"), filepath.Join(folder, "file.sock")
	must.Succeed(t, os.Symlink(socketOf(w), link))
	must.Succeed(t, os.WriteFile(file, nil, 0o600))
	for _, socket := range []string{link, file, folder} {
		c, err := stdio.Shim(socket, stdio.Launch{Command: helper("echo", "token-of-a-link")}).Start(t.Context())
		if !errors.Is(err, stdio.ErrNoSocket) {
			t.Errorf("%s: %v", filepath.Base(socket), err)
		}
		if err == nil {
			c.Release()
		}
	}
}

func TestAProgramThatDoesNotReadEndsWithItsBridge(t *testing.T) {
	t.Parallel()
	w := startShim(t)
	conn := must.Value(net.Dial("unix", socketOf(w)))(t)
	must.Succeed(t, stdio.WriteLaunch(conn, stdio.Launch{Command: helper("deaf", "token-of-the-deaf")}))
	wait.Until(t, "the program runs", func() bool { return len(running(t, "token-of-the-deaf", w.root())) > 0 })
	// More than the pipe and the socket hold.
	_ = conn.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
	if _, err := conn.Write(make([]byte, 8<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("8 MiB into a pipe that nobody reads: %v", err)
	}
	if len(running(t, "token-of-the-deaf", w.root())) == 0 {
		t.Error("it has ended")
	}
	conn.Close()
	wait.Until(t, "no process", func() bool { return len(running(t, "token-of-the-deaf", w.root())) == 0 })
}

// TestABridgeThatLeavesHasItsLastWordsRead has a program read slowly what the
// bridge wrote before it left.
func TestABridgeThatLeavesHasItsLastWordsRead(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "read")
	w := startShim(t, "1h")
	conn := must.Value(net.Dial("unix", socketOf(w)))(t)
	must.Succeed(t, stdio.WriteLaunch(conn, stdio.Launch{Command: helper("count", out)}))
	const length = 1 << 20
	must.Value(conn.Write(make([]byte, length)))(t)
	conn.Close()
	wait.Until(t, "all of it read", func() bool {
		text, _ := os.ReadFile(out)
		return string(text) == fmt.Sprint(length)
	})
}

func TestFilesOfAFormerShimAreRemoved(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	former := filepath.Join(files, "hosted-bridge-123")
	other := filepath.Join(files, "other")
	for _, folder := range []string{former, other} {
		must.Succeed(t, os.Mkdir(folder, 0o700))
		must.Succeed(t, os.WriteFile(filepath.Join(folder, "key"), []byte("x"), 0o600))
	}
	w := startShim(t, "0s", "", files)
	if _, err := os.Stat(former); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the former program's files: %v", err)
	}
	if _, err := os.Stat(filepath.Join(other, "key")); err != nil {
		t.Errorf("what is no program's: %v", err)
	}
	c := connect(t, w.transport(stdio.Launch{Command: helper("arguments", "${CONFIG_DIR}")}))
	if args := mustAskFor[[]string](t, c); filepath.Dir(args[0]) != files {
		t.Errorf("files are in %s, want them in %s", args[0], files)
	}
}

func TestAProgramEndsWithItsBridge(t *testing.T) {
	t.Parallel()
	w := startShim(t)
	conn := must.Value(net.Dial("unix", socketOf(w)))(t)
	must.Succeed(t, stdio.WriteLaunch(conn, stdio.Launch{Command: helper("family", "token-of-the-gone")}))
	wait.Until(t, "three processes", func() bool { return len(running(t, "token-of-the-gone", 0)) >= 3 })
	conn.Close()
	wait.Until(t, "no process", func() bool { return len(running(t, "token-of-the-gone", w.root())) == 0 })
}

func TestAProgramEndsWithItsShim(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"asked to end": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startShim(t)
			token := fmt.Sprintf("token-of-%d", sig)
			program := "family"
			if sig == syscall.SIGKILL {
				// Only the program itself: its container ends the others.
				program = "deaf"
			}
			c := connect(t, w.transport(stdio.Launch{Command: helper(program, token)}))
			if program == "family" {
				wait.Until(t, "three processes", func() bool { return len(running(t, token, 0)) >= 3 })
			}
			must.Succeed(t, w.shim.Process.Signal(sig))
			_, err := c.Read()
			var programError *stdio.ProgramError
			if !errors.As(err, &programError) || !strings.Contains(err.Error(), "with its container") {
				t.Errorf("the bridge reads %v", err)
			}
			wait.Until(t, "no process", func() bool { return len(running(t, token, 0)) == 0 })
			if err := w.shim.Wait(); (err == nil) != (sig == syscall.SIGTERM) {
				t.Errorf("the shim: %v\n%s", err, w.log)
			}
		})
	}
}

func TestABridgeFinishesWithAProgramWhoseShimIsToldToEnd(t *testing.T) {
	t.Parallel()
	w := startShim(t, "1h")
	c := connect(t, w.transport(stdio.Launch{Command: helper("echo")}))
	mustAsk(t, c, "tools/list")
	must.Succeed(t, w.shim.Process.Signal(syscall.SIGTERM))
	wait.Until(t, "a shim that has heard of it", func() bool {
		_, err := os.Stat(socketOf(w))
		return errors.Is(err, fs.ErrNotExist)
	})
	mustAsk(t, c, "tools/call")
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := w.shim.Wait(); err != nil {
		t.Errorf("the shim: %v\n%s", err, w.log)
	}
}

func TestOrphansThatEndAreNoZombies(t *testing.T) {
	t.Parallel()
	w := startShim(t)
	c := connect(t, w.transport(stdio.Launch{Command: helper("orphan", "token-of-orphans")}))
	mustAsk(t, c, "tools/list")
	var orphan int
	wait.Until(t, "an orphan that the shim adopted", func() bool {
		for _, pid := range stdio.ChildrenOf(w.root()) {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if bytes.Contains(line, []byte("\x00forever\x00token-of-orphans")) {
				orphan = pid
			}
		}
		return orphan != 0
	})
	must.Succeed(t, syscall.Kill(orphan, syscall.SIGKILL))
	wait.Until(t, "nothing of the orphan", func() bool { return errors.Is(syscall.Kill(orphan, 0), syscall.ESRCH) })
	mustAsk(t, c, "tools/list")
}

func TestWhereNoShimListens(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "shim.sock")
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	if _, err := stdio.Shim(socket, stdio.Launch{Command: []string{"x"}}).Start(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	// One that accepts and says nothing.
	listener := must.Value(net.Listen("unix", socket))(t)
	defer listener.Close()
	ctx, cancel = context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	if _, err := stdio.Shim(socket, stdio.Launch{Command: []string{"x"}}).Start(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestOnlyTheSameUserIsAdmitted(t *testing.T) {
	t.Parallel()
	// A process of another user, which may open the socket all the same.
	w := startShim(t)
	socket := socketOf(w)
	for folder := filepath.Dir(socket); folder != os.TempDir() && folder != "/"; folder = filepath.Dir(folder) {
		must.Succeed(t, os.Chmod(folder, 0o755))
	}
	must.Succeed(t, os.Chmod(socket, 0o666))
	copied := filepath.Join(filepath.Dir(socket), "program")
	must.Succeed(t, stdio.Install(copied))
	stranger := exec.Command(copied, append(helper("knock")[1:], socket)...)
	if os.Getuid() == 0 {
		stranger.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	}
	out, err := stranger.CombinedOutput()
	if err != nil || (os.Getuid() == 0) == strings.Contains(string(out), "<nil>") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestInstallCopiesThisProgram(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "bridge")
	for range 2 { // An init container that starts again finds the first copy.
		must.Succeed(t, stdio.Install(path))
	}
	self := must.Value(os.ReadFile(os.Args[0]))(t)
	copied, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(self, copied) {
		t.Errorf("%d bytes of %d, %v", len(copied), len(self), err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o755 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	if err := stdio.Install(filepath.Join(folder, "no", "bridge")); err == nil {
		t.Error("no error where there is no folder")
	}
}

// TestWhatWasInstalledByHalfIsRemoved has a program that answered leave what npx
// installed, and one that said nothing.
func TestWhatWasInstalledByHalfIsRemoved(t *testing.T) {
	t.Parallel()
	w := startShim(t)
	tmp := stdio.Variable(w.shim.Env, "TMPDIR")
	installed := filepath.Join(tmp, "home", ".npm", "_npx", "4f1e")
	downloaded := filepath.Join(tmp, "home", ".npm", "_cacache")
	for _, folder := range []string{installed, downloaded} {
		must.Succeed(t, os.MkdirAll(folder, 0o700))
	}
	for n, tt := range []struct {
		program []string
		ask     bool
		kept    bool
	}{
		{helper("echo"), true, true},
		{helper("exit", "3"), false, false},
	} {
		c := connect(t, w.transport(stdio.Launch{Command: tt.program}))
		if tt.ask {
			mustAsk(t, c, "tools/list")
		}
		c.Close()
		wait.Until(t, "the program is over", func() bool { return strings.Count(w.log.String(), "the program is over") > n })
		if _, err := os.Stat(installed); (err == nil) != tt.kept {
			t.Errorf("after %q: what npx installed is kept %t, want %t", tt.program[2:], err == nil, tt.kept)
		}
	}
	if _, err := os.Stat(downloaded); err != nil {
		t.Errorf("what npx downloaded is gone: %v", err)
	}
}
