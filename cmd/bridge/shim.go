// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/hostedbridge/hostedbridge/internal/bridge/stdio"
)

// newShim returns the command that runs a server's program in a container of
// its own, beside the bridge.
func newShim() *cobra.Command {
	var post stdio.Post
	c := &cobra.Command{
		Use:   "shim",
		Short: "Run the program that a bridge sends over a socket",
		Long:  "Run the program that a bridge sends over a socket, one at a time. The operator starts it in the container of a server over stdio.",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			log := slog.New(slog.NewJSONHandler(c.ErrOrStderr(), nil))
			// What the bridge sends holds the user's secrets.
			if err := harden(); err != nil {
				log.Warn("the process's memory is less protected than it should be", "error", err)
			}
			return stdio.Serve(c.Context(), post, log)
		},
	}
	c.Flags().StringVar(&post.Socket, "socket", "/var/run/hosted-bridge/stdio/shim.sock", "Unix socket to listen at")
	c.Flags().StringVar(&post.Server, "server", "", "name of the server whose program runs; a program for another server is refused")
	c.Flags().StringVar(&post.Files, "files", "", "folder for programs' files, which may hold secrets (default: the folder for temporary files)")
	c.Flags().StringVar(&post.Storage, "storage", "", "folder of the program's volume; if it is full when the program ends, the error says so (default: no volume)")
	c.Flags().StringArrayVar(&post.Env, "env", nil, "variable that the program gets, as NAME=VALUE; the program's own variable of that name goes before it; repeat the flag for each variable")
	c.Flags().StringVar(&post.Authorities, "authorities", "", "certificate authorities in PEM that Node.js trusts besides its own (default: none)")
	return c
}

// newInstall returns the command by which an init container puts this program
// where the containers of servers find it.
func newInstall() *cobra.Command {
	return &cobra.Command{
		Use:   "install PATH",
		Short: "Copy this program to PATH",
		Args:  cobra.ExactArgs(1),
		RunE:  func(_ *cobra.Command, args []string) error { return stdio.Install(args[0]) },
	}
}
