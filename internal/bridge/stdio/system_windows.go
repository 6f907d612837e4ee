// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"context"
	"net"
	"os"
	"syscall"
)

// apart protects the program from a console interrupt of this process. The program is ended
// separately.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// relatives returns nothing: on Windows only the program itself is ended.
func relatives(int, string, bool) []int { return nil }

// signal kills processes. Windows has no gentler signal for programs without a window, so signal
// does nothing without kill.
func (p *program) signal(pids []int, kill bool) {
	for _, pid := range pids {
		if process, err := os.FindProcess(pid); kill && err == nil {
			_ = process.Kill()
		}
	}
}

// adopt does nothing: this system has no orphans to wait for.
func adopt(context.Context) (stop func(), err error) { return func() {}, nil }

// knock connects to the socket. Shims run only in containers, which are Linux.
func knock(ctx context.Context, socket string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", socket)
}

// hungUp always returns false: only reading shows the end of the connection.
func hungUp(*net.UnixConn) bool { return false }

// admit accepts every peer.
func admit(*net.UnixConn) error { return nil }

// fullness returns nothing: shims run only in containers, which are Linux.
func fullness(string) string { return "" }
