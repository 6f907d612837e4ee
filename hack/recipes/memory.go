// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// memory is what processes have in memory, in bytes.
type memory struct {
	// private is what no other process has: it is free once they end. resident counts shared pages
	// for each of the processes.
	private, resident int64
}

// memoryOf returns the memory of all processes of a group, by /proc of Linux.
func memoryOf(group int) (memory, error) {
	var sum memory
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return sum, err
	}
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // It has ended.
		}
		// The name in parentheses may have spaces. After it are the state, the parent and the group (proc(5)).
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 3 || fields[2] != strconv.Itoa(group) {
			continue
		}
		rollup, err := os.ReadFile(filepath.Join(filepath.Dir(file), "smaps_rollup"))
		if err != nil {
			continue
		}
		one, err := parseRollup(string(rollup))
		if err != nil {
			return memory{}, err
		}
		sum.private, sum.resident = sum.private+one.private, sum.resident+one.resident
	}
	if sum.resident == 0 {
		return sum, errors.New("none of its processes is there")
	}
	return sum, nil
}

// parseRollup reads the smaps_rollup of a process, whose unit is 1,024 bytes.
func parseRollup(text string) (m memory, err error) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		var sum *int64
		switch name {
		case "Private_Clean", "Private_Dirty":
			sum = &m.private
		case "Rss":
			sum = &m.resident
		default:
			continue
		}
		kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return memory{}, fmt.Errorf("read smaps_rollup: %w", err)
		}
		*sum += kilobytes << 10
	}
	return m, nil
}
