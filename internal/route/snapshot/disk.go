// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// maxKeyFile is many times a key file.
const maxKeyFile = 4 << 10

// Directory holds the snapshots of one ingress. No other may write there.
type Directory struct {
	path     string
	identity Identity

	mu     sync.Mutex
	writes map[Kind]Writes
}

// Writes counts what became of the writes of one kind.
type Writes struct{ Done, Failed int }

// OpenDirectory returns the directory at path for the installation of that namespace,
// with the key that keyFile holds. It creates a missing directory.
func OpenDirectory(path, keyFile, installation string) (*Directory, error) {
	content, err := readAtMost(keyFile, maxKeyFile)
	if err != nil {
		return nil, fmt.Errorf("read the snapshot key: %w", err)
	}
	key, err := ParseKey(content)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", keyFile, err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the snapshot directory: %w", err)
	}
	return &Directory{
		path: path, identity: Identity{Installation: installation, Key: key},
		writes: map[Kind]Writes{},
	}, nil
}

// Routes returns the routes that are kept, confirmed no longer than maxAge ago.
// The error is an fs.ErrNotExist where none are.
func (d *Directory) Routes(now time.Time, maxAge time.Duration) (Table, error) {
	file, err := d.read(Routes)
	if err != nil {
		return Table{}, err
	}
	return d.identity.DecodeRoutes(file, now, maxAge)
}

// KeepRoutes replaces the routes that are kept.
func (d *Directory) KeepRoutes(t Table) error {
	file, err := d.identity.EncodeRoutes(t)
	return d.write(Routes, file, err)
}

// Credentials returns the certificate that is kept. The error is an
// fs.ErrNotExist where none is.
func (d *Directory) Credentials() (Pair, error) {
	file, err := d.read(Credentials)
	if err != nil {
		return Pair{}, err
	}
	return d.identity.DecodeCredentials(file)
}

// KeepCredentials replaces the certificate that is kept.
func (d *Directory) KeepCredentials(p Pair) error {
	file, err := d.identity.EncodeCredentials(p)
	return d.write(Credentials, file, err)
}

// Writes returns how many writes of the kind were done and how many failed.
func (d *Directory) Writes(kind Kind) Writes {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writes[kind]
}

func (d *Directory) read(kind Kind) ([]byte, error) {
	file, err := readAtMost(filepath.Join(d.path, string(kind)), kind.Max())
	if err != nil {
		return nil, fmt.Errorf("read the snapshot: %w", err)
	}
	return file, nil
}

// write replaces the file of the kind, if err is nil: readers find the old one
// or the new one, whenever the process ends.
func (d *Directory) write(kind Kind, file []byte, err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		err = replace(filepath.Join(d.path, string(kind)), file)
	}
	w := d.writes[kind]
	if err != nil {
		w.Failed++
		err = fmt.Errorf("write the snapshot of %s: %w", kind, err)
	} else {
		w.Done++
	}
	d.writes[kind] = w
	return err
}

// replace writes the file beside the old one, and puts it in its place.
func replace(path string, content []byte) error {
	next := path + ".next"
	// One that a process left half written, perhaps with other rights.
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// readAtMost returns the file's content, which is refused when it is longer.
func readAtMost(path string, limit int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(content) > limit {
		return nil, fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return content, nil
}
