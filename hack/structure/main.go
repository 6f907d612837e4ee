// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command structure prints the sizes of packages and types and how many packages a commit
// changes, and fails when a type is larger than this project allows, when folders import each
// other in a circle, or when a test sleeps. `make verify` runs it in the module's root. Tests
// and generated code have no limits of size.
package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	code, err := readModule(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "structure:", err)
		os.Exit(1)
	}
	for _, line := range code.summary() {
		fmt.Println(line)
	}
	if line := locality(history(context.Background())); line != "" {
		fmt.Println(line)
	}
	problems := code.problems()
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, "structure:", p)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}
