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
		source := filepath.Join(root, filepath.FromSlash(folder))
		err := filepath.WalkDir(source, func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			below, err := filepath.Rel(source, name)
			if err != nil {
				return err
			}
			target := path.Join(path.Base(folder), filepath.ToSlash(below))
			switch {
			case e.IsDir():
				files = append(files, file{path: target + "/", mode: 0o755})
				return nil
			case !e.Type().IsRegular():
				return fmt.Errorf("%s is no ordinary file", name)
			}
			content, err := os.ReadFile(name)
			files = append(files, file{path: target, mode: 0o644, content: content})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", s.name, err)
		}
	}
	return files, nil
}
