// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command recipes looks at the recipes of a folder against the npm registry: is
// the package there in the version that the recipe names, is it deprecated, is
// there a newer one, does it read the variables that the recipe sets. It asks
// remote servers, without credentials, whether they are there and, where the
// recipe's login needs it, for their protected resource metadata. It is for a
// maintainer and needs the machine's npm; it changes nothing.
//
// With --start and --memory it installs the programs and starts them, without credentials, and
// writes what they do into pages of the documentation.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "recipes:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	folder string
	only   []string
	files  bool
	// locks is the folder to write lock files to, empty to check recipes.
	locks string
	// start and memory are pages into which tables of the started programs are written.
	start, memory string
	// settle is how long after its list a program's memory is measured.
	settle time.Duration
}

// errFound is that something must be mended. What, is on stdout.
var errFound = errors.New("some recipes are not what the registry or their servers say")

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	flags := pflag.NewFlagSet("recipes", pflag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.folder, "dir", filepath.Join("config", "recipes"), "folder with a folder for each recipe")
	flags.StringSliceVar(&o.only, "only", nil, "ids of the recipes to look at (default: all)")
	flags.BoolVar(&o.files, "files", false, "download each package and look in its files for the variables and options that the recipe sets")
	flags.StringVar(&o.locks, "locks", "", "folder in which to make the lock files that packages of npm lack, instead of the check")
	flags.StringVar(&o.start, "start", "", "page in which to write what the programs of npm do when they are started without credentials, instead of the check")
	flags.StringVar(&o.memory, "memory", "", "page in which to write how much memory some of them take, instead of the check")
	flags.DurationVar(&o.settle, "settle", 3*time.Second, "how long after its list of tools a program's memory is measured")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not an option", flags.Arg(0))
	}
	recipes, err := read(o.folder, o.only)
	if err != nil {
		return err
	}
	switch {
	case o.locks != "":
		return o.lock(ctx, recipes, stdout)
	case o.start != "" || o.memory != "":
		return o.startAll(ctx, recipes, stdout)
	}
	return o.check(ctx, recipes, stdout)
}

// check prints a line for each finding and returns errFound if one of them must
// be mended.
func (o options) check(ctx context.Context, recipes []recipe.Recipe, stdout io.Writer) error {
	remote := newProber().probeAll(ctx, recipes)
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	wrong, unchecked := 0, 0
	for _, r := range recipes {
		facts, err := o.look(ctx, r)
		if err != nil {
			return fmt.Errorf("recipe %s: %w", r.ID, err)
		}
		if facts == nil && r.Install != nil {
			unchecked++
		}
		for _, f := range append(judge(r, facts, time.Now()), judgeRemote(r, remote[r.ID])...) {
			if f.wrong {
				wrong++
			}
			fmt.Fprintf(table, "%s\t%s\t%s\n", r.ID, f.kind(), f.text)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	away, servers := unreached(remote)
	fmt.Fprintf(stdout, "%d recipes: %d findings to mend; %d programs are not of npm and were not looked up; %d of %d remote servers did not answer\n",
		len(recipes), wrong, unchecked, away, servers)
	if wrong > 0 {
		return errFound
	}
	return nil
}

// look returns what npm says of the recipe's package, nil if it has none there.
func (o options) look(ctx context.Context, r recipe.Recipe) (*facts, error) {
	i := r.Install
	if i == nil || i.Method != "npx" && i.Method != "npm" {
		return nil, nil
	}
	f, err := view(ctx, i.Package, i.Version)
	if err != nil || !o.files || f.missing {
		return f, err
	}
	f.unmentioned, err = unmentioned(ctx, i.Package+"@"+i.Version, words(r))
	return f, err
}

// read returns the recipes of a folder, by name.
func read(folder string, only []string) ([]recipe.Recipe, error) {
	if len(only) == 0 {
		found, err := filepath.Glob(filepath.Join(folder, "*", "recipe.json"))
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			only = append(only, filepath.Base(filepath.Dir(file)))
		}
	}
	if len(only) == 0 {
		return nil, fmt.Errorf("%s has no <id>/recipe.json", folder)
	}
	var recipes []recipe.Recipe
	for _, id := range only {
		content, err := os.ReadFile(filepath.Join(folder, id, "recipe.json"))
		if err != nil {
			return nil, err
		}
		d, problems := validate.Parse(content, validate.Checks{Name: id})
		if len(problems) > 0 {
			return nil, fmt.Errorf("recipe %s: %s", id, problems[0])
		}
		recipes = append(recipes, d.Recipe)
	}
	return recipes, nil
}
