// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"context"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Child returns the transport to a program that this process runs itself, on a person's own
// machine. The program gets the person's PATH, home and the few other variables that name folders,
// and no other variable of this process. Each Connect starts the program again, and Close ends it.
func Child(l Launch, log *slog.Logger) mcp.Transport {
	return &child{launch: l, log: log, dialect: newDialect(l, log), where: desk}
}

type child struct {
	launch  Launch
	log     *slog.Logger
	dialect *dialect
	where   func() place
}

func newDialect(l Launch, log *slog.Logger) *dialect {
	return &dialect{log: log, hide: l.redactor(), grace: closeGrace}
}

// Connect implements mcp.Transport.
func (c *child) Connect(ctx context.Context) (mcp.Connection, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := start(ctx, c.launch, c.where(), c.log)
	if err != nil {
		return nil, err
	}
	return newConnection(ctx, p.name, childPipes{p}, c.dialect), nil
}

// childPipes are the pipes of a program that this process runs.
type childPipes struct{ program *program }

// Read implements io.Reader.
func (c childPipes) Read(b []byte) (int, error) { return c.program.stdout.Read(b) }

// Write implements io.Writer.
func (c childPipes) Write(b []byte) (int, error) { return c.program.stdin.Write(b) }

func (c childPipes) end() { c.program.end("was ended") }

func (c childPipes) outcome() error { return c.program.fault(c.program.outlast()) }

func (c childPipes) release() {
	c.end()
	<-c.program.over
	_ = c.program.stdout.Close()
}
