//go:build linux

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/programio"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// way is one of the two ways to run a program.
type way struct {
	transport func(stdio.Launch) client.Dialer
	// log is what was logged of the program and of its connections.
	log *logtest.Log
	// shim is the shim's process, where there is one.
	shim *exec.Cmd
}

// loggerOf returns a logger that writes l.
func loggerOf(l *logtest.Log, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: level}))
}

// canary is in the environment of this process and of all shims.
const canary = "c4n4ry-of-the-parent"

// inBothWays runs a test with programs of this process and with those that a
// shim runs in another.
func inBothWays(t *testing.T, test func(t *testing.T, start func(t *testing.T) way)) {
	t.Run("a child", func(t *testing.T) {
		t.Parallel()
		test(t, childWay)
	})
	t.Run("a program of a shim", func(t *testing.T) {
		t.Parallel()
		test(t, func(t *testing.T) way { return startShim(t) })
	})
}

// childWay runs programs of this process.
func childWay(*testing.T) way {
	w := way{log: &logtest.Log{}}
	w.transport = func(l stdio.Launch) client.Dialer {
		log := loggerOf(w.log, slog.LevelDebug)
		return programio.Dialer(stdio.ChildInHaste(l, log), l, log)
	}
	return w
}

// startShim runs a shim in a process of its own, which ends with the test.
func startShim(t *testing.T, args ...string) way {
	t.Helper()
	w := way{log: &logtest.Log{}}
	socket := filepath.Join(t.TempDir(), "shim.sock")
	command := helper("shim", append([]string{socket}, args...)...)
	w.shim = exec.Command(command[0], command[1:]...)
	w.shim.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	w.shim.Stderr = w.log
	must.Succeed(t, w.shim.Start())
	t.Cleanup(func() {
		if w.shim.ProcessState != nil {
			return // The test has ended it.
		}
		_ = w.shim.Process.Signal(syscall.SIGTERM)
		if err := w.shim.Wait(); err != nil {
			t.Errorf("the shim: %v\n%s", err, w.log)
		}
	})
	wait.Until(t, "a shim that listens", func() bool {
		info, err := os.Stat(socket)
		return err == nil && info.Mode().Perm() == 0o660
	})
	w.transport = func(l stdio.Launch) client.Dialer {
		return programio.Dialer(stdio.ShimWithin(0, socket, l), l, loggerOf(w.log, slog.LevelDebug))
	}
	return w
}

func connect(t *testing.T, transport client.Dialer) client.Stream {
	t.Helper()
	c := must.Value(transport(t.Context()))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

// ask sends a request and returns the result, or the error of the connection.
func ask(t *testing.T, c client.Stream, method string) (json.RawMessage, error) {
	t.Helper()
	if err := c.Write(t.Context(), nil, rpc.Append(nil, json.RawMessage(`"1"`), method, json.RawMessage(`{"a":1}`))); err != nil {
		return nil, err
	}
	for {
		m, err := c.Read()
		switch failure := m.Failure(); {
		case err != nil:
			return nil, err
		case failure != nil:
			return nil, failure
		case !m.Request:
			return m.Result, nil
		}
	}
}

func mustAsk(t *testing.T, c client.Stream, method string) json.RawMessage {
	t.Helper()
	return must.Value(ask(t, c, method))(t)
}

func mustAskFor[T any](t *testing.T, c client.Stream) T {
	t.Helper()
	var v T
	must.Succeed(t, json.Unmarshal(mustAsk(t, c, "tell"), &v))
	return v
}

// running returns the processes, also those that ended and were not waited for,
// that have the token among their arguments or are below root.
func running(t *testing.T, token string, root int) []string {
	t.Helper()
	return stdio.Running(token, root)
}

func (w way) root() int {
	if w.shim == nil {
		return 0
	}
	return w.shim.Process.Pid
}

// expectNone checks that no process with the token among its arguments is left, and
// none of the shim. An orphan that has ended is waited for a moment later: the system
// tells the shim of it when the orphan's parent ends.
func (w way) expectNone(t *testing.T, token string) {
	t.Helper()
	for _, left := range running(t, token, w.root()) {
		if !strings.Contains(left, stdio.EndedMark) {
			t.Errorf("left: %q", left)
		}
	}
	wait.Until(t, "no process that ended is left", func() bool { return len(running(t, token, w.root())) == 0 })
}

func TestARequestIsAnswered(t *testing.T) {
	t.Parallel()
	inBothWays(t, func(t *testing.T, start func(*testing.T) way) {
		for _, program := range []string{"echo", "noisy", "flood-stdout", "flood-stderr"} {
			t.Run(program, func(t *testing.T) {
				t.Parallel()
				w, began := start(t), time.Now()
				c := connect(t, w.transport(stdio.Launch{Command: helper(program)}))
				for range 3 {
					got := string(mustAsk(t, c, "tools/list"))
					if want := `{"method":"tools/list","params":{"a":1}}`; got != want {
						t.Errorf("got %.200s, want %s", got, want)
					}
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				if _, err := c.Read(); !errors.Is(err, io.EOF) {
					t.Errorf("after Close: %v", err)
				}
				logged := strings.Count(w.log.String(), `"line":`)
				// Each of the two outputs has a limit, which grows with the time that the test takes.
				limit := 2 * (stdio.LineBurst + int(time.Since(began).Seconds()*stdio.LinesPerSecond))
				if logged > limit {
					t.Errorf("%d lines were logged, more than %d", logged, limit)
				}
			})
		}
	})
}

func TestALargeMessagePasses(t *testing.T) {
	t.Parallel()
	inBothWays(t, func(t *testing.T, start func(*testing.T) way) {
		w := start(t)
		c := connect(t, w.transport(stdio.Launch{Command: helper("large")}))
		if got := mustAsk(t, c, "tell"); len(got) != 8<<20+2 {
			t.Errorf("%d bytes", len(got))
		}
	})
}

func TestAServerWithHeadersIsSpokenToWithHeaders(t *testing.T) {
	t.Parallel()
	inBothWays(t, func(t *testing.T, start func(*testing.T) way) {
		w := start(t)
		transport := w.transport(stdio.Launch{Command: helper("headers")})
		for i, want := range []string{"false", "true", "true"} {
			c := connect(t, transport)
			if i == 1 {
				want = "true" // The transport remembers it.
			}
			for _, framed := range []string{want, "true"} {
				if got := string(mustAsk(t, c, "tools/list")); !strings.Contains(got, `"framed":`+framed) && !strings.Contains(strings.Join(strings.Fields(got), ""), `"framed":`+framed) {
					t.Errorf("connection %d: got %s, want %s", i, got, framed)
				}
			}
			c.Close()
		}
	})
}

func TestNoiseIsSkippedAndLoggedAtDebugLevel(t *testing.T) {
	t.Parallel()
	w, noisy := way{log: &logtest.Log{}}, stdio.Launch{Command: helper("noisy")}
	for level, want := range map[slog.Level]bool{slog.LevelDebug: true, slog.LevelInfo: false} {
		w.log = &logtest.Log{}
		c := connect(t, programio.Dialer(stdio.Child(noisy, loggerOf(w.log, level)), noisy, loggerOf(w.log, level)))
		mustAsk(t, c, "tools/list")
		c.Close()
		if got := strings.Contains(w.log.String(), "Starting…"); got != want {
			t.Errorf("at level %v: the text is logged %v", level, got)
		}
		if n := strings.Count(w.log.String(), "no message of MCP"); n != 1 {
			t.Errorf("at level %v: %d times that there is noise", level, n)
		}
	}
}

func TestAProgramSeesNothingOfItsParentsEnvironment(t *testing.T) {
	t.Parallel()
	inBothWays(t, func(t *testing.T, start func(*testing.T) way) {
		w := start(t)
		other := connect(t, w.transport(stdio.Launch{Command: helper("echo"), Env: []string{"OTHER=another server's secret"}}))
		mustAsk(t, other, "tools/list")
		c := connect(t, w.transport(stdio.Launch{Command: helper("environment"), Env: []string{"MINE=my secret", "LANG=de", "FILES=${CONFIG_DIR}"}}))
		env := mustAskFor[[]string](t, c)
		var names []string
		for _, s := range env {
			name, _, _ := strings.Cut(s, "=")
			names = append(names, name)
		}
		slices.Sort(names)
		allowed := append([]string{"MINE", "LANG", "FILES", stdio.FolderVariable, "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "npm_config_cache", "UV_CACHE_DIR"}, stdio.Personal...)
		for _, name := range names {
			if !slices.Contains(allowed, name) {
				t.Errorf("it sees %s", name)
			}
		}
		if text := strings.Join(env, "\n"); strings.Contains(text, canary) || strings.Contains(text, "another server") {
			t.Error("it sees what is not its own")
		}
		if !slices.Contains(env, "MINE=my secret") || !slices.Contains(env, "LANG=de") || !slices.Contains(names, "HOME") || !slices.Contains(names, "PATH") {
			t.Errorf("it lacks a variable: %q", names)
		}
		if files, folder := stdio.Variable(env, "FILES"), stdio.Variable(env, stdio.FolderVariable); files == "" || files != folder {
			t.Errorf("its files are in %q, which the launch knows as %q", folder, files)
		}
		if home := stdio.Variable(env, "HOME"); (w.shim == nil) != (home == os.Getenv("HOME")) {
			t.Errorf("its home is %q", home)
		}
	})
}

func TestFilesAreTheProgramsAloneAndGoWithIt(t *testing.T) {
	t.Parallel()
	inBothWays(t, func(t *testing.T, start func(*testing.T) way) {
		w := start(t)
		c := connect(t, w.transport(stdio.Launch{
			Command: helper("read", "${CONFIG_DIR}/credentials.json"),
			Files:   []stdio.File{{Name: "credentials.json", Content: []byte("a key")}},
		}))
		if diff := cmp.Diff([]string{"a key", "<nil>", "-rw-------", "drwx------"}, mustAskFor[[]string](t, c)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		c.Close()
		c = connect(t, w.transport(stdio.Launch{Command: helper("arguments", "${CONFIG_DIR}", "$HOME", "a b")}))
		args := mustAskFor[[]string](t, c)
		if _, err := os.Stat(args[0]); err != nil || args[1] != "$HOME" || args[2] != "a b" {
			t.Errorf("arguments %q: %v", args, err)
		}
		c.Close()
		if _, err := os.Stat(args[0]); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder remains: %v", err)
		}
	})
}

func TestAProgramThatDoesNotRunSaysWhy(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		must.Succeed(t, os.WriteFile(path, []byte(content), mode))
		return path
	}
	plain := write("plain", "#!/bin/sh\n", 0o644)
	binary := write("binary", "\x7fELF nothing", 0o755)
	script := write("script", "#!/no/such/interpreter\n", 0o755)
	const value = "a-secret-argument"
	tests := map[string]struct {
		launch stdio.Launch
		want   string
	}{
		"no command":                 {stdio.Launch{}, `the command is empty`},
		"a command not on PATH":      {stdio.Launch{Command: []string{"no-such-program", value}}, `program "no-such-program" was not found on PATH`},
		"a path to nothing":          {stdio.Launch{Command: []string{"/no/such/program", value}}, `program "program" does not exist at its path`},
		"a file that is not one":     {stdio.Launch{Command: []string{plain, value}}, `program "plain" is not executable`},
		"not executable on PATH":     {stdio.Launch{Command: []string{"plain", value}, Env: []string{"PATH=" + folder}}, `program "plain" is not executable`},
		"a folder":                   {stdio.Launch{Command: []string{folder, value}}, `is a folder`},
		"no program":                 {stdio.Launch{Command: []string{binary, value}}, `program "binary" is no program for this machine`},
		"no interpreter":             {stdio.Launch{Command: []string{script, value}}, `program "script" needs an interpreter`},
		"no working directory":       {stdio.Launch{Command: helper("echo", value), Dir: "/no/such"}, `has a working directory that does not exist`},
		"exits at once":              {stdio.Launch{Command: helper("exit", "7", value)}, `ended with status 7 before it sent a message`},
		"exits without an answer":    {stdio.Launch{Command: helper("exit", "0", value)}, `ended with status 0 before it sent a message`},
		"is killed":                  {stdio.Launch{Command: helper("killed", value)}, `was killed, as a program is that takes more memory`},
		"closes its output":          {stdio.Launch{Command: helper("mute", value)}, `closed its stdout and was ended`},
		"exits instead of an answer": {stdio.Launch{Command: helper("exit-later", value)}, `ended with status 3`},
		"a file outside":             {stdio.Launch{Command: helper("echo", value), Files: []stdio.File{{Name: "../x"}}}, `files[0] has a name`},
		"a variable that is none":    {stdio.Launch{Command: helper("echo", value), Env: []string{value}}, `env[0] is not a variable`},
	}
	inBothWays(t, func(t *testing.T, start func(*testing.T) way) {
		w := start(t)
		own := fmt.Sprintf("%s-%t", value, w.shim == nil) // The other way runs at the same time.
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				tt.launch.Command = strings.Split(strings.ReplaceAll(strings.Join(tt.launch.Command, "\n"), value, own), "\n")
				tt.launch.Env = append([]string{"TOKEN=" + value}, tt.launch.Env...)
				if name == "a variable that is none" {
					tt.launch.Env = tt.launch.Env[1:]
				}
				c, err := w.transport(tt.launch)(t.Context())
				if err == nil {
					_, err = ask(t, c, "exit")
					c.Close()
				}
				var programError *stdio.ProgramError
				if !errors.As(err, &programError) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
				if err != nil && strings.Contains(err.Error(), value) {
					t.Errorf("an argument or a value is in %q", err)
				}
				w.expectNone(t, own)
			})
		}
		// What failed is no obstacle for the next.
		mustAsk(t, connect(t, w.transport(stdio.Launch{Command: helper("echo")})), "tools/list")
	})
}

func TestAHugeAnswerEndsItsCallAlone(t *testing.T) {
	t.Parallel()
	inBothWays(t, func(t *testing.T, start func(*testing.T) way) {
		w := start(t)
		c := connect(t, w.transport(stdio.Launch{Command: helper("huge")}))
		_, err := ask(t, c, "huge")
		var refusal *jsonrpc.Error
		if !errors.As(err, &refusal) || !strings.Contains(string(refusal.Data), rpc.CodeAnswerTooLarge) {
			t.Errorf("got %v, want an error that says so", err)
		}
		mustAsk(t, c, "tools/list") // Of the same process: another would need another connection.
	})
}

func TestNoProcessOutlivesItsProgram(t *testing.T) {
	t.Parallel()
	tests := map[string]func(c client.Stream, t *testing.T){
		"closed": func(c client.Stream, _ *testing.T) { c.Close() },
		"exited": func(c client.Stream, t *testing.T) { _, _ = ask(t, c, "exit") },
		"closed by many at once": func(c client.Stream, _ *testing.T) {
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() { c.Close() })
			}
			all.Wait()
		},
	}
	inBothWays(t, func(t *testing.T, start func(*testing.T) way) {
		for name, end := range tests {
			for _, program := range []string{"echo", "exit-later", "family", "orphan", "stubborn", "flood-for-ever"} {
				if name == "exited" && program != "exit-later" {
					continue
				}
				t.Run(program+" "+name, func(t *testing.T) {
					t.Parallel()
					w := start(t)
					token := fmt.Sprintf("token-%s-%d", t.Name(), time.Now().UnixNano())
					c := connect(t, w.transport(stdio.Launch{Command: helper(program, token)}))
					if program != "flood-for-ever" {
						mustAsk(t, c, "tools/list")
					}
					switch program {
					case "family":
						wait.Until(t, "three processes", func() bool { return len(running(t, token, 0)) >= 3 })
					case "orphan":
						wait.Until(t, "two processes, one of them an orphan", func() bool {
							all := running(t, token, 0)
							return len(all) == 2 && !strings.Contains(strings.Join(all, "\n"), "parent "+token)
						})
					}
					end(c, t)
					w.expectNone(t, token)
				})
			}
		}
	})
}

func TestAProgramThatIsNotReadOrDoesNotReadCanBeClosed(t *testing.T) {
	t.Parallel()
	inBothWays(t, func(t *testing.T, start func(*testing.T) way) {
		w := start(t)
		c := connect(t, w.transport(stdio.Launch{Command: helper("deaf")}))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		m := rpc.Append(nil, nil, "fill", json.RawMessage(`"`+strings.Repeat("x", 4<<20)+`"`))
		if err := c.Write(ctx, nil, m); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("4 MiB into a pipe that nobody reads: %v", err)
		}
		c.Close()
		c = connect(t, w.transport(stdio.Launch{Command: helper("flood-for-ever")}))
		c.Close()
	})
}

func TestTheLogHasNoSecret(t *testing.T) {
	t.Parallel()
	const whole = `{"private_key":"first-line-of-the-key\nsecond-line-of-the-key","type":"short"}`
	launch := stdio.Launch{
		Server:  "github",
		Command: helper("tell", "first-line-of-the-key\nsecond-line-of-the-key", "ghp_0123456789"),
		Env:     []string{"TOKEN=ghp_0123456789"},
		Files:   []stdio.File{{Name: "key.json", Content: []byte(whole)}},
	}
	inBothWays(t, func(t *testing.T, start func(*testing.T) way) {
		w := start(t)
		if w.shim != nil {
			w = startShim(t, "0s", launch.Server)
		}
		c := connect(t, w.transport(launch))
		mustAsk(t, c, "tools/list")
		c.Close()
		wait.Until(t, "the end of what it says", func() bool { return strings.Contains(w.log.String(), "the program says") })
		for _, part := range []string{"ghp_0123456789", "first-line", "second-line", canary} {
			if strings.Contains(w.log.String(), part) {
				t.Errorf("%q is in the log:\n%s", part, w.log)
			}
		}
		if !strings.Contains(w.log.String(), "TOKEN=[redacted]") {
			t.Errorf("nothing of the program is in the log:\n%s", w.log)
		}
		if w.shim != nil && !strings.Contains(w.log.String(), `"server":"github"`) {
			t.Errorf("the log does not name the server:\n%s", w.log)
		}
	})
}

// TestWhatAProgramWroteLast has a program that writes a secret before it ends, also with a colour in
// the middle of it.
func TestWhatAProgramWroteLast(t *testing.T) {
	t.Parallel()
	const value = "s3cr3t-0123456789"
	inBothWays(t, func(t *testing.T, start func(*testing.T) way) {
		c := connect(t, start(t).transport(stdio.Launch{Command: helper("exit-with", value), Env: []string{"TOKEN=" + value}}))
		_, err := ask(t, c, "tools/list")
		ended, ok := errors.AsType[*stdio.ProgramError](err)
		if !ok || !ended.Unstarted || len(ended.Said) != 20 || strings.Contains(err.Error(), "line") {
			t.Fatalf("got %v with %q", err, ended.Said)
		}
		want := []string{"an earlier line", "the token  is [redacted]", "it is [redacted] " + strings.Repeat("é", 90) + "…"}
		if diff := cmp.Diff(want, ended.Said[17:]); diff != "" {
			t.Errorf("the last lines (-want +got):\n%s", diff)
		}
	})
}

func TestAClientSpeaksToAProgram(t *testing.T) {
	t.Parallel()
	inBothWays(t, func(t *testing.T, start func(*testing.T) way) {
		w := start(t)
		transport := w.transport(stdio.Launch{Command: helper("sdk")})
		for range 3 {
			session := must.Value(transport.Dial(t.Context(), client.Options{Info: &mcp.Implementation{Name: "test", Version: "1"}}))(t)
			if _, err := session.Call(t.Context(), client.Request{Method: "ping"}); err != nil {
				t.Error(err)
			}
			session.Close()
		}
	})
}
