// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// directory is a folder of this machine: a part of the image, a mounted
// ConfigMap or a mounted image.
type directory string

// mounted is the kubelet's link to the current content of a mount, which it
// replaces in one step.
const mounted = "..data"

// String implements Source.
func (d directory) String() string { return "dir:" + string(d) }

// Each implements Source. Links are followed within the folder alone.
func (d directory) Each(ctx context.Context, f func(File)) error {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	// All files are of one state, even if another one is mounted meanwhile.
	if _, err := root.Lstat(mounted); errors.Is(err, fs.ErrNotExist) {
		return each(ctx, rootTree{root}, f)
	}
	now, err := root.OpenRoot(mounted)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s/%s is a link to nothing: what should be mounted is not", string(d), mounted)
	}
	if err != nil {
		return err
	}
	defer func() { _ = now.Close() }()
	return each(ctx, rootTree{now}, f)
}

// rootTree are the files below a folder.
type rootTree struct{ root *os.Root }

func (t rootTree) list() ([]node, error) {
	entries, err := fs.ReadDir(t.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	nodes := make([]node, 0, len(entries))
	for _, e := range entries {
		n := node{name: e.Name(), folder: e.IsDir()}
		if e.Type()&fs.ModeSymlink != 0 {
			info, err := t.root.Stat(e.Name())
			if n.err = err; err == nil {
				n.folder = info.IsDir()
			}
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func (t rootTree) read(path string) ([]byte, error) {
	// The type is checked before the file is opened: opening a pipe waits for a
	// writer.
	info, err := t.root.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	f, err := t.root.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, recipe.MaxBytes+1))
}
