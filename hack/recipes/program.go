// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// listTimeout is how long a program may take to list its tools. Each takes some seconds on a
	// machine without other work.
	listTimeout = time.Minute
	// npxTimeout is the same for npx, which first fetches up to hundreds of packages.
	npxTimeout = 5 * time.Minute
	// endTimeout is how long a program may take to end after its input is closed.
	endTimeout = 3 * time.Second
	// maxMemory is how many bytes a program may have in memory with all of its processes.
	maxMemory = 1 << 30
	// memoryPause is how long no one looks at a program's memory.
	memoryPause = 200 * time.Millisecond
	// maxLine is the length in bytes of a line on stdout, maxWords of what is kept of stderr.
	maxLine, maxWords = 16 << 20, 64 << 10
	// maxPages is how many pages a list of tools may have.
	maxPages = 100
)

// program is a running MCP server over stdio.
type program struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	lines  *bufio.Scanner
	stderr tail
	// ended is closed once the process has ended.
	ended chan struct{}
	// text is the first line on stdout that is no JSON.
	text string
}

// start starts a program in an empty folder, which is its home too, with no other environment than
// env. It is the leader of a group of processes.
func start(home string, env, command []string) (*program, error) {
	p := &program{cmd: exec.Command(command[0], command[1:]...), ended: make(chan struct{})} //nolint:noctx // Its group of processes is ended as a whole.
	p.cmd.Dir, p.cmd.Stderr = home, &p.stderr
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home}, env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = endTimeout
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// A pipe of exec would be closed at the end of the process, before its last line is read.
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout = in
	err = p.cmd.Start()
	if err := errors.Join(err, in.Close()); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	p.stdout, p.lines = out, bufio.NewScanner(out)
	p.lines.Buffer(nil, maxLine)
	go func() {
		_ = p.cmd.Wait() // Its output says more.
		close(p.ended)
	}()
	return p, nil
}

// list asks a program for its tools and returns their names. The error is what it answered, or why it
// did not.
func (p *program) list(ctx context.Context) (tools []string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A reader of its output waits for all processes that have it, also for those of another group.
	stop := context.AfterFunc(ctx, func() { p.kill(); _ = p.stdout.Close() })
	defer stop()
	go p.watch(ctx, cancel)
	tools, err = p.talk()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	return tools, err
}

func (p *program) talk() (tools []string, err error) {
	_, err = p.call(1, "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "recipes", "version": "1"},
	})
	if err == nil {
		err = p.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	}
	params := map[string]any{}
	for page := range maxPages {
		if err != nil {
			return nil, err
		}
		var result json.RawMessage
		if result, err = p.call(2+page, "tools/list", params); err != nil {
			return nil, err
		}
		var listed struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
			NextCursor string `json:"nextCursor"`
		}
		if err := json.Unmarshal(result, &listed); err != nil {
			return nil, fmt.Errorf("tools/list: %w", err)
		}
		for _, tool := range listed.Tools {
			tools = append(tools, tool.Name)
		}
		if listed.NextCursor == "" {
			return tools, nil
		}
		params["cursor"] = listed.NextCursor
	}
	return nil, fmt.Errorf("tools/list has more than %d pages", maxPages)
}

func (p *program) send(message map[string]any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if _, err := p.stdin.Write(append(text, '\n')); err != nil {
		return errEnded
	}
	return nil
}

// errEnded is that a program ended before it answered.
var errEnded = errors.New("the program ended")

// call sends a request and returns its result.
func (p *program) call(id int, method string, params map[string]any) (json.RawMessage, error) {
	if err := p.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	for p.lines.Scan() {
		var answer struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
			} `json:"error"`
		}
		line := bytes.TrimSpace(p.lines.Bytes())
		if err := json.Unmarshal(line, &answer); err != nil {
			if p.text == "" {
				p.text = string(line)
			}
			continue
		}
		if answer.Method != "" || string(answer.ID) != fmt.Sprint(id) {
			continue
		}
		if answer.Error != nil {
			return nil, fmt.Errorf("%s: %d %s", method, answer.Error.Code, answer.Error.Message)
		}
		return answer.Result, nil
	}
	if err := p.lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return nil, fmt.Errorf("%s: %w", method, errEnded)
}

// watch has a program ended that takes too much memory.
func (p *program) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(memoryPause)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if m, err := memoryOf(p.cmd.Process.Pid); err == nil && m.resident > maxMemory {
				cancel(fmt.Errorf("it takes more than %d MiB", maxMemory>>20))
				return
			}
		}
	}
}

// end ends a program: first it closes its input, as clients do, then it ends its processes.
func (p *program) end() {
	_ = p.stdin.Close()
	select {
	case <-p.ended:
	case <-time.After(endTimeout):
	}
	p.kill()
	<-p.ended
	_ = p.stdout.Close()
}

// kill ends all processes of the program's group.
func (p *program) kill() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-maxWords):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.text), "")
}
