// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package suspects

import (
	"runtime/metrics"
	"strconv"
	"strings"
)

// usageFiles are where a container finds how much memory it uses, in control groups of version 2
// and 1.
var usageFiles = []string{"/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}

// used returns the memory that counts against the container's limit. That is more than Go's runtime
// knows of: thousands of connections take much of it in the kernel.
func used(read func(string) ([]byte, error)) int64 {
	for _, file := range usageFiles {
		content, err := read(file)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64); err == nil {
			return n
		}
	}
	return ofRuntime()
}

// ofRuntime returns the memory that Go's runtime has from the system.
func ofRuntime() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	for _, s := range samples {
		if s.Value.Kind() != metrics.KindUint64 {
			return 0
		}
	}
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64()) //nolint:gosec // No machine has 8 EiB.
}
