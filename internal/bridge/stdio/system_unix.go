//go:build unix && !linux

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"context"
	"net"
	"syscall"
)

// apart gives a program a process group of its own.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// relatives returns the program's group as a negative number, as kill takes it,
// while anybody is in it. Processes that left the group are not found: only
// Linux tells where they came from.
func relatives(pid int, _ string, _ bool) []int {
	if syscall.Kill(-pid, 0) != nil {
		return nil
	}
	return []int{-pid}
}

// signal asks processes to end, or kills them.
func (p *program) signal(pids []int, kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig)
	}
}

// adopt does nothing: this system has no way to adopt orphans.
func adopt(context.Context) (stop func(), err error) { return func() {}, nil }

// knock connects to the socket. Shims are for containers, which are Linux's.
func knock(ctx context.Context, socket string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", socket)
}

// hungUp knows of nothing: only reading tells.
func hungUp(*net.UnixConn) bool { return false }

// admit takes every peer that the socket's mode lets in.
func admit(*net.UnixConn) error { return nil }
