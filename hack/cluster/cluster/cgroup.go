// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

const cgroupRoot = "/sys/fs/cgroup"

// cgroupFolders returns the cluster's cgroup in each hierarchy: one with
// cgroup v2, one for each controller with v1.
func (c cluster) cgroupFolders() ([]string, error) {
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err == nil {
		return []string{filepath.Join(cgroupRoot, c.cgroup())}, nil
	}
	hierarchies, err := filepath.Glob(filepath.Join(cgroupRoot, "*", "tasks"))
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, tasks := range hierarchies {
		folders = append(folders, filepath.Join(filepath.Dir(tasks), c.cgroup()))
	}
	return folders, nil
}

// makeCgroups makes the parent of the pods' cgroups: kubelet wants it to exist.
func (c cluster) makeCgroups() error {
	folders, err := c.cgroupFolders()
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make cgroup: %w", err)
		}
	}
	return nil
}

// removeCgroups removes the cluster's cgroups, the innermost first. A cgroup
// whose last process has just ended is busy for a moment.
func (c cluster) removeCgroups() error {
	folders, err := c.cgroupFolders()
	if err != nil {
		return err
	}
	for _, folder := range folders {
		var tree []string
		_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				tree = append(tree, path)
			}
			return nil
		})
		for _, path := range slices.Backward(tree) {
			err := os.Remove(path)
			for try := 0; errors.Is(err, syscall.EBUSY) && try < 50; try++ {
				time.Sleep(20 * time.Millisecond)
				err = os.Remove(path)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove cgroup: %w", err)
			}
		}
	}
	return nil
}
