// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"fmt"
	"time"
)

// ProgramError is why a program does not run, or does not any more. Its text
// is for who uses the server: it names the program, and none of its arguments,
// variables and files.
type ProgramError struct {
	// Program is the last part of the program's path.
	Program string
	// Reason is what happened, as the end of a sentence that begins with the
	// program.
	Reason string
}

func (e *ProgramError) Error() string { return fmt.Sprintf("program %q %s", e.Program, e.Reason) }

// Bounds of what a program may take.
const (
	// maxMessage bounds one message of a program, in bytes: the limit of the
	// MCP SDK's own transports.
	maxMessage = 16 << 20
	// bridgeGrace is how long a bridge may keep its program when both are told to
	// end: it finishes its calls first, for which it takes 21 s at most. Together
	// with the end of the program that fits into the 45 s that the pod has.
	bridgeGrace = 25 * time.Second
	// stdinGrace is how long a program has after its stdin was closed. MCP
	// calls that the first step of the end and names no time; a program that
	// heeds it needs milliseconds, and most heed only the next.
	stdinGrace = 2 * time.Second
	// termGrace is how long its processes have after SIGTERM.
	termGrace = 5 * time.Second
	// killGrace is how long processes are looked for that were killed: what is
	// still there then waits in the kernel and ends when that lets it.
	killGrace = 2 * time.Second
	// drainGrace is how long the output of a program is read that has ended,
	// where somebody keeps the pipe open.
	drainGrace = 10 * time.Second
	// closeGrace is how long a closing connection waits for a shim: for the
	// program's end as above, and a little for the way.
	closeGrace = stdinGrace + termGrace + killGrace + 3*time.Second
)

// grace is how long a program has at its end. bridge is that of a shim's alone.
type grace struct {
	bridge, stdin, term time.Duration
}

// outputGrace is how long a program has to end after its output has: the two
// happen one after the other when a process exits.
const outputGrace = time.Second
