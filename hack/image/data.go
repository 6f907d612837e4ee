// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// file is one of an image's files or, without content, one of its folders.
type file struct {
	path    string
	mode    int64
	content []byte
}

// data returns the files of the folders that an image carries beside its
// program, in the order of their names: config/recipes becomes /recipes.
func data(root string, s spec) ([]file, error) {
	var files []file
	for _, folder := range s.data {
		found, err := filesOf(filepath.Join(root, filepath.FromSlash(folder)), path.Base(folder))
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", s.name, err)
		}
		files = append(files, found...)
	}
	return files, nil
}

// filesOf returns what is in a folder, as it stands below target in an image.
func filesOf(folder, target string) ([]file, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var files []file
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			files = append(files, file{path: path.Join(target, name) + "/", mode: 0o755})
			return nil
		case !e.Type().IsRegular():
			return fmt.Errorf("%s in %s is no ordinary file", name, folder)
		}
		content, err := root.ReadFile(name)
		files = append(files, file{path: path.Join(target, name), mode: 0o644, content: content})
		return err
	})
	return files, err
}
