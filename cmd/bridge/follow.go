// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"time"
)

// followInterval is how often files are looked at for changes. The kubelet takes
// a minute to bring a new configuration; a person who saves one is there in less
// than it takes to look at the other window.
const followInterval = 2 * time.Second

// follower looks at something until it changes. Reading it is cheaper than to
// be told: the kubelet swaps a link, editors replace files, and a folder that
// is watched may not be there yet.
type follower struct {
	interval time.Duration
	read     func() ([]byte, error)
	// changed is called with each new content.
	changed func([]byte)
	// failed is called when it cannot be read, once until it can again.
	failed func(error)
}

// run follows from what was last seen until ctx ends.
func (f follower) run(ctx context.Context, seen []byte) {
	ticker := time.NewTicker(f.interval)
	defer ticker.Stop()
	broken := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		content, err := f.read()
		if err != nil {
			if !broken {
				f.failed(err)
			}
			broken = true
			continue
		}
		broken = false
		if !bytes.Equal(content, seen) {
			seen = content
			f.changed(content)
		}
	}
}
