// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// tierFileInterval is how often the file is read. The kubelet takes up to two
// minutes to change it, so this adds little.
const tierFileInterval = 5 * time.Second

// TierFile keeps an installation's tiers as its file has them. It is safe for concurrent use.
type TierFile struct {
	path  string
	clock clock.Clock
	log   *slog.Logger
	tiers atomic.Pointer[quota.Tiers]
	// read is what was read last, wrong or not.
	read []byte
}

// OpenTierFile reads the file, which must be right at the start. Without a path the
// tiers are the defaults, and stay so.
func OpenTierFile(path string, clock clock.Clock, log *slog.Logger) (*TierFile, error) {
	f := &TierFile{path: path, clock: clock, log: log}
	tiers, err := quota.FromFile(path, f.readFile)
	if err != nil {
		return nil, err
	}
	f.tiers.Store(&tiers)
	return f, nil
}

// Tiers returns the tiers, which must not be changed.
func (f *TierFile) Tiers() quota.Tiers { return *f.tiers.Load() }

// Run reads the file again whenever it has changed, until ctx ends. While it
// cannot be read or is wrong, the tiers stay as they were.
func (f *TierFile) Run(ctx context.Context) error {
	if f.path == "" {
		<-ctx.Done()
		return nil
	}
	// A file that cannot be read is logged once, and so is an invalid one.
	unreadable := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.clock.After(tierFileInterval):
		}
		before := f.read
		tiers, err := quota.FromFile(f.path, f.readFile)
		switch changed := !bytes.Equal(before, f.read); {
		case err == nil && changed:
			f.tiers.Store(&tiers)
			f.log.InfoContext(ctx, "the tiers have changed", "tiers", tiers.Names())
		case err != nil && (changed || f.read == nil && !unreadable):
			f.log.ErrorContext(ctx, "the tiers stay as they were: their file is wrong", "error", err)
		}
		unreadable = f.read == nil
	}
}

func (f *TierFile) readFile(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		f.read = nil
		return nil, err
	}
	f.read = append([]byte{}, b...)
	return b, nil
}
