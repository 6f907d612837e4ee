// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Folder is a target on a volume.
type Folder struct {
	root *os.Root
	sync func(*os.File) error
}

// OpenFolder opens a folder that exists. A folder that is not there is a volume that is
// not mounted.
func OpenFolder(path string) (*Folder, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open the folder of backups: %w", err)
	}
	return &Folder{root, (*os.File).Sync}, nil
}

// Close closes it.
func (f *Folder) Close() error { return f.root.Close() }

// Put implements Target. The name appears when all of the content is on the disk.
func (f *Folder) Put(_ context.Context, name string, content []byte) error {
	part := name + partSuffix
	// Exclusive: whoever has the part is the only one who can give it the name.
	file, err := f.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, f.sync(file), file.Close()); err == nil {
		err = f.name(part, name)
	}
	if err != nil {
		return errors.Join(err, f.root.Remove(part))
	}
	if err := f.syncNames(); err != nil {
		return errors.Join(fmt.Errorf("write the folder of %s to the disk: %w", name, err), f.root.Remove(name))
	}
	return nil
}

// name gives a part its name, and fails if the name exists: a rename would replace that file.
func (f *Folder) name(part, name string) error {
	if _, err := f.root.Lstat(name); err == nil {
		return fmt.Errorf("%s: %w; it is not overwritten", name, fs.ErrExist)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return f.root.Rename(part, name)
}

// syncNames writes the names in the folder to the disk. Otherwise a crash can undo a rename.
func (f *Folder) syncNames() error {
	folder, err := f.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(f.sync(folder), folder.Close())
}

// Get implements Target.
func (f *Folder) Get(_ context.Context, name string, limit int64) ([]byte, error) {
	file, err := f.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, limit))
}

// List implements Target.
func (f *Folder) List(context.Context) ([]string, error) {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if entry.Type().IsRegular() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// Delete implements Target.
func (f *Folder) Delete(_ context.Context, name string) error { return f.root.Remove(name) }
