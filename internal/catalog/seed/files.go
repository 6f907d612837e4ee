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
	// maxFiles is how many recipes a source may have: twice the number that the
	// catalog is measured with.
	maxFiles = 20_000
	// maxTotal is how many bytes they may have together. Most recipes have one
	// to three KiB.
	maxTotal = 64 << 20
)

// names is the form of recipes' names.
var names = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}[a-z0-9]$`)

// inFolder are the files that make a folder a recipe.
var inFolder = []string{"recipe.json", "server.json"}

// tree is files in folders.
type tree interface {
	// list returns what is at the top, in any order.
	list() ([]node, error)
	// read returns a file's content, or its beginning if it is longer than a
	// recipe may be. It never follows a link out of the tree. The error is
	// fs.ErrNotExist if there is no file.
	read(path string) ([]byte, error)
}

// node is an entry at the top of a tree.
type node struct {
	name   string
	folder bool
	// err is why its type is not known.
	err error
}

// errEmpty says that a source has no recipes, which is also the case if nothing
// was mounted. It must not look as if all recipes had been removed.
var errEmpty = errors.New("there is no recipe in it: recipes are <name>/recipe.json or <name>.json")

// budget is what a source may still read.
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

// filesOf returns the recipe files that a node is or contains. Files without
// the name of a recipe are ignored.
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
