// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"io/fs"
	"testing"
)

func TestTheContainersLimitIsFound(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"version 2", map[string]string{limitFiles[0]: "134217728\n"}, 128 << 20},
		{"version 2 without a limit", map[string]string{limitFiles[0]: "max\n"}, 0},
		{"version 1", map[string]string{limitFiles[1]: "134217728\n"}, 128 << 20},
		{"version 1 without a limit", map[string]string{limitFiles[1]: "9223372036854771712\n"}, 0},
		{"no control groups", nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := memoryLimit(func(file string) ([]byte, error) {
				if content, ok := tt.files[file]; ok {
					return []byte(content), nil
				}
				return nil, fs.ErrNotExist
			})
			if got != tt.want {
				t.Errorf("limit %d, want %d", got, tt.want)
			}
		})
	}
}
