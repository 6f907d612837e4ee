// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeprocess

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

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
)

// bundleStore has the bundles of an installation.
type bundleStore interface {
	Fetch(ctx context.Context, digest bundle.Digest) (io.ReadCloser, error)
}

const (
	// bundleDeadline is how long a bundle may take: the largest one at some MB a second.
	bundleDeadline = 5 * time.Minute
	// bundleAttempts and pause bridge the replacement of the store's only pod.
	bundleAttempts = 5
	bundlePause    = 2 * time.Second
)

// bundleFolder has the bundles that were fetched. Programs read them, and nobody else writes there.
type bundleFolder struct {
	store bundleStore
	path  string
	log   *slog.Logger

	mu      sync.Mutex
	running map[string]*bundleFetch
}

// bundleFetch is the fetch of a bundle that goes on.
type bundleFetch struct {
	done chan struct{}
	err  error // once done is closed
}

// newBundleFolder returns the folder at path, which exists.
func newBundleFolder(store bundleStore, path string, log *slog.Logger) *bundleFolder {
	return &bundleFolder{store: store, path: path, log: log, running: map[string]*bundleFetch{}}
}

// Fetch returns when the folder has the bundle. If ctx ends before, the fetch goes on, and the
// next call waits for it. Its errors are for users.
func (f *bundleFolder) Fetch(ctx context.Context, b bridgeconfig.Bundle) error {
	if b.Architecture != runtime.GOARCH {
		return fmt.Errorf("its files are for machines of the architecture %s, and its machine is of %s: an administrator can have the bridge run on others", b.Architecture, runtime.GOARCH)
	}
	one, err := f.join(ctx, b)
	if one == nil {
		return err
	}
	select {
	case <-one.done:
		return one.err
	case <-ctx.Done():
		return fmt.Errorf("its files are still being fetched: %w", ctx.Err())
	}
}

// join returns the fetch of a bundle that goes on, or begins one. It returns nil if the folder has
// the bundle. The folder is looked at under the lock, so that no fetch ends in between.
func (f *bundleFolder) join(ctx context.Context, b bridgeconfig.Bundle) (*bundleFetch, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.running[b.Digest]; one != nil {
		return one, nil
	}
	if _, err := os.Lstat(f.folder(b)); err == nil {
		return nil, nil // It was compared with its digest before it got this name.
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the folder with its files cannot be read")
	}
	one := &bundleFetch{done: make(chan struct{})}
	f.running[b.Digest] = one
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bundleDeadline)
		defer cancel()
		one.err = f.fetch(ctx, b)
		f.mu.Lock()
		delete(f.running, b.Digest)
		f.mu.Unlock()
		close(one.done)
	}()
	return one, nil
}

func (f *bundleFolder) fetch(ctx context.Context, b bridgeconfig.Bundle) error {
	began := time.Now()
	err := f.fetchOnce(ctx, b)
	for range bundleAttempts - 1 {
		if err == nil || errors.Is(err, bundle.ErrBundle) || ctx.Err() != nil {
			break
		}
		time.Sleep(bundlePause)
		err = f.fetchOnce(ctx, b)
	}
	if err != nil {
		f.log.WarnContext(ctx, "a bundle was not fetched", slog.String("digest", b.Digest), slog.Any("error", err))
		return errors.New("its files were not fetched from the installation's store: the log of the bridge says why, and it is tried again")
	}
	f.log.InfoContext(ctx, "fetched a bundle", slog.String("digest", b.Digest), slog.Int64("bytes", b.Bytes), slog.String("took", time.Since(began).Round(time.Millisecond).String()))
	return nil
}

func (f *bundleFolder) fetchOnce(ctx context.Context, b bridgeconfig.Bundle) error {
	content, err := f.store.Fetch(ctx, bundle.Digest(b.Digest))
	if err != nil {
		return err //nolint:wrapcheck // The log says what it is about.
	}
	defer content.Close()
	return bundle.Unpack(ctx, content, f.folder(b), bundle.Digest(b.Digest), b.Bytes)
}

func (f *bundleFolder) folder(b bridgeconfig.Bundle) string { return filepath.Join(f.path, b.Hex()) }
