//go:build unix && !linux

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"context"
	"net"
	"syscall"
)

// apart puts a program into its own process group.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// relatives returns the program's group as a negative number, as kill takes it, while it has
// processes. Processes that left the group are not found: only Linux records where they came from.
func relatives(pid int, _ string, _ bool) []int {
	if syscall.Kill(-pid, 0) != nil {
		return nil
	}
	return []int{-pid}
}

// signal sends SIGTERM or SIGKILL to processes.
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

// knock connects to the socket. Shims run only in containers, which are Linux.
func knock(ctx context.Context, socket string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", socket)
}

// hungUp always returns false: only reading shows the end of the connection.
func hungUp(*net.UnixConn) bool { return false }

// admit accepts every peer that the socket's mode lets in.
func admit(*net.UnixConn) error { return nil }

// fullness returns nothing: shims run only in containers, which are Linux.
func fullness(string) string { return "" }
