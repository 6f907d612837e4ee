// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundlestore keeps bundles in a directory and serves them to the pods of bridges.
// It has no state in memory for a bundle: the directory has it all, and the time at which a file
// was changed is when its bundle was used last.
//
// The package is a shell.
package bundlestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/clock"
)

const (
	contentEnding = ".tar.zst"
	recordEnding  = ".json"
	// uploadPattern is of files that are not complete.
	uploadPattern = "upload-*"
	// unusedFor is how long a bundle is kept that nobody needs: one that is just made is in no
	// list yet, and a pod may be about to fetch one.
	unusedFor = time.Hour
)

// Config is what a store may have.
type Config struct {
	// Directory is used by one process at a time.
	Directory string
	// MaxTotal is how many bytes all files may have, and MaxBundle the tar of one bundle.
	MaxTotal, MaxBundle int64
	Clock               clock.Clock
}

// Store keeps bundles. It is safe for concurrent use.
type Store struct {
	config  Config
	metrics metrics
	// uploads has room for one upload at a time, so that their sum is known.
	uploads   chan struct{}
	downloads *gate
	// mu keeps Keep from removing what an upload finds in place.
	mu sync.Mutex
}

// Open opens the directory, and removes uploads that a killed process left.
func Open(c Config) (*Store, error) {
	if err := os.MkdirAll(c.Directory, 0o700); err != nil {
		return nil, fmt.Errorf("open the bundles: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(c.Directory, uploadPattern))
	if err != nil {
		return nil, fmt.Errorf("open the bundles: %w", err)
	}
	for _, name := range left {
		if err := os.Remove(name); err != nil {
			return nil, fmt.Errorf("remove an upload that did not end: %w", err)
		}
	}
	return &Store{config: c, uploads: make(chan struct{}, 1), downloads: newGate(), metrics: newMetrics()}, nil
}

func (s *Store) content(d bundle.Digest) string {
	return filepath.Join(s.config.Directory, d.Hex()+contentEnding)
}

func (s *Store) record(d bundle.Digest) string {
	return filepath.Join(s.config.Directory, d.Hex()+recordEnding)
}

// refresh reports whether the store has the bundle, and notes that it is used.
func (s *Store) refresh(d bundle.Digest) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.config.Clock.Now()
	err := os.Chtimes(s.content(d), now, now)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// write writes a file, by a function that writes its bytes, and gives it its name when all of it
// is on the volume.
func (s *Store) write(name string, fill func(io.Writer) error) error {
	file, err := os.CreateTemp(s.config.Directory, uploadPattern)
	if err != nil {
		return err
	}
	err = errors.Join(fill(file), file.Sync(), file.Close())
	if err == nil {
		now := s.config.Clock.Now()
		err = os.Chtimes(file.Name(), now, now)
	}
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	directory, err := os.Open(s.config.Directory)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}

// putRecord keeps a record, unless the store has its bundle, which it reports.
func (s *Store) putRecord(ctx context.Context, r *bundle.Record, text []byte) (there bool, err error) {
	end, err := s.upload(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	if there, err := s.refresh(r.Digest); there || err != nil {
		return there, err
	}
	if r.Size > s.config.MaxBundle {
		return false, errTooLarge.Saying(fmt.Sprintf("The bundle has %d bytes, and the most are %d: raise bundles.maxBytes, or use another package.",
			r.Size, s.config.MaxBundle))
	}
	if err := s.checkRoom(int64(len(text)) + r.CompressedSize); err != nil {
		return false, err
	}
	return false, s.write(s.record(r.Digest), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// putContent keeps a bundle whose record the store has. It reports whether the bundle was there
// already.
func (s *Store) putContent(ctx context.Context, d bundle.Digest, content io.Reader) (there bool, err error) {
	end, err := s.upload(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	if there, err := s.refresh(d); there || err != nil {
		return there, err
	}
	text, err := os.ReadFile(s.record(d))
	if errors.Is(err, fs.ErrNotExist) {
		return false, errNoRecord
	}
	if err != nil {
		return false, err
	}
	r, err := bundle.DecodeRecord(text)
	if err != nil {
		return false, err
	}
	if err := s.checkRoom(r.CompressedSize); err != nil {
		return false, err
	}
	return false, s.write(s.content(d), func(w io.Writer) error {
		// One byte more than the record names shows that the upload is too long.
		bounded := &io.LimitedReader{R: content, N: r.CompressedSize + 1}
		err := bundle.Verify(ctx, io.TeeReader(bounded, w), d, r.Size)
		if err == nil && bounded.N != 1 {
			return errMismatch.Saying("The bundle has not as many bytes as its record says. Upload it again.")
		}
		return err
	})
}

// upload waits until nobody else uploads, and returns what ends the upload.
func (s *Store) upload(ctx context.Context) (end func(), err error) {
	select {
	case s.uploads <- struct{}{}:
		return func() { <-s.uploads }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// checkRoom says whether so many bytes more are too many.
func (s *Store) checkRoom(more int64) error {
	used, err := s.inventory()
	if err != nil {
		return err
	}
	if used.Bytes+more > s.config.MaxTotal {
		return errFull.Saying(fmt.Sprintf("The bundles take %d bytes of at most %d, and this one needs %d more: "+
			"raise bundles.maxTotalBytes and the size of the volume, or use fewer packages.", used.Bytes, s.config.MaxTotal, more))
	}
	return nil
}

// open opens a bundle to be sent, and notes that it is used.
func (s *Store) open(d bundle.Digest) (*os.File, int64, error) {
	there, err := s.refresh(d)
	if err != nil {
		return nil, 0, err
	}
	if !there {
		return nil, 0, errNotFound
	}
	file, err := os.Open(s.content(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, errNotFound
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// files calls visit with each file of the directory, and the digest of its bundle, which is empty
// for an upload.
func (s *Store) files(visit func(d bundle.Digest, info fs.FileInfo) error) error {
	entries, err := os.ReadDir(s.config.Directory)
	if err != nil {
		return fmt.Errorf("list the bundles: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("list the bundles: %w", err)
		}
		hex, _, _ := strings.Cut(e.Name(), ".")
		d, err := bundle.ParseDigest("sha256:" + hex)
		if !info.Mode().IsRegular() || err != nil && !strings.HasPrefix(e.Name(), "upload-") {
			continue // It is of the volume, such as lost+found.
		}
		if err := visit(d, info); err != nil {
			return err
		}
	}
	return nil
}

// inventory returns what there is. A bundle comes before its record.
func (s *Store) inventory() (bundle.Inventory, error) {
	found := bundle.Inventory{Bundles: []bundle.Kept{}, Limit: s.config.MaxTotal}
	records := map[bundle.Digest]int64{}
	err := s.files(func(d bundle.Digest, info fs.FileInfo) error {
		found.Bytes += info.Size()
		switch {
		case strings.HasSuffix(info.Name(), recordEnding):
			records[d] = info.Size()
		case strings.HasSuffix(info.Name(), contentEnding):
			found.Bundles = append(found.Bundles, bundle.Kept{Digest: d, Bytes: info.Size(), LastUsed: info.ModTime().UTC()})
		}
		return nil
	})
	for i := range found.Bundles {
		found.Bundles[i].Bytes += records[found.Bundles[i].Digest]
	}
	return found, err
}

// keep removes all files of other bundles that nobody used for unusedFor.
func (s *Store) keep(needed []bundle.Digest) (bundle.Removed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var removed bundle.Removed
	stays := make(map[bundle.Digest]bool, len(needed))
	for _, d := range needed {
		stays[d] = true
	}
	now := s.config.Clock.Now()
	// A record is as old as its upload: it stays as long as its bundle.
	used := map[bundle.Digest]bool{}
	err := s.files(func(d bundle.Digest, info fs.FileInfo) error {
		used[d] = used[d] || d != "" && now.Sub(info.ModTime()) <= unusedFor
		return nil
	})
	if err != nil {
		return removed, err
	}
	err = s.files(func(d bundle.Digest, info fs.FileInfo) error {
		if d != "" && (stays[d] || used[d]) || now.Sub(info.ModTime()) <= unusedFor {
			return nil
		}
		if strings.HasSuffix(info.Name(), contentEnding) {
			removed.Bundles++
		}
		removed.Bytes += info.Size()
		return os.Remove(filepath.Join(s.config.Directory, info.Name()))
	})
	return removed, err
}
