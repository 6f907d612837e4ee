// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cgroup reads the limits of the process's own container.
package cgroup

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// limitFiles are where a container finds its limit of memory, in control groups
// of version 2 and 1.
var limitFiles = []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}

// MemoryLimit returns the container's limit of memory in bytes, 0 for none.
func MemoryLimit() int64 { return memoryLimit(os.ReadFile) }

func memoryLimit(read func(string) ([]byte, error)) int64 {
	for _, file := range limitFiles {
		content, err := read(file)
		if err != nil {
			continue
		}
		// Version 2 says "max" for none, version 1 a number that no machine has.
		limit, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
		if err == nil && limit > 0 && limit < 1<<50 {
			return limit
		}
	}
	return 0
}

// LimitGo has Go's garbage collector run more often near so many percent of the
// container's limit of memory. Go does not count all memory of a process, so leave some.
// It does nothing where GOMEMLIMIT is set or the container has no limit.
func LimitGo(percent int64) {
	if limit := MemoryLimit(); limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 100 * percent)
	}
}
