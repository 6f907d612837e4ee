// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// indexFile lists the archives of a folder, for scripts: a line of name,
// reference and digest for each, with tabs between.
const indexFile = "images.tsv"

// build makes the archives of the wanted images in folder, compiling first
// what has changed.
func build(ctx context.Context, folder, arch string, wanted []spec) ([]built, error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	binaries := filepath.Join(folder, ".binaries", arch)
	if binaries, err = filepath.Abs(binaries); err != nil {
		return nil, err
	}
	if err := compile(ctx, root, binaries, arch, wanted); err != nil {
		return nil, err
	}
	var all []built
	for _, s := range wanted {
		program, err := binary(binaries, s)
		if err != nil {
			return nil, err
		}
		b, err := pack(folder, arch, s, program)
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", s.name, err)
		}
		all = append(all, b)
	}
	return all, writeIndex(folder)
}

// pack makes the archive of one image where it is not there already.
func pack(folder, arch string, s spec, program []byte) (built, error) {
	layer, err := rootfs(s, program)
	if err != nil {
		return built{}, err
	}
	archive := archivePath(folder, s.name)
	fresh := !upToDate(archive, fingerprint(s, arch, layer))
	if fresh {
		image, err := assemble(s, arch, layer)
		if err != nil {
			return built{}, err
		}
		if err := store(archive, s.name, image); err != nil {
			return built{}, err
		}
	}
	b, err := inspect(archive, s.name)
	b.fresh = fresh
	return b, err
}

// writeIndex lists every archive of the folder, also those of earlier runs.
func writeIndex(folder string) error {
	var lines strings.Builder
	for _, s := range specs {
		b, err := inspect(archivePath(folder, s.name), s.name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%s\t%s\t%s\n", b.name, b.reference(), b.digest)
	}
	return os.WriteFile(filepath.Join(folder, indexFile), []byte(lines.String()), 0o644)
}
