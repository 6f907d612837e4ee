// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/clock"
)

// saveInterval is how often the counts are written, if they changed: 10,000
// users are some 4 MB.
const saveInterval = 5 * time.Second

// countsFile is what is kept. Only the file of a process that ended in order has a
// marker: in any other one the last seconds are missing, and the replicas are
// to report what they have seen.
type countsFile struct {
	Marker string `json:",omitempty"`
	Users  map[types.UID]*counted
}

// OpenCounter returns a counter that goes on from the file at path, or begins without
// counts if that is missing or of no use. Without a path nothing is kept.
func OpenCounter(path string, clock clock.Clock, log *slog.Logger) *Counter {
	c := &Counter{path: path, clock: clock, log: log, swept: clock.Now()}
	kept := c.read()
	if c.marker, c.users = kept.Marker, kept.Users; c.marker == "" {
		c.marker = rand.Text()
	}
	if c.users == nil {
		c.users = map[types.UID]*counted{}
	}
	for bridge, a := range c.users {
		if a == nil {
			delete(c.users, bridge)
		}
	}
	// From here on the file is not that of a process that ended in order.
	c.changed = true
	if err := c.save(false); err != nil {
		log.Error("the counts of quotas are not kept over a restart", "error", err)
	}
	return c
}

func (c *Counter) read() (kept countsFile) {
	if c.path == "" {
		return kept
	}
	text, err := os.ReadFile(c.path)
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return kept
	}
	c.log.Error("the kept counts of quotas are not used: replicas report what they have seen", "error", err)
	return countsFile{}
}

// Run keeps the counts in the file until ctx ends, and writes them a last time
// then. The caller has to ask nothing any more by then.
func (c *Counter) Run(ctx context.Context) error {
	for said := ""; ; {
		select {
		case <-ctx.Done():
			return c.save(true)
		case <-c.clock.After(saveInterval):
		}
		text := ""
		if err := c.save(false); err != nil {
			if text = err.Error(); text != said {
				c.log.ErrorContext(ctx, "the counts of quotas are not kept over a restart", "error", err)
			}
		}
		said = text
	}
}

// save writes the file if it lacks something. inOrder says that nothing comes
// after it.
func (c *Counter) save(inOrder bool) error {
	text, err := c.encode(inOrder)
	if err != nil || text == nil {
		return err
	}
	next := c.path + ".new"
	if err = writeCounts(next, text, inOrder); err == nil {
		err = os.Rename(next, c.path)
	}
	if err != nil {
		c.mu.Lock()
		c.changed = true
		c.mu.Unlock()
		return fmt.Errorf("keep the counts of quotas: %w", err)
	}
	return nil
}

// encode returns what is to be written, nil for nothing.
func (c *Counter) encode(inOrder bool) ([]byte, error) {
	kept := c.snapshot(inOrder)
	if kept == nil {
		return nil, nil
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return nil, fmt.Errorf("encode the counts of quotas: %w", err)
	}
	return text, nil
}

// snapshot returns a copy of what is to be written, nil for nothing. Calls wait
// for the copy, and not for its text.
func (c *Counter) snapshot(inOrder bool) *countsFile {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.path == "" || !c.changed && !inOrder {
		return nil
	}
	c.changed = false
	kept := &countsFile{Users: make(map[types.UID]*counted, len(c.users))}
	if inOrder {
		kept.Marker = c.marker
	}
	for bridge, a := range c.users {
		copied := *a
		copied.Held = maps.Clone(a.Held)
		kept.Users[bridge] = &copied
	}
	return kept
}

// writeCounts writes a file, onto the disk itself if it is the last one.
func writeCounts(path string, text []byte, sync bool) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
