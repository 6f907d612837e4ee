// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"context"
	"time"
)

// FollowInterval is how often files are looked at for changes. The kubelet takes
// a minute to bring a new configuration; a person who saves one is there in less
// than it takes to look at the other window.
const FollowInterval = 2 * time.Second

// Follower looks at something until it changes. Reading it is cheaper than to
// be told: the kubelet swaps a link, editors replace files, and a folder that
// is watched may not be there yet.
type Follower struct {
	Interval time.Duration
	Read     func() ([]byte, error)
	// Changed is called with each new content.
	Changed func([]byte)
	// Failed is called when it cannot be read, once until it can again.
	Failed func(error)
}

// Run follows from what was last seen until ctx ends.
func (f Follower) Run(ctx context.Context, seen []byte) {
	ticker := time.NewTicker(f.Interval)
	defer ticker.Stop()
	broken := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		content, err := f.Read()
		if err != nil {
			if !broken {
				f.Failed(err)
			}
			broken = true
			continue
		}
		broken = false
		if !bytes.Equal(content, seen) {
			seen = content
			f.Changed(content)
		}
	}
}
