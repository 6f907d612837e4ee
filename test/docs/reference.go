// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// flagsPage is where the flags of all programs are.
const flagsPage = "docs/reference/flags.md"

// Command is a program or one of its subcommands, as it is typed, with what it
// is for and its flags.
type Command struct {
	Name, Summary string
	Flags         *pflag.FlagSet
}

// ExpectFlags fails the test where the reference has not exactly these commands
// under the program's heading. A flag that the program itself has is explained there
// alone. make docs-reference, which sets UPDATE_DOCS, has them written there instead.
func ExpectFlags(t *testing.T, program string, commands []Command) {
	t.Helper()
	var b strings.Builder
	for i, c := range commands {
		text := table(c.Flags)
		if i > 0 {
			text = below(c.Flags, commands[0])
		}
		fmt.Fprintf(&b, "%s `%s`\n\n%s\n\n%s\n", strings.Repeat("#", 2+min(i, 1)), c.Name, c.Summary, text)
	}
	ExpectPart(t, flagsPage, program, strings.TrimSpace(b.String()))
}

// below lists the flags that the program has not, and names the others.
func below(flags *pflag.FlagSet, program Command) string {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if of := program.Flags.Lookup(f.Name); of != nil && of.Usage == f.Usage && of.DefValue == f.DefValue {
			names = append(names, "`--"+f.Name+"`")
			return
		}
		own.AddFlag(f)
	})
	if len(names) == 0 {
		return table(own)
	}
	shared := "It has these flags of `" + program.Name + "`: " + strings.Join(names, ", ") + ".\n"
	if !own.HasFlags() {
		return shared
	}
	return table(own) + "\n" + shared
}

// table lists flags in the order of the alphabet.
func table(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name += ", `-" + f.Shorthand + "`"
		}
		kind, usage := pflag.UnquoteUsage(f)
		if kind != "" {
			name += " " + kind
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, defaultOf(f), escaped.Replace(usage))
	})
	if b.Len() == 0 {
		return "It has no flags.\n"
	}
	return "| flag | default | |\n| --- | --- | --- |\n" + b.String()
}

func defaultOf(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "[]", "false":
		return ""
	}
	return "`" + f.DefValue + "`"
}

// ExpectPart fails the test where the part of a page between its two comments is
// another one.
func ExpectPart(t *testing.T, page, part, want string) {
	t.Helper()
	file := Root + "/" + page
	content := must.Value(os.ReadFile(file))(t)
	begin, end := fmt.Appendf(nil, "<!-- begin %s -->\n", part), fmt.Appendf(nil, "<!-- end %s -->", part)
	before, rest, begun := bytes.Cut(content, begin)
	got, after, ended := bytes.Cut(rest, end)
	if !begun || !ended {
		t.Fatalf("%s has no part %s", page, part)
	}
	want = "\n" + want + "\n\n"
	if string(got) == want {
		return
	}
	if os.Getenv("UPDATE_DOCS") == "" {
		t.Fatalf("%s is not what the program says of %s: run make docs-reference", page, part)
	}
	must.Succeed(t, os.WriteFile(file, bytes.Join([][]byte{before, begin, []byte(want), end, after}, nil), 0o600))
}
