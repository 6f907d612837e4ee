// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"context"
	"io"
)

// Starter starts one program.
type Starter interface {
	// Start starts the program again. ctx limits the attempt, not the program.
	Start(ctx context.Context) (Pipes, error)
}

// Pipes connect to a running program.
type Pipes interface {
	io.Reader // the program's whole output
	io.Writer // the program's input
	// Name returns the program's name for errors.
	Name() string
	// End starts the end of the program, and does not wait for it.
	End()
	// Outcome returns how the program ended. Call it after reading has ended.
	Outcome() error
	// Release frees all resources, even if the program has not ended.
	Release()
}
