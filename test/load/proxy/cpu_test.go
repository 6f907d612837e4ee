// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package proxy

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU times in /proc on Linux.
const tick = time.Second / 100

// cpuOf returns what CPU time processes and their children have taken, 0 for
// those that are gone.
func cpuOf(pids []int) (sum time.Duration) {
	for _, pid := range pids {
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err != nil {
			continue
		}
		// Behind the name, which may hold anything: state is 3, utime 14, stime 15.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		for _, f := range fields[11:13] {
			n, _ := strconv.Atoi(f)
			sum += time.Duration(n) * tick
		}
	}
	return sum
}

// familyOf returns a process and its children, such as a server's workers.
func familyOf(pid int) []int {
	pids := []int{pid}
	children, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "task", strconv.Itoa(pid), "children"))
	for field := range strings.FieldsSeq(string(children)) {
		if n, err := strconv.Atoi(field); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}
