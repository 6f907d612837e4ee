// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command shim runs the program of a server over stdio in a container of its own, beside the
// bridge. The container's image has it, or an init container of the bridge's image copies it there
// by "shim install". It is not a part of the bridge's program: each such container has its own copy in memory.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
	"github.com/hostedbridge/hostedbridge/internal/harden"
	"github.com/hostedbridge/hostedbridge/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// execute runs the shim, or installs it, and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout, stderr)
	if err == nil || errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	_, _ = fmt.Fprintln(stderr, "shim:", err)
	return 1
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	switch {
	case len(args) == 1 && args[0] == "--version":
		_, err := fmt.Fprintln(stdout, version.String())
		return err
	case len(args) == 2 && args[0] == "install":
		return stdio.Install(args[1])
	case len(args) > 0 && args[0] == "install":
		return errors.New("install takes one argument, the path of the copy")
	}
	var post stdio.Post
	fs := newFlags(&post)
	fs.SetOutput(stderr)
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %.80q: give flags, or install PATH", fs.Arg(0))
	}
	log := slog.New(slog.NewJSONHandler(stderr, nil))
	// What the bridge sends holds the user's secrets.
	if err := harden.Process(); err != nil {
		log.Warn("the process's memory is less protected than it should be", "error", err)
	}
	return stdio.Serve(ctx, post, log)
}

func newFlags(post *stdio.Post) *pflag.FlagSet {
	fs := pflag.NewFlagSet("shim", pflag.ContinueOnError)
	fs.StringVar(&post.Socket, "socket", "/var/run/hosted-bridge/stdio/shim.sock", "Unix socket to listen at")
	fs.StringVar(&post.Server, "server", "", "name of the server whose program runs; a program for another server is refused")
	fs.StringVar(&post.Files, "files", "", "folder for programs' files, which may hold secrets (default: the folder for temporary files)")
	fs.StringVar(&post.Storage, "storage", "", "folder of the program's volume; if it is full when the program ends, the error says so (default: no volume)")
	fs.StringArrayVar(&post.Env, "env", nil, "variable that the program gets, as NAME=VALUE; the program's own variable of that name goes before it; repeat the flag for each variable")
	fs.StringVar(&post.Authorities, "authorities", "", "certificate authorities in PEM that Node.js trusts besides its own (default: none)")
	return fs
}
