// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/eventstream"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/programs"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// beProgram is a server over stdio. It returns the exit code of its process.
func beProgram(what string, stdin io.Reader, stdout io.WriteCloser) int {
	in := bufio.NewReader(stdin)
	var reader io.Reader = in
	switch what {
	case "strict", "stuck", "mute":
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 1
		}
		switch known := strings.Contains(string(line), `"initialize"`); {
		case known:
			reader = io.MultiReader(strings.NewReader(string(line)), in)
		case what == "strict":
			return 3
		case what == "stuck":
			_, _ = io.Copy(io.Discard, in)
			return 0
		}
	case "brief":
		fmt.Fprintln(os.Stderr, "cannot begin")
		return 7
	}
	s := emptyServer(nil)
	rawTool(s, "environment", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said("%s", strings.Join(os.Environ(), "\n")), nil
	})
	rawTool(s, "process", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said("%d", os.Getpid()), nil
	})
	rawTool(s, "exit", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		os.Exit(5)
		return nil, nil
	})
	rawTool(s, "large", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said("%s", strings.Repeat("x", eventstream.MaxMessage)), nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := s.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(reader), Writer: stdout}); err != nil {
		return 2
	}
	return 0
}

// tell calls a tool of a program and returns what it says.
func tell(t *testing.T, client *mcp.ClientSession, tool string, arguments any) string {
	t.Helper()
	result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return text(t, result)
}

// pipedProgram is a server over stdio in this process.
type pipedProgram struct{ what string }

func (p *pipedProgram) connect(stdio.Launch) client.Dialer { return p.start }

func (p *pipedProgram) start(context.Context) (client.Stream, error) {
	toProgram, fromBridge := io.Pipe()
	toBridge, fromProgram := io.Pipe()
	go func() {
		beProgram(p.what, toProgram, fromProgram)
		_ = toProgram.Close()
		_ = fromProgram.Close()
	}()
	return programs.Lines(toBridge, fromBridge), nil
}

// TestAProgramThatKnowsOnlyTheOldProtocolWorks has programs that do something
// else than to refuse the modern protocol's first question.
func TestAProgramThatKnowsOnlyTheOldProtocolWorks(t *testing.T) {
	t.Parallel()
	for what, pinned := range map[string]string{
		"strict": message.NewestLegacyVersion, // It exits.
		"stuck":  message.NewestLegacyVersion, // It listens no more.
		"mute":   "",                          // It says nothing to that, and goes on.
		"modern": "",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				slow := upstream.DefaultTiming
				slow.Wait = slow.Connect * 2 // One that is stuck is given up first.
				r := newPipedRig(t, slow, bridgeconfig.Direct, programOf(t, &pipedProgram{what}))
				client := r.connectStdio(t, "modern", nil)
				tell(t, client, "process", nil)
				u := r.bridge.set.only()
				if got := u.Connector.Version(); got != pinned {
					t.Errorf("the next connection begins with version %q, want %q", got, pinned)
				}
				if l := u.Peek(); (l.Era == message.Modern) != (what == "modern") {
					t.Errorf("era = %v", l.Era)
				}
			})
		})
	}
}

func TestAProgramThatEndsIsStartedAgain(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			r := newRig(t, fast, realProgram(t, "modern"))
			client := r.connect(t, clientEra, nil)
			first := tell(t, client, "process", nil)
			if first == fmt.Sprint(os.Getpid()) {
				t.Error("it is no other process")
			}
			if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "exit"}); err == nil {
				t.Error("a call at whose end there is no program has an answer")
			}
			if second := tell(t, client, "process", nil); second == first {
				t.Errorf("process %s answers again", second)
			}
			wait.Until(t, "healthy", func() bool { return r.bridge.Health().Status == health.Healthy })
		})
	}
}

func TestAProgramThatCannotBeginIsUnhealthy(t *testing.T) {
	t.Parallel()
	r := newRig(t, fast, realProgram(t, "brief"))
	wait.Until(t, "unhealthy", func() bool {
		s := r.bridge.Health().Servers["one"]
		return s.Status == health.Unhealthy && strings.Contains(s.Error, "status 7")
	})
	if s := r.bridge.Health().Servers["one"]; s.Reason != health.ReasonProgramEnded || !slices.Equal(s.LastLines, []string{"cannot begin"}) || strings.Contains(s.Error, "begin") {
		t.Errorf("the report says %+v", s)
	}
	client := r.connect(t, "modern", nil)
	if err := called(t, client, "echo"); err == nil || !strings.Contains(err.Error(), `server "one" is not available`) || !strings.Contains(err.Error(), `it wrote last: ["cannot begin"]`) {
		t.Errorf("error = %v", err)
	}
}

// TestAProgramThatCannotBeginIsUnhealthyAtOnce has no second attempt in the time of the test.
func TestAProgramThatCannotBeginIsUnhealthyAtOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ writes, reason, says string }{
		"it ends": {"no key", health.ReasonProgramEnded, "ended with status 1 before it sent a message"},
		"npm has no such package": {"npm error code E404\nnpm error 404 Not Found - GET https://registry.npmjs.org/servr - Not found\nnpm error 404\nnpm error 404  'servr@1.0.0' is not in this registry.",
			health.ReasonPackageNotFound, "could not fetch its package: The registry has no package servr@1.0.0, or does not show it without a login."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			file, log := filepath.Join(folder, "npx"), filepath.Join(folder, "starts")
			must.Succeed(t, os.WriteFile(file, []byte("#!/bin/sh\necho start >>"+log+"\ncat >&2 <<'END'\n"+tt.writes+"\nEND\nexit 1\n"), 0o700))
			slow := fast
			slow.BackoffMin, slow.BackoffMax = time.Hour, time.Hour
			r := newRig(t, slow, bridgeconfig.Server{Name: "one", Transport: bridgeconfig.Stdio, Program: &bridgeconfig.Program{Command: []string{file, "-y", "servr@1.0.0"}}})
			wait.Until(t, "unhealthy", func() bool { return r.bridge.Health().Servers["one"].Status == health.Unhealthy })
			s := r.bridge.Health().Servers["one"]
			if s.Failures != 1 || s.Reason != tt.reason || !strings.Contains(s.Error, tt.says) || len(s.LastLines) == 0 {
				t.Errorf("the report says %+v", s)
			}
			starts := must.Value(os.ReadFile(log))(t)
			if missing := tt.reason == health.ReasonPackageNotFound; missing != (string(starts) == "start\n") {
				t.Errorf("it was started: %q", starts)
			}
		})
	}
}

// TestAProgramThatDiesYoungIsNotStartedInALoop has a program end as soon as it is
// connected to.
func TestAProgramThatDiesYoungIsNotStartedInALoop(t *testing.T) {
	t.Parallel()
	s := echoServer("one")
	p := newMemoryProgram(t, s, "legacy")
	slow := fast
	slow.BackoffMin, slow.BackoffMax = time.Minute, time.Hour
	r := newRig(t, slow, p.Server)
	connected(t, r.bridge)
	first, _ := p.last(t)
	must.Succeed(t, first.Close())
	wait.Until(t, "a failure in the health", func() bool { return r.bridge.Health().Servers["one"].Failures == 1 })
	if got := p.started(); got != 1 {
		t.Errorf("started %d times, want a pause before the second", got)
	}
}

// TestAProgramHasItsOwnSecretsAlone has two programs beside a server with a
// header. None may see what the others are granted.
func TestAProgramHasItsOwnSecretsAlone(t *testing.T) {
	t.Setenv("PARENT_SECRET", "c4n4ry-of-the-bridge")
	one, two := realProgram(t, "modern", "ONE"), realProgram(t, "modern", "TWO", "UNUSED")
	one.Name, two.Name = "one", "two"
	one.Program.Env = append(one.Program.Env, bridgeconfig.Variable{Name: "TOKEN", Value: "${ONE}"}, bridgeconfig.Variable{Name: "DOLLAR", Value: "$$${MISSING:-none}"})
	one.Secrets = append(one.Secrets, "MISSING")
	two.Program.Env = append(two.Program.Env, bridgeconfig.Variable{Name: "TOKEN", Value: "Bearer ${TWO}"})
	three := newWitness(t, "three", "modern", bearer("THREE"), "THREE")
	r := newRig(t, fast, one, two, three.Server)
	r.bridge.UseSecrets(secretsOf("r", "ONE", "c4n4ry-one", "TWO", "c4n4ry-two", "THREE", "c4n4ry-three", "UNUSED", "c4n4ry-unused"))
	client := r.connect(t, "modern", nil)
	for tool, want := range map[string][]string{
		"one_environment": {"DOLLAR=$none", "TOKEN=c4n4ry-one"},
		"two_environment": {"TOKEN=Bearer c4n4ry-two"},
	} {
		var canaries, own []string
		for line := range strings.Lines(tell(t, client, tool, nil)) {
			line = strings.TrimSpace(line)
			if strings.Contains(line, "c4n4ry") || strings.HasPrefix(line, "DOLLAR=") {
				canaries = append(canaries, line)
			}
			if strings.Contains(line, "c4n4ry") {
				own = append(own, line)
			}
		}
		slices.Sort(canaries)
		if diff := cmp.Diff(want, canaries); diff != "" || len(own) != 1 {
			t.Errorf("%s (-want +got):\n%s", tool, diff)
		}
	}
}

// TestAProgramIsStartedAgainWithOtherSecrets has a client call before and after a
// change of the secret.
func TestAProgramIsStartedAgainWithOtherSecrets(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			p := newMemoryProgram(t, echoServer("one"), "legacy")
			p.Program.Env = []bridgeconfig.Variable{{Name: "TOKEN", Value: "${TOKEN}"}}
			p.Secrets = []string{"TOKEN"}
			r := newRig(t, fast, p.Server)
			r.bridge.UseSecrets(secretsOf("r", "TOKEN", "first-token"))
			client := r.connect(t, clientEra, nil)
			for i, token := range []string{"first-token", "first-token", "second-token"} {
				r.bridge.UseSecrets(secretsOf(fmt.Sprint(i), "TOKEN", token))
				must.Succeed(t, called(t, client, "echo"))
				if _, launch := p.last(t); launch.Env[0] != "TOKEN="+token {
					t.Error("the program has not this secret")
				}
			}
			if got := p.started(); got != 2 {
				t.Errorf("started %d times, want once for each secret", got)
			}
		})
	}
}

// TestNoLogHoldsWhatAProgramPrints has a program that cannot begin say why.
func TestNoLogHoldsWhatAProgramPrints(t *testing.T) {
	t.Parallel()
	log := &logtest.Log{}
	server := realProgram(t, "brief", "TOKEN")
	server.Program.Command = append(server.Program.Command, "${TOKEN}")
	r := newLoggedRig(t, slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), fast, server)
	r.bridge.UseSecrets(secretsOf("r", "TOKEN", "c4n4ry-token"))
	wait.Until(t, "unhealthy", func() bool { return r.bridge.Health().Status == health.Unhealthy })
	r.bridge.Close()
	if text := log.String(); strings.Contains(text, "c4n4ry") || !strings.Contains(text, "cannot begin") {
		t.Errorf("log = %s", text)
	}
}

// lateProgram is a program whose container is not there at the first attempt.
type lateProgram struct {
	*memoryProgram
	there atomic.Bool
}

func (p *lateProgram) connect(l stdio.Launch) client.Dialer {
	next := p.memoryProgram.connect(l)
	return func(ctx context.Context) (client.Stream, error) {
		if !p.there.Swap(true) {
			return nil, stdio.ErrNoShim
		}
		return next(ctx)
	}
}

func TestAContainerThatIsNotThereYetSaysNothingOfItsProgram(t *testing.T) {
	t.Parallel()
	p := newMemoryProgram(t, echoServer("one"), "modern")
	r := newRig(t, fast, programOf(t, &lateProgram{memoryProgram: p}))
	must.Value(r.connect(t, "modern", nil).ListTools(t.Context(), nil))(t)
	u := r.bridge.set.only()
	if got := u.Connector.Version(); got != "" {
		t.Errorf("the next connection begins with version %q, want the newest", got)
	}
	if l := u.Peek(); l.Era != message.Modern {
		t.Errorf("era = %v", l.Era)
	}
}
