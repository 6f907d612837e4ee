// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// The file's mode, and the ends of the names beside it: of the file that says
// where the chain ends, and in front of the times of full files.
const (
	mode       = 0o600
	headSuffix = ".head"
	timeLayout = "20060102T150405.000000000Z"
	// headSize is more than a head takes, in bytes.
	headSize = 256
)

// file is a trail in a file. What was full is beside it under names that sort
// by age.
type file struct {
	config Config
	file   *os.File // nil after a rotation that broke off
	head   *os.File // holds the lock, and the end of the chain
	size   int64
	begun  time.Time
	noted  []byte // what was last written to head
}

// openFile opens config.Path behind its last line.
func openFile(config Config, now time.Time) (*file, end, error) {
	f := &file{config: config}
	err := f.lock()
	if err != nil {
		return nil, end{}, err
	}
	if err := f.open(now); err != nil {
		return nil, end{}, errors.Join(err, f.head.Close())
	}
	e, err := f.end()
	if err != nil {
		return nil, end{}, errors.Join(err, f.Close())
	}
	return f, e, nil
}

// lock keeps a second process from the file: two chains in one file are none.
func (f *file) lock() error {
	head, err := os.OpenFile(f.config.Path+headSuffix, os.O_RDWR|os.O_CREATE, mode)
	if err != nil {
		return fmt.Errorf("open audit file: %w", err)
	}
	if err := syscall.Flock(int(head.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return errors.Join(fmt.Errorf("lock %s, another process may write to it: %w", f.config.Path, err), head.Close())
	}
	f.head = head
	return nil
}

func (f *file) open(now time.Time) error {
	// Nobody rewrites a trail: all that is ever done to the file is to append.
	opened, err := os.OpenFile(f.config.Path, os.O_RDWR|os.O_CREATE|os.O_APPEND, mode)
	if err != nil {
		return fmt.Errorf("open audit file: %w", err)
	}
	info, err := opened.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("open audit file: %w", err), opened.Close())
	}
	f.file, f.size, f.begun = opened, info.Size(), now
	if first, ok := firstRecord(opened); ok {
		f.begun = first.Entry.Time
	}
	return nil
}

// Write implements io.Writer.
func (f *file) Write(b []byte) (int, error) {
	n, err := f.file.Write(b)
	f.size += int64(n)
	return n, err
}

// prepare implements output: it begins the next file when this one is full.
func (f *file) prepare(size int, now time.Time) error {
	if f.file == nil {
		return f.open(now)
	}
	full := f.config.MaxBytes > 0 && f.size+int64(size) > f.config.MaxBytes
	old := f.config.MaxAge > 0 && now.Sub(f.begun) >= f.config.MaxAge
	if f.size == 0 || !full && !old {
		return nil
	}
	if err := f.sync(); err != nil {
		return err
	}
	// Of two files with one time the second would replace the first.
	aside := f.config.Path + "." + now.UTC().Format(timeLayout)
	for _, err := os.Lstat(aside); err == nil; _, err = os.Lstat(aside) {
		now = now.Add(1)
		aside = f.config.Path + "." + now.UTC().Format(timeLayout)
	}
	if err := os.Rename(f.config.Path, aside); err != nil {
		return fmt.Errorf("rotate audit file: %w", err)
	}
	err := f.file.Close()
	f.file = nil
	f.dropOld()
	return errors.Join(err, f.open(now))
}

// dropOld removes the oldest of the full files. One that cannot be removed is
// no reason to refuse calls; the next rotation tries again.
func (f *file) dropOld() {
	if f.config.MaxFiles == 0 {
		return
	}
	full, err := rotated(f.config.Path)
	for len(full) > f.config.MaxFiles && err == nil {
		err = os.Remove(full[0])
		full = full[1:]
	}
}

// commit implements output. That the end of the chain stands in a file of its
// own shows when lines are missing at the end of the trail.
func (f *file) commit(head audit.Head) error {
	if err := f.sync(); err != nil {
		return err
	}
	b := head.AppendJSON(f.noted[:0])
	for len(b) < headSize-1 {
		b = append(b, ' ')
	}
	f.noted = append(b, '\n')
	// One write, always of the same length: nobody finds half of it.
	if _, err := f.head.WriteAt(f.noted, 0); err != nil {
		return fmt.Errorf("write the end of the audit chain: %w", err)
	}
	return nil
}

func (f *file) sync() error {
	if !f.config.Sync {
		return nil
	}
	if err := f.file.Sync(); err != nil {
		return fmt.Errorf("sync audit file: %w", err)
	}
	return nil
}

// Close implements io.Closer.
func (f *file) Close() error {
	var err error
	if f.file != nil {
		err = f.file.Close()
	}
	return errors.Join(err, f.head.Close())
}

// Files returns the files of the trail at path, the oldest first and the one
// that is written to last. Those that do not exist are not among them.
func Files(path string) ([]string, error) {
	files, err := rotated(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err == nil {
		files = append(files, path)
	}
	return files, nil
}

// rotated returns the full files of the trail at path, the oldest first.
func rotated(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("list audit files: %w", err)
	}
	var files []string
	for _, e := range entries {
		suffix, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		if _, err := time.Parse(timeLayout, suffix); ok && err == nil {
			files = append(files, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	slices.Sort(files)
	return files, nil
}
