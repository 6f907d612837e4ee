// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package laptop

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lock keeps other processes from changing the file at path until unlock is
// called. A process that ends unlocks.
func lock(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return nil, fmt.Errorf("make the folder: %w", err)
	}
	// The file itself is replaced, and a lock on it would go with it.
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, fileMode)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
