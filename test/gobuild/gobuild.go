// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gobuild builds the programs that a test starts. go test keeps the result of a test until
// something changes that the test imports or looks at, and it does not see what a go command that the
// test runs looks at. Build looks at the same files.
package gobuild

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// sources prints the files of this module that a package is built from.
const sources = `{{if .Module}}{{if .Module.Main}}{{$dir := .Dir}}{{range .GoFiles}}{{$dir}}/{{.}}
{{end}}{{range .EmbedFiles}}{{$dir}}/{{.}}
{{end}}{{end}}{{end}}`

// Build builds programs, whose packages are import paths, into a file, or a folder if its name ends
// with a slash. The flags are those of go build.
func Build(ctx context.Context, output string, packages []string, flags ...string) error {
	args := slices.Concat([]string{"build", "-o", output}, flags, packages)
	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("build %v: %w: %s", packages, err, out)
	}
	return Look(ctx, packages...)
}

// Age builds age and age-keygen into a folder, by the module of tools in root. With these
// docs/operations/backup.md has an administrator make keys and open backups.
func Age(ctx context.Context, root, folder string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-modfile=hack/tools/go.mod", "-o", folder+"/", "filippo.io/age/cmd/age", "filippo.io/age/cmd/age-keygen")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build age: %w: %s", err, out)
	}
	return nil
}

// Look makes the result of the running test depend on the sources of packages and of what they import.
func Look(ctx context.Context, packages ...string) error {
	out, err := exec.CommandContext(ctx, "go", append([]string{"list", "-deps", "-f", sources}, packages...)...).Output()
	if err != nil {
		return fmt.Errorf("list the sources of %v: %w", packages, err)
	}
	for file := range strings.FieldsSeq(string(out)) {
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("look at a source: %w", err)
		}
	}
	return nil
}
