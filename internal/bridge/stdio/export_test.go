//go:build linux

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"time"
)

// ErrNoSocket says that a server replaced its shim's socket by something else.
var ErrNoSocket = errNoSocket

// What programs see of their process.
var (
	Variable = variable
	Personal = personal
)

// The limits of a program's log.
const (
	LineBurst      = lineBurst
	LinesPerSecond = linesPerSecond
)

// FolderVariable is the variable with a program's folder.
const FolderVariable = folderVariable

// WriteLaunch is what a bridge sends first.
var WriteLaunch = writeLaunch

// EndedMark is in what Running returns of a process that ended.
const EndedMark = "has ended"

// Running returns the processes, also those that ended and were not waited for,
// that have the token among their arguments or are below root.
func Running(token string, root int) (found []string) {
	all := processes()
	for pid, p := range all {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if bytes.Contains(line, []byte(token)) || root != 0 && pid != root && descends(all, p, root) {
			state := "runs"
			if p.ended {
				state = EndedMark
			}
			found = append(found, fmt.Sprintf("%d of %d, %s: %s", pid, p.parent, state, bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	slices.Sort(found)
	return found
}

// ChildrenOf returns the processes whose parent is pid.
func ChildrenOf(pid int) (all []int) {
	for child, p := range processes() {
		if p.parent == pid {
			all = append(all, child)
		}
	}
	return all
}

// short is a grace for programs that do not use it well.
var short = grace{stdin: 200 * time.Millisecond, term: 200 * time.Millisecond}

// ChildInHaste is Child with less time for a program's end.
func ChildInHaste(l Launch, log *slog.Logger) Starter {
	return child{launch: l, log: log, where: func() place {
		p := desk()
		p.grace = short
		return p
	}}
}

// ShimWithin is Shim with another time for the calls of another starter's program.
func ShimWithin(courtesy time.Duration, socket string, l Launch) Starter {
	return &shim{socket: socket, launch: l, courtesy: courtesy}
}

// ServeInHaste is Serve with less time for a program's end, and another for the bridge's, which a
// program has too when its bridge has left.
func ServeInHaste(ctx context.Context, p Post, bridge time.Duration, log *slog.Logger) error {
	where, err := container(p)
	if err != nil {
		return err
	}
	where.grace = short
	where.grace.bridge, where.grace.stdin = bridge, max(bridge, short.stdin)
	return serve(ctx, p.Socket, &runner{server: p.Server, place: where, log: log})
}

// Greet sends a launch to a shim and returns the program that it says to run.
func Greet(conn net.Conn, l Launch) (program string, err error) {
	// The answer may come before all is written.
	_ = writeLaunch(conn, l)
	var answer ending
	return answer.Program, readHello(conn, &answer, maxAnswer)
}
