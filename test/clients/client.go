// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Client is an MCP client that people use.
type Client struct {
	// Name is what people call it, and Package its package of npm.
	Name, Package string
	// config is its name in internal/clientconfig, whose steps set it up; it is empty for a
	// client that has none there.
	config string
	// OneCall is why a run of it makes no second call in the same session, empty where it does.
	OneCall string
	// NoModel is that it is a library or a command, of a program without a model.
	NoModel bool
	// start is how it is started. A client with steps has nothing of the bridge in it.
	start func(Window) start
}

// Window is one run of a client, with a home of its own.
type Window struct {
	// Modules is the folder of the packages, and Node the node that they run on.
	Modules, Node string
	// Home is the home and the working directory.
	Home string
	// URL is the bridge's, and Key the user's key, empty where the user has none.
	URL, Key string
	// Model is the URL of the stand-in.
	Model string
}

// start is what runs a client.
type start struct {
	// first are commands that run before, without a limit of their own.
	first [][]string
	// run is the command that does what the user asks.
	run []string
	// status is the command by which a user asks what is wrong, nil for a client without one.
	status []string
	// files are written into the home before.
	files map[string]any
	env   map[string]string
}

// Prompt is what the user asks for.
const Prompt = "Call the tool test_simple_text and say what it answers."

// ended bounds how long what a run started may keep its output open after it.
const ended = 5 * time.Second

// Run runs the client until it ends, and returns what it printed last on both streams.
func (c Client) Run(ctx context.Context, w Window) (string, error) {
	s, err := c.prepare(w)
	if err != nil {
		return "", err
	}
	for name, content := range s.files {
		if err := write(filepath.Join(w.Home, name), content); err != nil {
			return "", err
		}
	}
	for _, command := range s.first {
		if out, err := w.run(ctx, s, command); err != nil {
			return "", fmt.Errorf("%s: %w: %s", command[len(command)-1], err, out)
		}
	}
	return w.run(ctx, s, s.run)
}

// Status returns what the client's own command says of the bridge, after a run in the same
// window. It is empty for a client without such a command.
func (c Client) Status(ctx context.Context, w Window) string {
	s, err := c.prepare(w)
	if err != nil || s.status == nil {
		return ""
	}
	out, _ := w.run(ctx, s, s.status)
	return out
}

// Version returns the version of the client's package.
func (c Client) Version(modules string) (string, error) {
	content, err := os.ReadFile(filepath.Join(modules, filepath.FromSlash(c.Package), "package.json"))
	if err != nil {
		return "", err
	}
	var pkg struct{ Version string }
	err = json.Unmarshal(content, &pkg)
	return pkg.Version, err
}

// write writes a file: a text as it is, another value as JSON.
func write(path string, content any) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if text, ok := content.(string); ok {
		return os.WriteFile(path, []byte(text), 0o600)
	}
	encoded, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return os.WriteFile(path, encoded, 0o600)
}

// run runs a command of the start, with the client in the path and nothing of this process's
// environment, and ends its group.
func (w Window) run(ctx context.Context, s start, command []string) (string, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = filepath.Join(w.Home, "work")
	for _, folder := range []string{cmd.Dir, filepath.Join(w.Home, "tmp")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return "", err
		}
	}
	all := map[string]string{
		"PATH": filepath.Dir(s.run[0]) + ":" + filepath.Dir(w.Node) + ":/usr/local/bin:/usr/bin:/bin",
		"HOME": w.Home, "TMPDIR": filepath.Join(w.Home, "tmp"),
		"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1", "LANG": "C.UTF-8", "NO_PROXY": "127.0.0.1,localhost",
		"DO_NOT_TRACK": "1", "OTEL_SDK_DISABLED": "true",
	}
	maps.Copy(all, s.env)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		cmd.Env = append(cmd.Env, name+"="+all[name])
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = ended
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	if cmd.Process != nil {
		// What it started may still run.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	return w.words(out.String()), err
}

var (
	escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07`)
	ports   = regexp.MustCompile(`(127\.0\.0\.1|localhost):\d+`)
	spaces  = regexp.MustCompile(`[\s\x00-\x1f]+`)
	// noise is about the terminal, the stand-in, and how these runs approve calls.
	noise = regexp.MustCompile(`(?m)^.*(YOLO mode|--yolo|[Rr]ipgrep|[Mm]odel metadata).*$`)
	// numbers are ids, durations, times of day and the like.
	numbers = regexp.MustCompile(`\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|[0-9a-f]{16,}|\d+(\.\d+)? ?(m?s|seconds)|` +
		`\d{4}-\d\d-\d\d[T ][\d:.]+Z?)\b|"durationMs": ?\d+`)
)

// maxWords bounds what is kept of what a client printed, in characters.
const maxWords = 400

// words returns the last words of an output, without what another run would print otherwise,
// and without the key.
func (w Window) words(out string) string {
	if w.Key != "" {
		out = strings.ReplaceAll(out, w.Key, "[key]")
	}
	user := strings.TrimSuffix(w.URL[strings.LastIndex(w.URL, "/u/")+1:], "/mcp")
	out = strings.NewReplacer(w.Home, "~", w.Modules, "node_modules", user, "u/alice").Replace(out)
	out = noise.ReplaceAllString(escapes.ReplaceAllString(out, ""), "")
	out = ports.ReplaceAllString(out, "$1:PORT")
	out = strings.TrimSpace(spaces.ReplaceAllString(numbers.ReplaceAllString(out, "…"), " "))
	if runes := []rune(out); len(runes) > maxWords {
		out = "… " + string(runes[len(runes)-maxWords:])
	}
	return out
}
