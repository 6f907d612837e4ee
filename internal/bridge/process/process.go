// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process is what a process with a bridge in it needs, in a pod and on a
// person's machine: little memory, traces, and files that are read again when they
// change.
package process

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// HeaderTimeout is how long a request's headers may take: a client is near
	// and sends them at once.
	HeaderTimeout = 10 * time.Second
	// MaxHeaderBytes is as much as the ingress itself accepts from the outside,
	// with room for what it adds.
	MaxHeaderBytes = 64 << 10
)

// IgnoreClosed returns nil for the error of a server that was closed, and says of
// another what failed.
func IgnoreClosed(err error, what string) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
