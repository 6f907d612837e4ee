// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"context"
	"errors"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Shim returns the transport to a program that the shim at socket runs. Each
// Connect starts the program anew, and Close ends it.
func Shim(socket string, l Launch, log *slog.Logger) mcp.Transport { return &transport{} }

// Child returns the transport to a program that this process runs itself. Each
// Connect starts the program anew, and Close ends it.
func Child(l Launch, log *slog.Logger) mcp.Transport { return &transport{} }

type transport struct{}

func (t *transport) Connect(context.Context) (mcp.Connection, error) { return nil, errors.New("not yet") }

// Serve listens at socket and runs what the bridge sends, one program at a
// time, until ctx ends.
func Serve(ctx context.Context, socket string, log *slog.Logger) error { return errors.New("not yet") }

// Install copies this process's program to path.
func Install(path string) error { return errors.New("not yet") }
