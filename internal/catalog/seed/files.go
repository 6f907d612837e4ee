// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

const (
	// maxFiles is how many recipes a source may have, twice of what the catalog
	// is measured with.
	maxFiles = 20_000
	// maxTotal is how many bytes they may have together. Most recipes have one
	// to three KiB.
	maxTotal = 64 << 20
)

// names are those that a recipe can have.
var names = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}[a-z0-9]$`)

// inFolder are the files by which a folder is a recipe.
var inFolder = []string{"recipe.json", "server.json"}

// tree is files in folders.
type tree interface {
	// list returns what is at the top, in any order.
	list() ([]node, error)
	// read returns a file's content, or its beginning if it is longer than a
	// recipe may be. It never follows a link out of the tree. The error is
	// fs.ErrNotExist where there is nothing.
	read(path string) ([]byte, error)
}

// node is what is at the top of a tree.
type node struct {
	name   string
	folder bool
	// err is why nobody can tell what it is.
	err error
}

// errEmpty is that a source has no recipes, as one that was not mounted has
// none. It must not look as if all recipes had gone.
var errEmpty = errors.New("there is no recipe in it: recipes are <name>/recipe.json or <name>.json")

// budget is what a source may still have.
type budget struct{ files, bytes int }

// each calls f with each recipe file at the top of t and in its folders.
func each(ctx context.Context, t tree, f func(File)) error {
	nodes, err := t.list()
	if err != nil {
		return err
	}
	left := budget{files: maxFiles, bytes: maxTotal}
	for _, n := range nodes {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, file := range filesOf(t, n) {
			if err := left.take(file); err != nil {
				return err
			}
			f(file)
		}
	}
	if left.files == maxFiles {
		return errEmpty
	}
	return nil
}

func (b *budget) take(f File) error {
	b.files--
	b.bytes -= len(f.Content)
	switch {
	case b.files < 0:
		return fmt.Errorf("it has more than %d recipes", maxFiles)
	case b.bytes < 0:
		return fmt.Errorf("its recipes have more than %d bytes together", maxTotal)
	}
	return nil
}

// filesOf returns the recipe files that a node is or has. What has no name of a
// recipe is something else.
func filesOf(t tree, n node) []File {
	name, isFile := strings.CutSuffix(n.name, ".json")
	if !names.MatchString(name) {
		return nil
	}
	switch {
	case n.err != nil:
		return []File{{Path: n.name, Name: name, Problem: "cannot be read: " + n.err.Error()}}
	case isFile && !n.folder:
		return readOne(t, n.name, name)
	case isFile || !n.folder:
		return nil
	}
	var files []File
	for _, file := range inFolder {
		files = append(files, readOne(t, n.name+"/"+file, name)...)
	}
	return files
}

func readOne(t tree, path, name string) []File {
	content, err := t.read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return []File{{Path: path, Name: name, Problem: "cannot be read: " + err.Error()}}
	}
	return []File{{Path: path, Name: name, Content: content}}
}
