//go:build linux

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/bridge/programio"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
)

// helperArgument has the test binary be a program instead of running tests. It
// is an argument, because a program sees no variable of its parent's.
const helperArgument = "be-the-program"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == helperArgument {
		helpers[os.Args[2]](os.Args[3:])
		if os.Args[2] == "shim" {
			os.Exit(0)
		}
		exit(0)
	}
	for _, name := range []string{"CANARY", "PARENTS_TOKEN"} {
		if err := os.Setenv(name, canary); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// exit ends a program that is not under test, without the second for which the race
// detector waits for reports.
func exit(code int) { syscall.Exit(code) }

// helper returns the command of a program that the test binary can be.
func helper(name string, args ...string) []string {
	return append([]string{os.Args[0], helperArgument, name}, args...)
}

// rpcMessage is what the programs read and write of JSON-RPC.
type rpcMessage struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
}

// answer says the result of every request that comes, until stdin ends.
func answer(result func(rpcMessage) any) {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m rpcMessage
		if json.Unmarshal(line, &m) == nil && m.ID != nil {
			say(rpcMessage{ID: m.ID, Result: result(m)})
		}
	}
}

func say(m rpcMessage) {
	m.Version = "2.0"
	text, _ := json.Marshal(m)
	_, _ = os.Stdout.Write(append(text, '\n'))
}

func echo(m rpcMessage) any { return map[string]any{"method": m.Method, "params": m.Params} }

// forever keeps the process while it is not killed.
func forever() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	// A failing test leaves it no longer.
	time.AfterFunc(5*time.Minute, func() { os.Exit(1) })
	select {}
}

// fork starts another process of the test binary that inherits what this one
// has, its variables too.
func fork(detached bool, args ...string) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: detached}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
}

// helpers are the programs by name.
var helpers map[string]func(args []string)

func init() {
	helpers = map[string]func(args []string){
		"echo": func([]string) { answer(echo) },
		"noisy": func([]string) {
			fmt.Fprintln(os.Stdout, "Starting…\n\n{\"not\": \"rpc\"}\nContent-Length: 12")
			fmt.Fprint(os.Stdout, "no end of line, but\n")
			answer(func(m rpcMessage) any {
				fmt.Fprintln(os.Stdout, "got a request")
				return echo(m)
			})
		},
		"headers": func([]string) { withHeaders() },
		"exit": func(args []string) {
			fmt.Fprintln(os.Stderr, "I need a key")
			code, _ := strconv.Atoi(args[0])
			exit(code)
		},
		"exit-with": func(args []string) {
			for range 30 {
				fmt.Fprintln(os.Stderr, "an earlier line")
			}
			fmt.Fprintln(os.Stderr, "\x1b[31mthe \x1b]0;title\x07token\x1b[0m \tis "+args[0][:4]+"\x1b[1m"+args[0][4:]+"\a")
			fmt.Fprintln(os.Stderr, "it is "+args[0]+" "+strings.Repeat("é", 200))
			exit(1)
		},
		"exit-later": func([]string) {
			answer(func(m rpcMessage) any {
				if m.Method == "exit" {
					exit(3)
				}
				return echo(m)
			})
		},
		"environment": func([]string) { answer(func(rpcMessage) any { return os.Environ() }) },
		"arguments":   func(args []string) { answer(func(rpcMessage) any { return args }) },
		"read": func(args []string) {
			answer(func(rpcMessage) any {
				b, err := os.ReadFile(args[0])
				info, _ := os.Stat(args[0])
				folder, _ := os.Stat(filepath.Dir(args[0]))
				return []string{string(b), fmt.Sprint(err), info.Mode().String(), folder.Mode().String()}
			})
		},
		"family": func(args []string) {
			fork(false, helper("forever", args...)...)
			fork(true, helper("parent", args...)...)
			answer(echo)
		},
		"parent":   func(args []string) { fork(true, helper("forever", args...)...) },
		"orphan":   func(args []string) { fork(true, helper("parent", args...)...); answer(echo) },
		"forever":  func([]string) { forever() },
		"stubborn": func([]string) { signal.Ignore(syscall.SIGTERM); answer(echo); forever() },
		"deaf":     func([]string) { forever() },
		"count": func(args []string) {
			n, _ := io.Copy(io.Discard, os.Stdin)
			_ = os.WriteFile(args[0], []byte(fmt.Sprint(n)), 0o600)
		},
		"mute": func([]string) {
			os.Stdout.Close()
			forever()
		},
		"flood-stdout": func([]string) {
			line := bytes.Repeat([]byte("x"), 1000)
			line[999] = '\n'
			for range 20_000 {
				_, _ = os.Stdout.Write(line)
			}
			answer(echo)
		},
		"flood-for-ever": func([]string) {
			line := []byte(`{"jsonrpc":"2.0","method":"notifications/message"}` + "\n")
			for {
				if _, err := os.Stdout.Write(line); err != nil {
					return
				}
			}
		},
		"flood-stderr": func([]string) {
			for i := range 20_000 {
				fmt.Fprintf(os.Stderr, "line %d %s\n", i, strings.Repeat("y", 1000))
			}
			answer(echo)
		},
		"huge": func([]string) {
			answer(func(m rpcMessage) any {
				if m.Method == "huge" {
					return strings.Repeat("z", programio.MaxMessage)
				}
				return echo(m)
			})
		},
		"large": func([]string) {
			answer(func(rpcMessage) any { return strings.Repeat("z", 8<<20) })
		},
		"tell": func(args []string) {
			fmt.Fprintln(os.Stderr, strings.Join(os.Environ(), "\n"))
			fmt.Fprintln(os.Stderr, strings.Join(args, "\n"))
			fmt.Fprintln(os.Stdout, strings.Join(os.Environ(), "\n"))
			answer(echo)
		},
		"killed": func([]string) { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); forever() },
		"shim":   serveShim,
		"knock":  knocks,
		"sdk": func([]string) {
			server := mcp.NewServer(&mcp.Implementation{Name: "program", Version: "1"}, nil)
			_ = server.Run(context.Background(), &mcp.StdioTransport{})
		},
	}
}

// withHeaders is a server that frames its messages as the Language Server
// Protocol does, and understands both ways until it was spoken to in this one.
func withHeaders() {
	in := bufio.NewReader(os.Stdin)
	for {
		var text []byte
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		framed := strings.HasPrefix(line, "Content-Length: ")
		if text = []byte(line); framed {
			length, _ := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "Content-Length: ")))
			_, _ = in.ReadString('\n')
			text = make([]byte, length)
			_, _ = io.ReadFull(in, text)
		}
		var m rpcMessage
		if json.Unmarshal(text, &m) != nil || m.ID == nil {
			continue
		}
		reply, _ := json.MarshalIndent(rpcMessage{Version: "2.0", ID: m.ID, Result: map[string]any{"framed": framed}}, "", "\n")
		fmt.Fprintf(os.Stdout, "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s", len(reply), reply)
	}
}

// serveShim is a shim: the socket, and how long the bridge may keep the program,
// the server that it is for and the folder for files.
func serveShim(args []string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	args = append(args, []string{"", "0s", "", ""}[len(args):]...)
	late, err := time.ParseDuration(args[1])
	if err != nil {
		panic(err)
	}
	post := stdio.Post{Socket: args[0], Server: args[2], Files: args[3]}
	if err := stdio.ServeInHaste(ctx, post, late, slog.New(slog.NewJSONHandler(os.Stderr, nil))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// knocks says what a shim answers.
func knocks(args []string) {
	conn, err := net.Dial("unix", args[0])
	if err != nil {
		panic(err)
	}
	program, err := stdio.Greet(conn, stdio.Launch{Command: helper("echo")})
	fmt.Fprintln(os.Stdout, err, program)
}
