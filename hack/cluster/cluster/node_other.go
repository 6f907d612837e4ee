// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

const nodeVerb = "node-inside"

var errNotLinux = errors.New("a local cluster runs on Linux only")

func runNode(context.Context, []string) error { return errNotLinux }

func isolate(*exec.Cmd) {}

func lockFile(*os.File) error { return errNotLinux }

func detach(*exec.Cmd) {}
