// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Command image builds the project's programs as container images without a
// container engine. The same sources give the same digests on every machine
// with the same Go.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/spf13/pflag"
)

const usage = `Build the container images without a container engine.

  image build [--only NAME,... | --all] [--out DIR] [--arch ARCH]
      writes DIR/<name>.tar for each image, which docker load, ctr images import
      and kind load image-archive take, and lists them in DIR/images.tsv

  image push --registry HOST/PATH [--only NAME,... | --all] [--out DIR] [--arch ARCH]
      builds, pushes each image as HOST/PATH/<name> with the credentials of
      docker login, and prints "name<TAB>reference" lines

  image release --version VERSION --out DIR [--registry HOST/PATH] [--only NAME,...]
      writes the images of a release for all architectures as archives of OCI
      image layouts, their bills of materials, and the programs for people's own
      machines; --registry is what the images will be called there

  image repack FILE.tgz
      rewrites a packed chart so that it depends only on its content

  image sums --out DIR
      writes DIR/SHA256SUMS

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	only             []string
	all              bool
	out              string
	arch             string
	registry         string
	version          string
	stdout, progress io.Writer
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o := options{stdout: stdout, progress: stderr}
	flags := pflag.NewFlagSet("image", pflag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { _, _ = io.WriteString(stderr, usage+flags.FlagUsages()) }
	flags.StringSliceVar(&o.only, "only", nil, "names of the images (default: those that samples and tests need)")
	flags.BoolVar(&o.all, "all", false, "every image, also the runtimes for servers of npm and in Python")
	flags.StringVar(&o.out, "out", "", "folder of the archives (default: bin/images in the repository)")
	flags.StringVar(&o.arch, "arch", runtime.GOARCH, "architecture that the images run on: amd64 or arm64")
	flags.StringVar(&o.version, "version", "", "version of a release, such as 1.2.3")
	flags.StringVar(&o.registry, "registry", "", "where push puts the images, as host/path")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.out == "" {
		root, err := findRoot()
		if err != nil {
			return err
		}
		o.out = filepath.Join(root, "bin", "images")
	}
	act, ok := o.act(flags.Args())
	if !ok {
		flags.Usage()
		return errors.New("say build, push with --registry, release, repack with an archive, or sums")
	}
	return act(ctx)
}

// act returns what the arguments ask for.
func (o options) act(args []string) (func(context.Context) error, bool) {
	if len(args) == 2 && args[0] == "repack" {
		return func(context.Context) error { return repack(args[1]) }, true
	}
	if len(args) != 1 || args[0] == "push" && o.registry == "" {
		return nil, false
	}
	act, ok := map[string]func(context.Context) error{
		"build": o.build, "push": o.push, "release": o.release,
		"sums": func(context.Context) error { return writeSums(o.out) },
	}[args[0]]
	return act, ok
}

// release writes what a release has of programs and images.
func (o options) release(ctx context.Context) error {
	root, err := findRoot()
	if err != nil {
		return err
	}
	if len(o.only) == 0 {
		o.only = released
	}
	wanted, err := pick(o.only, false)
	if err != nil {
		return err
	}
	r := release{
		root: root, folder: o.out, version: o.version, repository: cmp.Or(o.registry, repository),
		work: filepath.Join(root, "bin", ".release"),
	}
	if err := r.run(ctx, wanted); err != nil {
		return err
	}
	return r.pinned()
}

// build prints a line for each image on stdout.
func (o options) build(ctx context.Context) error {
	wanted, err := pick(o.only, o.all)
	if err != nil {
		return err
	}
	images, err := build(ctx, o.out, o.arch, wanted)
	if err != nil {
		return err
	}
	for _, b := range images {
		o.print(o.stdout, b)
	}
	return nil
}

func (o options) push(ctx context.Context) error {
	wanted, err := pick(o.only, o.all)
	if err != nil {
		return err
	}
	images, err := build(ctx, o.out, o.arch, wanted)
	if err != nil {
		return err
	}
	for _, b := range images {
		o.print(o.progress, b)
		reference, err := push(ctx, o.registry, b)
		if err != nil {
			return err
		}
		fmt.Fprintf(o.stdout, "%s\t%s\n", b.name, reference)
	}
	return nil
}

func (o options) print(w io.Writer, b built) {
	note := "unchanged"
	if b.fresh {
		note = "built"
	}
	fmt.Fprintf(w, "%-18s %-9s %6.1f MB  %s\n", b.name, note, float64(b.size)/1e6, b.digest)
}
