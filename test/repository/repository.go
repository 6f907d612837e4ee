// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package repository finds files of this repository for tests. Their programs are
// compiled without the paths of their sources.
package repository

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Path returns the path of a file whose name is relative to the repository, in a test
// of any of its packages.
func Path(name ...string) (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return filepath.Join(append([]string{folder}, name...)...), nil
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", errors.New("find the repository: no folder above has a go.mod")
		}
		folder = parent
	}
}
