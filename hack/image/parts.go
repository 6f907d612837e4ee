// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// part is a layer that images share.
type part struct {
	name string
	// debs are the packages of Debian that are in it, by name.
	debs []string
	// only are the files that are taken of a package, where not all are.
	only map[string][]string
	// base has it hold what is no package's: users, CA roots, /tmp and the
	// links by which old paths are found.
	base bool
	// files are compiled programs that are in it.
	files tree
	// add adds the rest.
	add func(ctx context.Context, t tree, root, cache, arch string) error
	// sources are the files in hack/image that say what add adds.
	sources []string
}

// partsVersion is part of every fingerprint. Raise it when the layout of the layers
// changes, so that they are built again.
const partsVersion = "2"

// fingerprint identifies what the part is made of.
func (p part) fingerprint(root, arch string) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %s %v %v\n", partsVersion, p.name, arch, p.base, p.only)
	debs, err := locked(debianLock, arch, p.debs)
	if err != nil {
		return "", err
	}
	fmt.Fprintln(h, debs)
	for _, source := range p.sources {
		text, err := os.ReadFile(filepath.Join(root, "hack", "image", source))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", source, len(text), text)
	}
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		f := p.files[name]
		fmt.Fprintf(h, "%s %o %d\n%s", name, f.mode, len(f.content), f.content)
	}
	if p.base {
		h.Write(roots())
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// layer returns the part as a layer, from the cache if it is there.
func (p part) layer(ctx context.Context, root, cache, arch string) (v1.Layer, error) {
	sum, err := p.fingerprint(root, arch)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(cache, "layers", sum+".tar.gz")
	if _, err := os.Stat(file); err == nil {
		return tarball.LayerFromFile(file)
	}
	t, err := p.tree(ctx, root, cache, arch)
	if err != nil {
		return nil, fmt.Errorf("layer %s: %w", p.name, err)
	}
	content, err := t.pack()
	if err != nil {
		return nil, fmt.Errorf("layer %s: %w", p.name, err)
	}
	var compressed bytes.Buffer
	w, err := gzip.NewWriterLevel(&compressed, gzip.DefaultCompression)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(w, bytes.NewReader(content)); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := keep(file, compressed.Bytes()); err != nil {
		return nil, err
	}
	return tarball.LayerFromFile(file)
}

// tree returns the part's files.
func (p part) tree(ctx context.Context, root, cache, arch string) (tree, error) {
	t := tree{}
	debs, err := locked(debianLock, arch, p.debs)
	if err != nil {
		return nil, err
	}
	for _, d := range debs {
		file, err := d.download(ctx, cache)
		if err != nil {
			return nil, err
		}
		if err := d.unpack(t, file, p.only[d.name]); err != nil {
			return nil, err
		}
	}
	maps.Copy(t, p.files)
	if p.base {
		t.addBase()
	}
	if p.add != nil {
		return t, p.add(ctx, t, root, cache, arch)
	}
	return t, nil
}

// addBase adds what a system has besides its packages.
func (t tree) addBase() {
	for _, name := range merged {
		t[name] = entry{link: "usr/" + name, mode: 0o777}
		t["usr/"+name] = entry{folder: true, mode: 0o755}
	}
	passwd, group := users(nonroot)
	t["etc/passwd"] = entry{content: passwd, mode: 0o644}
	t["etc/group"] = entry{content: group, mode: 0o644}
	t["etc/nsswitch.conf"] = entry{content: []byte("passwd: files\ngroup: files\nhosts: files dns\n"), mode: 0o644}
	t[rootsPath] = entry{content: roots(), mode: 0o644}
	t["usr/bin/sh"] = entry{link: "dash", mode: 0o777}
	// A pod mounts its own over it.
	t["tmp"] = entry{folder: true, mode: 0o1777}
}

// cacheFolder is where downloads and layers are kept from one build to the next,
// outside the repository.
func cacheFolder() (string, error) {
	folder, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for caches: %w", err)
	}
	return filepath.Join(folder, "hosted-bridge", "image"), nil
}
