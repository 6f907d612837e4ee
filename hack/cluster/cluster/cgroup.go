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
	"strings"
	"syscall"
	"time"
)

// cgroupRoot is where the host has its cgroups.
const cgroupRoot = "/sys/fs/cgroup"

// kubeletControllers are those of cgroup v2 without which kubelet refuses a
// parent for its pods, where the host has them at all.
var kubeletControllers = []string{"cpu", "cpuset", "memory", "hugetlb", "pids"}

// isUnified reports whether root is a cgroup v2 hierarchy.
func isUnified(root string) bool {
	_, err := os.Stat(filepath.Join(root, "cgroup.controllers"))
	return err == nil
}

// cgroupFolders returns the cluster's cgroup in each hierarchy below root: one
// with cgroup v2, one for each controller with v1.
func (c cluster) cgroupFolders(root string) ([]string, error) {
	if isUnified(root) {
		return []string{filepath.Join(root, c.cgroup())}, nil
	}
	hierarchies, err := filepath.Glob(filepath.Join(root, "*", "tasks"))
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, tasks := range hierarchies {
		folders = append(folders, filepath.Join(filepath.Dir(tasks), c.cgroup()))
	}
	return folders, nil
}

// enableControllers lets the children of a v2 root have kubelet's controllers.
// systemd enables only those that its own units use.
func enableControllers(root string) error {
	available, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for controller := range strings.FieldsSeq(string(available)) {
		if !slices.Contains(kubeletControllers, controller) {
			continue
		}
		f, err := os.OpenFile(filepath.Join(root, "cgroup.subtree_control"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString("+" + controller + "\n")
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("enable cgroup controller %s: %w", controller, err)
		}
	}
	return nil
}

// makeCgroups makes the parent of the pods' cgroups below root: kubelet wants
// it to exist.
func (c cluster) makeCgroups(root string) error {
	if isUnified(root) {
		if err := enableControllers(root); err != nil {
			return err
		}
	}
	folders, err := c.cgroupFolders(root)
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
func (c cluster) removeCgroups(root string) error {
	folders, err := c.cgroupFolders(root)
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
