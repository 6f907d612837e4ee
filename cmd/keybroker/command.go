// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
	"github.com/hostedbridge/hostedbridge/internal/setting"
)

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// command is a subcommand.
type command struct {
	summary string
	// usage explains it; the flags follow.
	usage string
	// prepare adds the flags and returns what to run once they are parsed.
	prepare func(o *Options, s *setting.Set) runner
}

// runner runs a subcommand whose flags are parsed.
type runner func(ctx context.Context, s streams) error

// errUsage says that a command was asked for wrongly, which is exit code 2.
var errUsage = errors.New("see --help")

func commands() map[string]command {
	return map[string]command{"verify": verifyCommand, "rotate": rotateCommand, "restore": restoreCommand, "backup": backupCommand}
}

// serverUsage is what --help says without a subcommand.
func serverUsage() string {
	var b strings.Builder
	b.WriteString("Serve certificates and secrets, or manage the master key.\n\nUsage: keybroker [flags], or keybroker COMMAND --help\n\nCommands:\n")
	all := commands()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "  %-8s  %s\n", name, all[name].summary)
	}
	b.WriteString("\nFlags of the server:\n")
	return b.String()
}

func executeCommand(ctx context.Context, name string, args []string, s streams) int {
	c, found := commands()[name]
	if !found {
		_, _ = fmt.Fprintf(s.err, "keybroker: there is no command %q: %s\n", name, errUsage)
		return 2
	}
	fs := setting.New("keybroker "+name, c.usage+"\nFlags:\n")
	fs.SetOutput(s.err)
	fs.SortFlags = false
	run := c.prepare(&Options{}, fs)
	err := fs.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", err, errUsage)
	} else {
		err = run(ctx, s)
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		_, _ = fmt.Fprintf(s.err, "keybroker %s: %v\n", name, err)
		return 2
	}
	_, _ = fmt.Fprintf(s.err, "keybroker %s: %v\n", name, err)
	return 1
}

// inherit gives a command those of the server's flags that say which keys and
// which cluster, so that both have one meaning and one default.
func (o *Options) inherit(s *setting.Set, names ...string) {
	names = append(names, "cluster-id", "kubeconfig", namespaces.Flag)
	s.Inherit(o.Declare(""), func(name string) bool {
		keys := strings.HasPrefix(name, "master-key") || strings.HasPrefix(name, "key-") || strings.HasPrefix(name, "vault-")
		return keys || slices.Contains(names, name)
	})
}

// printReport prints what a command found, as JSON or as text does.
func printReport(w io.Writer, format string, report any, text func(io.Writer)) error {
	if format != "json" {
		text(w)
		return nil
	}
	if err := jsondoc.Print(w, report); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}
