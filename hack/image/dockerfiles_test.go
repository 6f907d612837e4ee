// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDockerfileMakesTheSameImage(t *testing.T) {
	for _, s := range specs {
		t.Run(s.name, func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join("dockerfiles", s.name+".Dockerfile"))
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range []string{
				fmt.Sprintf("go build -trimpath -buildvcs=false -ldflags=\"-s -w\" -o /%s %s\n", s.name, s.pkg),
				fmt.Sprintf("\nUSER %d:%[1]d\n", s.user),
				fmt.Sprintf("\nENTRYPOINT [\"/%s\"]\n", s.name),
				fmt.Sprintf("nonroot:x:%d:%[1]d:", s.user),
				fmt.Sprintf("org.opencontainers.image.title=\"%s/%s\"", repository, s.name),
				fmt.Sprintf("org.opencontainers.image.description=%q", s.description),
				"\nFROM scratch\n",
				"CGO_ENABLED=0",
				"/" + rootsPath,
			} {
				if !strings.Contains(string(content), line) {
					t.Errorf("no %q", line)
				}
			}
		})
	}
}
