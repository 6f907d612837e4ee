// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/laptop"
	"github.com/hostedbridge/hostedbridge/internal/laptop/programs"
	"github.com/hostedbridge/hostedbridge/internal/version"
)

// bundleOptions are the settings of bridge bundle.
type bundleOptions struct {
	output       string
	architecture string
}

// newBundle returns the command that makes a bundle.
func newBundle() *cobra.Command {
	var o bundleOptions
	c := &cobra.Command{
		Use:   "bundle PACKAGE@VERSION",
		Short: "Make a bundle of a package of npm, as an installation in a cluster makes one",
		Args:  cobra.ExactArgs(1),
		RunE:  func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	c.Flags().StringVar(&o.output, "output", "", "file to write; its record is written beside it, with .json at the end (default PROGRAM-VERSION-ARCHITECTURE.tar.zst)")
	c.Flags().StringVar(&o.architecture, "architecture", "", "architecture of the machines on which the program runs, amd64 or arm64 (default: that of this machine)")
	c.AddCommand(newBundlePush())
	return c
}

func (o bundleOptions) run(c *cobra.Command, wanted string) error {
	source, err := o.source(wanted)
	if err != nil {
		return err
	}
	if o.output == "" {
		o.output = fmt.Sprintf("%s-%s-%s.tar.zst", filepath.Base(source.Package), source.Version, source.Architecture)
	}
	record, err := o.build(c.Context(), source)
	if f, ok := errors.AsType[*bundle.Failure](err); ok {
		return fmt.Errorf("%s: %w", f.Code, f)
	}
	if err != nil {
		return err
	}
	return printBundle(c.OutOrStdout(), o.output, record)
}

// source checks what the bundle is to be made from.
func (o bundleOptions) source(wanted string) (bundle.Source, error) {
	name, exact := recipe.Fetched{Package: wanted}.Version()
	if !programs.IsName(name) || !recipe.IsExactVersion(exact) {
		return bundle.Source{}, fmt.Errorf("%.200q is not one version of a package: write PACKAGE@VERSION, such as @modelcontextprotocol/server-memory@2026.8.31", wanted)
	}
	if o.architecture == "" {
		o.architecture = runtime.GOARCH
	}
	if programs.Architectures[o.architecture] == "" {
		known := strings.Join(slices.Sorted(maps.Keys(programs.Architectures)), " or ")
		return bundle.Source{}, fmt.Errorf("--architecture %.40q is not known: name %s", o.architecture, known)
	}
	return bundle.Source{Method: "npx", Package: name, Version: exact, Architecture: o.architecture, Runtime: "bridge " + version.String()}, nil
}

// build installs the package in a folder of its own, and writes its bundle and the record. Both files
// are there only once they are complete.
func (o bundleOptions) build(ctx context.Context, source bundle.Source) (*bundle.Record, error) {
	tree, err := os.MkdirTemp("", "hosted-bridge-bundle-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(tree) }()
	file, err := os.CreateTemp(filepath.Dir(o.output), ".bundle-*")
	if err != nil {
		return nil, fmt.Errorf("write the bundle: %w", err)
	}
	defer func() { _ = errors.Join(file.Close(), os.Remove(file.Name())) }()
	log, err := programs.Install(ctx, tree, source.Package, source.Version, source.Architecture)
	if err != nil {
		return nil, err
	}
	record, _, err := bundle.RecordOf(tree, source, log, time.Now())
	if err != nil {
		return nil, err
	}
	if err := record.Pack(tree, file, bundle.Limits{}); err != nil {
		return nil, err
	}
	text, err := record.Encode()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(ctx.Err(), file.Sync(), file.Close()); err != nil {
		return nil, fmt.Errorf("write the bundle: %w", err)
	}
	if err := laptop.WriteFile(o.output+".json", text); err != nil {
		return nil, err
	}
	return record, os.Rename(file.Name(), o.output)
}

// printBundle prints what a person wants to know of a bundle.
func printBundle(w io.Writer, output string, r *bundle.Record) error {
	scripts := strings.Join(bundle.WithScripts(r.Packages), ", ")
	if scripts == "" {
		scripts = "none"
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "file\t%s\n", output)
	_, _ = fmt.Fprintf(table, "digest\t%s\n", r.Digest)
	_, _ = fmt.Fprintf(table, "size\t%d bytes, compressed %d\n", r.Size, r.CompressedSize)
	_, _ = fmt.Fprintf(table, "packages\t%d\n", len(r.Packages))
	_, _ = fmt.Fprintf(table, "programs\t%s\n", strings.Join(slices.Sorted(maps.Keys(r.Bins)), ", "))
	_, _ = fmt.Fprintf(table, "install scripts, which did not run\t%s\n", scripts)
	if node := r.Engines["node"]; node != "" {
		_, _ = fmt.Fprintf(table, "needs Node.js\t%s\n", node)
	}
	return table.Flush()
}
