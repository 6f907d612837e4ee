// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package suspects

import (
	"io/fs"
	"testing"
)

func TestTheMemoryIsThatOfTheContainerWhereTheSystemSaysIt(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  int64 // 0 is what Go's runtime says
	}{
		"control groups of version 2": {map[string]string{"/sys/fs/cgroup/memory.current": "123\n"}, 123},
		"control groups of version 1": {map[string]string{"/sys/fs/cgroup/memory/memory.usage_in_bytes": "456\n"}, 456},
		"no control groups":           {nil, 0},
		"no number":                   {map[string]string{"/sys/fs/cgroup/memory.current": "max"}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := used(func(file string) ([]byte, error) {
				if content, ok := tt.files[file]; ok {
					return []byte(content), nil
				}
				return nil, fs.ErrNotExist
			})
			if tt.want > 0 && got != tt.want || tt.want == 0 && got < 1<<20 {
				t.Errorf("used %d bytes, want %d", got, tt.want)
			}
		})
	}
}
