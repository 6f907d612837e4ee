// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Install copies this process's executable to path, so that a container without it can run it as
// its shim. The copy is executable, and path contains either the complete copy or nothing.
func Install(path string) (err error) {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	from, err := os.Open(self)
	if err != nil {
		return fmt.Errorf("open this program: %w", err)
	}
	defer from.Close()
	to, err := os.CreateTemp(filepath.Dir(path), ".install-*")
	if err != nil {
		return fmt.Errorf("install this program: %w", err)
	}
	defer func() {
		_ = to.Close()
		if err != nil {
			_ = os.Remove(to.Name())
		}
	}()
	if _, err := io.Copy(to, from); err != nil {
		return fmt.Errorf("copy this program: %w", err)
	}
	// Other users than the owner run it: it is in a separate volume, which they mount read-only.
	if err := to.Chmod(0o755); err != nil {
		return fmt.Errorf("make the copy executable: %w", err)
	}
	if err := to.Close(); err != nil {
		return fmt.Errorf("write the copy: %w", err)
	}
	if err := os.Rename(to.Name(), path); err != nil {
		return fmt.Errorf("install this program: %w", err)
	}
	return nil
}
