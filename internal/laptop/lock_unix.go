// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package laptop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lock prevents other processes from changing the file at path until unlock is called. The end of
// a process releases its lock.
func lock(path string) (unlock func(), err error) {
	return locked(path, func(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) })
}

// lockWithin is like lock, but tries again after each interval until ctx ends.
func lockWithin(ctx context.Context, path string, interval time.Duration) (unlock func(), err error) {
	return locked(path, func(f *os.File) error {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
			if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-ticker.C:
			}
		}
	})
}

func locked(path string, acquire func(*os.File) error) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return nil, fmt.Errorf("make the folder: %w", err)
	}
	// A lock on the file itself would be lost, because the file is replaced.
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, fileMode)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if err := acquire(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
