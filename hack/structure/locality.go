// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// commitsRead is how many commits locality is about.
const commitsRead = 100

// history returns the last commits without merges: for each a line "commit" and the files that it
// changes, a line each. It is empty where there is no repository, as in an archive of the sources.
func history(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "log", "--no-merges", fmt.Sprintf("--max-count=%d", commitsRead), "--format=format:commit", "--name-only").Output()
	if err != nil {
		return ""
	}
	return string(out)
}

// locality says how many packages a commit changes, of those that change code of the product:
// a change that touches many means that its subject is in many places. It is empty without any.
func locality(history string) string {
	var touched []int
	for commit := range strings.SplitSeq("\n"+history, "\ncommit\n") {
		packages := map[string]bool{}
		for file := range strings.Lines(commit) {
			if file = strings.TrimSpace(file); isProduct(file) {
				packages[path.Dir(file)] = true
			}
		}
		if len(packages) > 0 {
			touched = append(touched, len(packages))
		}
	}
	if len(touched) == 0 {
		return ""
	}
	slices.Sort(touched)
	many := len(touched) - slices.IndexFunc(append(touched, 4), func(n int) bool { return n > 3 })
	return fmt.Sprintf("packages that a commit changes, of the last %d that change code: median %d, three quarters at most %d, more than 3 in %d %%",
		len(touched), touched[len(touched)/2], touched[len(touched)*3/4], 100*many/len(touched))
}

func isProduct(file string) bool {
	root, _, _ := strings.Cut(file, "/")
	return slices.Contains([]string{"api", "cmd", "controllers", "internal"}, root) && strings.HasSuffix(file, ".go") &&
		!strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(path.Base(file), "zz_generated.")
}
