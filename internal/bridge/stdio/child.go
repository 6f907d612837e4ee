// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"context"
	"log/slog"
)

// Child starts a program that this process runs itself, on a person's own machine. The program
// gets the person's PATH, home and the few other variables that name folders, and no other variable
// of this process.
func Child(l Launch, log *slog.Logger) Starter { return child{launch: l, log: log, where: desk} }

type child struct {
	launch Launch
	log    *slog.Logger
	where  func() place
}

// Start implements Starter.
func (c child) Start(ctx context.Context) (Pipes, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := start(ctx, c.launch, c.where(), c.log)
	if err != nil {
		return nil, err
	}
	return childPipes{p}, nil
}

// childPipes are the pipes of a program that this process runs.
type childPipes struct{ program *program }

// Read implements io.Reader.
func (c childPipes) Read(b []byte) (int, error) { return c.program.stdout.Read(b) }

// Write implements io.Writer.
func (c childPipes) Write(b []byte) (int, error) { return c.program.stdin.Write(b) }

// Name implements Pipes.
func (c childPipes) Name() string { return c.program.name }

// End implements Pipes.
func (c childPipes) End() { c.program.end("was ended") }

// Outcome implements Pipes.
func (c childPipes) Outcome() error {
	reason := c.program.outlast()
	return &ProgramError{Program: c.program.name, Reason: reason, Said: c.program.said.Said()}
}

// Release implements Pipes.
func (c childPipes) Release() {
	c.End()
	<-c.program.over
	_ = c.program.stdout.Close()
}
