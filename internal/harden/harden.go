// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package harden protects the memory of a process that holds a user's secrets.
package harden

import (
	"errors"
	"fmt"
	"io"
	stdlog "log"
)

// Process keeps the user's secrets within the process: no core dump holds its
// memory, and no other process of its user reads that.
func Process() error {
	// net/http writes there what servers send unasked, which may echo anything.
	stdlog.SetOutput(io.Discard)
	var errs []error
	if err := limitDumps(); err != nil {
		errs = append(errs, fmt.Errorf("limit core dumps: %w", err))
	}
	if err := forbidDumps(); err != nil {
		errs = append(errs, fmt.Errorf("make the process undumpable: %w", err))
	}
	return errors.Join(errs...)
}
