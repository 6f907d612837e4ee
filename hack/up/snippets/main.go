// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command snippets prints what people paste into some clients of the bridge at the URL that is
// its argument. It reads the key from the standard input, since anybody can read arguments.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/clientconfig"
)

// shown are the clients whose text is printed; the console has those of the others.
var shown = []string{"claude-code", "vscode", "cursor"}

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: snippets URL, with the key on the standard input")
	}
	key, err := io.ReadAll(stdin)
	if err != nil {
		return fmt.Errorf("read the key: %w", err)
	}
	b := clientconfig.Bridge{URL: args[0], Keyed: true, Key: strings.TrimSpace(string(key))}
	for _, s := range clientconfig.Hosted(b) {
		if slices.Contains(shown, s.Client) {
			if _, err := fmt.Fprintf(stdout, "%s. %s\n\n%s\n\n", s.Title, s.How, s.Text); err != nil {
				return err
			}
		}
	}
	return nil
}
