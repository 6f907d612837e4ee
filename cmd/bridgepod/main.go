// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bridgepod is the program of the image bridge. "pod" is the process of one
// user's pod, which only the ingress may call. "reach" is what the operator's probe pods
// run. It links as little as it can, since it runs once per user.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/internal/bridge/reach"
	"github.com/hostedbridge/hostedbridge/internal/setting"
	"github.com/hostedbridge/hostedbridge/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// command is a subcommand.
type command struct {
	name, summary string
	settings      *setting.Set
	// run runs it when the settings are read. Logs go to stderr.
	run func(ctx context.Context, stderr io.Writer) error
}

func newCommand(name, summary string) command {
	return command{name: name, summary: summary, settings: setting.New(name, summary+"\n\nUsage: bridge "+name+"\n")}
}

func commands() []command {
	return []command{newPod(os.Getenv), newReach()}
}

// execute runs a command and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout, stderr)
	if err == nil || errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	_, _ = fmt.Fprintln(stderr, "bridge:", err)
	if errors.Is(err, errUnreached) {
		return reach.ExitUnreached
	}
	return 1
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 1 && args[0] == "--version" {
		_, err := fmt.Fprintln(stdout, version.String())
		return err
	}
	var names []string
	for _, c := range commands() {
		if len(args) == 0 || args[0] != c.name {
			names = append(names, c.name)
			continue
		}
		c.settings.SetOutput(stderr)
		if err := c.settings.Parse(args[1:]); err != nil {
			return err
		}
		return c.run(ctx, stderr)
	}
	return fmt.Errorf("the first argument must be %s", strings.Join(names, " or "))
}
