// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package laptop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// lock only creates the folder. Of two simultaneous changes, the later one wins.
func lock(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return nil, fmt.Errorf("make the folder: %w", err)
	}
	return func() {}, nil
}

// lockWithin is like lock, which never waits here.
func lockWithin(_ context.Context, path string, _ time.Duration) (unlock func(), err error) {
	return lock(path)
}
