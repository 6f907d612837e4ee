// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundles fetches the bundles of a pod's programs from the installation's store, each
// once. It is a shell.
package bundles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
)

// Store has the bundles of an installation.
type Store interface {
	Fetch(ctx context.Context, digest bundle.Digest) (io.ReadCloser, error)
}

const (
	// deadline is how long a bundle may take: the largest one at some MB a second.
	deadline = 5 * time.Minute
	// attempts and pause bridge the replacement of the store's pod, of which there is one.
	attempts = 5
	pause    = 2 * time.Second
)

// Folder has the bundles that were fetched. Programs read them, and nobody else writes there.
type Folder struct {
	store Store
	path  string
	log   *slog.Logger

	mu      sync.Mutex
	running map[string]*fetch
}

// fetch is the fetch of a bundle that goes on.
type fetch struct {
	done chan struct{}
	err  error // once done is closed
}

// New returns the folder at path, which exists.
func New(store Store, path string, log *slog.Logger) *Folder {
	return &Folder{store: store, path: path, log: log, running: map[string]*fetch{}}
}

// Fetch returns when the folder has the bundle. If ctx ends before, the fetch goes on, and the
// next call waits for it. Its errors are for users.
func (f *Folder) Fetch(ctx context.Context, b mcpserver.Bundle) error {
	if b.Architecture != runtime.GOARCH {
		return fmt.Errorf("its files are for machines of the architecture %s, and its machine is of %s: an administrator can have the bridge run on others", b.Architecture, runtime.GOARCH)
	}
	if _, err := os.Lstat(f.folder(b)); err == nil {
		return nil // It was compared with its digest before it got this name.
	} else if !errors.Is(err, fs.ErrNotExist) {
		return errors.New("the folder with its files cannot be read")
	}
	one := f.join(ctx, b)
	select {
	case <-one.done:
		return one.err
	case <-ctx.Done():
		return fmt.Errorf("its files are still being fetched: %w", ctx.Err())
	}
}

// join returns the fetch of a bundle that goes on, or begins one.
func (f *Folder) join(ctx context.Context, b mcpserver.Bundle) *fetch {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.running[b.Digest]; one != nil {
		return one
	}
	one := &fetch{done: make(chan struct{})}
	f.running[b.Digest] = one
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deadline)
		defer cancel()
		one.err = f.fetch(ctx, b)
		f.mu.Lock()
		delete(f.running, b.Digest)
		f.mu.Unlock()
		close(one.done)
	}()
	return one
}

func (f *Folder) fetch(ctx context.Context, b mcpserver.Bundle) error {
	began := time.Now()
	err := f.fetchOnce(ctx, b)
	for range attempts - 1 {
		if err == nil || errors.Is(err, bundle.ErrBundle) || ctx.Err() != nil {
			break
		}
		time.Sleep(pause)
		err = f.fetchOnce(ctx, b)
	}
	if err != nil {
		f.log.WarnContext(ctx, "a bundle was not fetched", slog.String("digest", b.Digest), slog.Any("error", err))
		return errors.New("its files were not fetched from the installation's store: the log of the bridge says why, and it is tried again")
	}
	f.log.InfoContext(ctx, "fetched a bundle", slog.String("digest", b.Digest), slog.Int64("bytes", b.Bytes), slog.String("took", time.Since(began).Round(time.Millisecond).String()))
	return nil
}

func (f *Folder) fetchOnce(ctx context.Context, b mcpserver.Bundle) error {
	content, err := f.store.Fetch(ctx, bundle.Digest(b.Digest))
	if err != nil {
		return err //nolint:wrapcheck // The log says what it is about.
	}
	defer content.Close()
	return bundle.Unpack(ctx, content, f.folder(b), bundle.Digest(b.Digest), b.Bytes)
}

func (f *Folder) folder(b mcpserver.Bundle) string { return filepath.Join(f.path, b.Hex()) }
