// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"strconv"
)

// runExec runs a command of the machine in the network of a cluster's node.
func runExec(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("exec", flag.ContinueOnError)
	name := nameFlag(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("name the command to run")
	}
	c, err := newCluster(*name)
	if err != nil {
		return err
	}
	s, err := c.mustRun()
	if err != nil {
		return err
	}
	command := append([]string{"--target", strconv.Itoa(s.PID), "--net", "--"}, flags.Args()...)
	cmd := exec.CommandContext(ctx, "nsenter", command...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}
