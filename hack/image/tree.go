// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// tree is the files of a layer by path, without a leading slash. Folders need
// no entry but for a mode of their own.
type tree map[string]entry

type entry struct {
	mode    int64
	link    string // target of a symbolic link
	folder  bool
	content []byte
}

// merged are the folders that Debian has as links into usr since its version
// 12, while some of its packages still name them.
var merged = []string{"bin", "lib", "lib32", "lib64", "sbin"}

// clean returns the path of a file of a package in the tree, and false for one
// that would be outside.
func clean(name string) (string, bool) {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	first, _, below := strings.Cut(name, "/")
	if below && slices.Contains(merged, first) {
		name = "usr/" + name
	}
	return name, name != "" && filepath.IsLocal(name)
}

// add takes the files of a tar for which keep returns a path.
func (t tree) add(r io.Reader, keep func(name string) string) error {
	files := tar.NewReader(r)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := t.take(header, files, keep); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
	}
}

func (t tree) take(header *tar.Header, content io.Reader, keep func(name string) string) error {
	name, ok := clean(header.Name)
	if ok {
		name = keep(name)
	}
	if !ok || name == "" {
		return nil
	}
	// Nobody but root may write, and nothing runs as another user than who
	// starts it.
	mode := header.Mode & 0o755
	switch header.Typeflag {
	case tar.TypeDir:
		return nil
	case tar.TypeSymlink:
		t[name] = entry{link: header.Linkname, mode: 0o777}
		return nil
	case tar.TypeLink:
		target, _ := clean(header.Linkname)
		t[name] = t[keep(target)]
		return nil
	case tar.TypeReg:
		b, err := io.ReadAll(content)
		t[name] = entry{content: b, mode: mode}
		return err
	}
	return fmt.Errorf("a file of type %q", header.Typeflag)
}

// addFolder takes the files of a folder on disk, below prefix.
func (t tree) addFolder(prefix, folder string, keep func(name string) bool) error {
	files, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer files.Close()
	return fs.WalkDir(files.FS(), ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !keep(file) {
			return err
		}
		name := path.Join(prefix, file)
		if d.Type() == fs.ModeSymlink {
			link, err := files.Readlink(file)
			t[name] = entry{link: link, mode: 0o777}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, err := files.ReadFile(file)
		// Whatever umask the packages were unpacked with.
		t[name] = entry{content: content, mode: 0o644 | int64(info.Mode().Perm()&0o100)*0o111/0o100}
		return err
	})
}

// pack returns the tree as a tar, the same bytes for the same files.
func (t tree) pack() ([]byte, error) {
	for name := range maps.Clone(t) {
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			if _, ok := t[folder]; !ok {
				t[folder] = entry{folder: true, mode: 0o755}
			}
		}
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(t)) {
		e := t[name]
		header := &tar.Header{Name: name, Mode: e.mode, Size: int64(len(e.content)), ModTime: epoch, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		switch {
		case e.folder:
			header.Typeflag, header.Name = tar.TypeDir, name+"/"
		case e.link != "":
			header.Typeflag, header.Linkname = tar.TypeSymlink, e.link
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	// Only Close writes the end.
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
