// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path"
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
			for _, line := range append(linesOf(s),
				fmt.Sprintf("\nUSER %d:%[1]d\n", s.user),
				fmt.Sprintf("nonroot:x:%d:%[1]d:", s.user),
				fmt.Sprintf("org.opencontainers.image.title=\"%s/%s\"", repository, s.name),
				fmt.Sprintf("org.opencontainers.image.description=%q", s.description),
			) {
				if !strings.Contains(string(content), line) {
					t.Errorf("no %q", line)
				}
			}
		})
	}
}

// linesOf returns what the Dockerfile of a program, or of an image of parts,
// must have besides.
func linesOf(s spec) []string {
	if s.pkg != "" {
		var lines []string
		for _, folder := range s.data {
			lines = append(lines, fmt.Sprintf("\nCOPY %s /rootfs/%s\n", folder, path.Base(folder)))
		}
		for _, pkg := range s.more {
			lines = append(lines, fmt.Sprintf("go build -trimpath -buildvcs=false -ldflags=\"-s -w\" -o /%s %s\n", path.Base(pkg), pkg), fmt.Sprintf(" /%s /rootfs/", path.Base(pkg)))
		}
		return append(lines,
			fmt.Sprintf("go build -trimpath -buildvcs=false -ldflags=\"-s -w\" -o /%s %s\n", s.name, s.pkg),
			fmt.Sprintf("\nENTRYPOINT [\"/%s\"]\n", s.name),
			"\nFROM scratch\n",
			"CGO_ENABLED=0",
			"/"+rootsPath,
		)
	}
	entrypoint, search := s.command()
	lines := []string{
		fmt.Sprintf("\nENTRYPOINT [%q]\n", strings.Join(entrypoint, `", "`)),
		"\nENV PATH=" + search + "\n",
		"\nFROM debian:12-slim\n",
		" ca-certificates ",
	}
	for _, pkg := range s.more {
		lines = append(lines,
			fmt.Sprintf("go build -trimpath -buildvcs=false -ldflags=\"-s -w\" -o /%s %s\n", path.Base(pkg), pkg),
			fmt.Sprintf("\nCOPY --from=programs /%s /%s/%[1]s\n", path.Base(pkg), programsFolder))
	}
	for _, p := range s.parts {
		lines = append(lines, map[string][]string{
			debianBase.name:   nil,
			nodePart.name:     {"COPY hack/image/npm/node ", " libstdc++6 "},
			serversPart.name:  {"COPY hack/image/npm/servers /app\n"},
			pythonPart.name:   {" python3.11 tzdata "},
			postgresPart.name: {" postgresql-15 ", "/usr/lib/postgresql/15/bin/"},
		}[p.name]...)
	}
	return lines
}
