// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundlestore

import (
	"context"
	"sync"
)

const (
	// maxDownloads is how many bundles are sent at a time: each takes some 100 KiB of memory, and
	// more of them do not make a volume faster.
	maxDownloads = 16
	// maxOfOne is how many of these one bridge may have, so that one that reads slowly leaves
	// room for others.
	maxOfOne = 2
	// maxWaiting is how many downloads one bridge may wait for beside those: as many as it has
	// servers.
	maxWaiting = 64
)

// gate bounds the downloads of all callers, and of each.
type gate struct {
	all chan struct{}

	mu      sync.Mutex
	callers map[string]*caller
}

// caller is somebody who downloads or waits.
type caller struct {
	slots    chan struct{}
	requests int
}

func newGate() *gate {
	return &gate{all: make(chan struct{}, maxDownloads), callers: map[string]*caller{}}
}

// enter waits until the caller may download, and returns what ends the download.
func (g *gate) enter(ctx context.Context, name string) (leave func(), err error) {
	c, err := g.add(name)
	if err != nil {
		return nil, err
	}
	for _, slots := range []chan struct{}{c.slots, g.all} {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			if slots == g.all {
				<-c.slots
			}
			g.remove(name, c)
			return nil, ctx.Err()
		}
	}
	return func() {
		<-g.all
		<-c.slots
		g.remove(name, c)
	}, nil
}

func (g *gate) add(name string) (*caller, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.callers[name]
	if c == nil {
		c = &caller{slots: make(chan struct{}, maxOfOne)}
		g.callers[name] = c
	}
	if c.requests >= maxOfOne+maxWaiting {
		return nil, errTooMany
	}
	c.requests++
	return c, nil
}

func (g *gate) remove(name string, c *caller) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.requests--; c.requests == 0 {
		delete(g.callers, name)
	}
}
