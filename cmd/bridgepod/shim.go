// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/hostedbridge/hostedbridge/internal/bridge/process"
	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
)

// newShim returns the command that runs a server's program in a container of
// its own, beside the bridge.
func newShim() command {
	var post stdio.Post
	c := newCommand("shim", "Run the program that a bridge sends over a socket, one at a time. The operator starts it in the container of a server over stdio.")
	c.run = func(ctx context.Context, _ []string, stderr io.Writer) error {
		log := slog.New(slog.NewJSONHandler(stderr, nil))
		// What the bridge sends holds the user's secrets.
		if err := process.Harden(); err != nil {
			log.Warn("the process's memory is less protected than it should be", "error", err)
		}
		return stdio.Serve(ctx, post, log)
	}
	c.flags.StringVar(&post.Socket, "socket", "/var/run/hosted-bridge/stdio/shim.sock", "Unix socket to listen at")
	c.flags.StringVar(&post.Server, "server", "", "name of the server whose program runs; a program for another server is refused")
	c.flags.StringVar(&post.Files, "files", "", "folder for programs' files, which may hold secrets (default: the folder for temporary files)")
	c.flags.StringVar(&post.Storage, "storage", "", "folder of the program's volume; if it is full when the program ends, the error says so (default: no volume)")
	c.flags.StringArrayVar(&post.Env, "env", nil, "variable that the program gets, as NAME=VALUE; the program's own variable of that name goes before it; repeat the flag for each variable")
	c.flags.StringVar(&post.Authorities, "authorities", "", "certificate authorities in PEM that Node.js trusts besides its own (default: none)")
	return c
}

// newInstall returns the command by which an init container puts this program
// where the containers of servers find it.
func newInstall() command {
	c := newCommand("install PATH", "Copy this program to PATH.")
	c.run = func(_ context.Context, args []string, _ io.Writer) error { return stdio.Install(args[0]) }
	return c
}
