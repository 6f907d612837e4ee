// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Command pause is the first process of a pod's sandbox: it holds the pod's
// namespaces open until it is told to end, and reaps what other containers
// leave to it where they share its process namespace.
package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for {
		// Before the first signal too: a child may have ended before Notify.
		reap()
		if s := <-signals; s != syscall.SIGCHLD {
			return
		}
	}
}

// reap collects every child that has ended. One SIGCHLD may stand for many.
func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}
