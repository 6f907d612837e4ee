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

	"github.com/hostedbridge/hostedbridge/internal/scope"
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
	prepare func(o *Options, fs *pflag.FlagSet) runner
}

// runner runs a subcommand whose flags are parsed.
type runner func(ctx context.Context, s streams) error

// errUsage says that a command was asked for wrongly, which is exit code 2.
var errUsage = errors.New("see --help")

func commands() map[string]command {
	return map[string]command{"verify": verifyCommand, "rotate": rotateCommand, "restore": restoreCommand}
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
	o := Defaults()
	fs := pflag.NewFlagSet("keybroker "+name, pflag.ContinueOnError)
	fs.SetOutput(s.err)
	fs.SortFlags = false
	fs.Usage = func() { _, _ = io.WriteString(s.err, c.usage+"\nFlags:\n"+fs.FlagUsages()) }
	run := c.prepare(&o, fs)
	err := fs.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if err = errors.Join(err, o.Validate()); err != nil {
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
func (o *Options) inherit(fs *pflag.FlagSet, names ...string) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.RegisterFlags(all)
	all.VisitAll(func(f *pflag.Flag) {
		keys := strings.HasPrefix(f.Name, "master-key") || strings.HasPrefix(f.Name, "key-") || strings.HasPrefix(f.Name, "vault-")
		cluster := f.Name == "cluster-id" || f.Name == "kubeconfig" || f.Name == scope.Flag
		if keys || cluster || slices.Contains(names, f.Name) {
			fs.AddFlag(f)
		}
	})
}
