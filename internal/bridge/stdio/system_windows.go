// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"context"
	"net"
	"os"
	"syscall"
)

// apart keeps a console's interruption of this process from the program, which
// is ended in its own way.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// relatives returns nothing: on Windows only the program itself is ended.
func relatives(int, string, bool) []int { return nil }

// signal kills processes. Windows has no milder way that a program without a
// window would notice, so nothing is done before.
func (p *program) signal(pids []int, kill bool) {
	for _, pid := range pids {
		if process, err := os.FindProcess(pid); kill && err == nil {
			_ = process.Kill()
		}
	}
}

// adopt does nothing: this system has no orphans to wait for.
func adopt(context.Context) (stop func(), err error) { return func() {}, nil }

// knock connects to the socket. Shims are for containers, which are Linux's.
func knock(ctx context.Context, socket string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", socket)
}

// hungUp knows of nothing: only reading tells.
func hungUp(*net.UnixConn) bool { return false }

// admit takes every peer.
func admit(*net.UnixConn) error { return nil }
