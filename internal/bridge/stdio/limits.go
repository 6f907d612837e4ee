// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"fmt"
	"time"
)

// ProgramError says why a program does not run, or has ended. Its text is for users of the server:
// it contains the program's name, and never its arguments, variables or files.
type ProgramError struct {
	// Program is the last part of the program's path.
	Program string
	// Reason completes a sentence that starts with the program.
	Reason string
	// Said are the last lines that the program wrote to stderr, without its secrets. They may hold data
	// of the user, so Error has none of them.
	Said []string
	// Unstarted means that it never sent a message: another start is likely to end alike.
	Unstarted bool
	// Missing means that the registry does not have the package that it was to fetch.
	Missing bool
}

func (e *ProgramError) Error() string { return fmt.Sprintf("program %q %s", e.Program, e.Reason) }

// The limits of a program.
const (
	// bridgeGrace is how long a bridge may keep its program when both are told to end: the bridge
	// first finishes its calls, which takes 21 s at most. Together with the end of the program,
	// this fits into the 45 s of the pod.
	bridgeGrace = 25 * time.Second
	// stdinGrace is how long a program may take to end after its stdin was closed. In MCP this is
	// the first step of the shutdown, without a time limit. A program that reacts to it needs
	// milliseconds; most programs react only to the next step.
	stdinGrace = 2 * time.Second
	// termGrace is how long its processes may take after SIGTERM.
	termGrace = 5 * time.Second
	// killGrace is how long to wait for killed processes: a process that is left then waits in the
	// kernel, and ends when the kernel releases it.
	killGrace = 2 * time.Second
	// drainGrace is how long the output of an ended program is read if another process keeps the
	// pipe open.
	drainGrace = 10 * time.Second
	// EndGrace is how long to wait for the output's end after Pipes.End: the time for the program's
	// end as above, and some time for the messages of a shim.
	EndGrace = stdinGrace + termGrace + killGrace + 3*time.Second
)

// grace holds the time limits for a program's end. Only a shim uses bridge.
type grace struct {
	bridge, stdin, term time.Duration
}

// outputGrace is how long a program may take to exit after its output has ended: an exiting
// process does both, one after the other.
const outputGrace = time.Second
