// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package harden

import "syscall"

// forbidDumps clears the attribute by which the kernel would let debuggers
// attach and write core dumps. Since then /proc/self belongs to root.
func forbidDumps() error {
	if _, _, errno := syscall.Syscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
