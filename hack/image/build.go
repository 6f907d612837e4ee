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

	v1 "github.com/google/go-containerregistry/pkg/v1"
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
	if err := compile(ctx, target{root: root, folder: binaries, arch: arch}, wanted); err != nil {
		return nil, err
	}
	var all []built
	for _, s := range wanted {
		if s.pkg == "" {
			if s, err = s.withPrograms(binaries); err != nil {
				return nil, err
			}
			b, err := packParts(ctx, root, folder, arch, s)
			if err != nil {
				return nil, fmt.Errorf("image %s: %w", s.name, err)
			}
			all = append(all, b)
			continue
		}
		program, more, err := compiled(binaries, s)
		if err != nil {
			return nil, err
		}
		shipped, err := data(root, s)
		if err != nil {
			return nil, err
		}
		b, err := pack(folder, arch, s, program, append(more, shipped...)...)
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", s.name, err)
		}
		all = append(all, b)
	}
	return all, writeIndex(folder)
}

// pack makes the archive of one image where it is not there already.
func pack(folder, arch string, s spec, program []byte, shipped ...file) (built, error) {
	content, err := rootfs(s, program, shipped...)
	if err != nil {
		return built{}, err
	}
	sum := fingerprint(s, arch, content)
	return finish(folder, s.name, sum, func() (v1.Image, error) { return ofContent(s, arch, sum, content) })
}

// ofContent returns the image of a program, of one layer.
func ofContent(s spec, arch, sum string, content []byte) (v1.Image, error) {
	l, err := layer(content)
	if err != nil {
		return nil, err
	}
	return assemble(s, arch, sum, l)
}

// packParts makes the archive of an image of parts where it is not there
// already. Only then are the parts fetched.
func packParts(ctx context.Context, root, folder, arch string, s spec) (built, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return built{}, err
	}
	sum, err := sumOfParts(root, arch, s)
	if err != nil {
		return built{}, err
	}
	return finish(folder, s.name, sum, func() (v1.Image, error) { return ofParts(ctx, root, arch, sum, s) })
}

// sumOfParts returns the fingerprint of an image of parts, which are not fetched
// for it.
func sumOfParts(root, arch string, s spec) (string, error) {
	var sums []byte
	for _, p := range s.parts {
		sum, err := p.fingerprint(root, arch)
		if err != nil {
			return "", err
		}
		sums = append(sums, sum...)
	}
	return fingerprint(s, arch, sums), nil
}

// ofParts returns the image of parts, a layer of each.
func ofParts(ctx context.Context, root, arch, sum string, s spec) (v1.Image, error) {
	cache, err := cacheFolder()
	if err != nil {
		return nil, err
	}
	var layers []v1.Layer
	for _, p := range s.parts {
		l, err := p.layer(ctx, root, cache, arch)
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	return assemble(s, arch, sum, layers...)
}

// finish writes the archive of an image, unless one of that fingerprint exists.
func finish(folder, name, sum string, image func() (v1.Image, error)) (built, error) {
	archive := archivePath(folder, name)
	fresh := !upToDate(archive, sum)
	if fresh {
		i, err := image()
		if err != nil {
			return built{}, err
		}
		if err := store(archive, name, i); err != nil {
			return built{}, err
		}
	}
	b, err := inspect(archive, name)
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
