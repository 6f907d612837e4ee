// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"crypto/rand"
	"io"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// Config says where the trail is written.
type Config struct {
	// Path is the file, which is created where it is missing. Where it is empty
	// the trail goes to the stream that Open is given.
	Path string
	// MaxBytes is how large a file becomes before the next one is begun; 0 for
	// no limit.
	MaxBytes int64
	// MaxAge is how long a file is written to; 0 for no limit. It is looked at
	// when something is written.
	MaxAge time.Duration
	// MaxFiles is how many full files are kept; 0 for all of them.
	MaxFiles int
	// Sync waits for the disk at each write.
	Sync bool
	// Follow is called with what has been written, after each write and in
	// order; nil for nobody. It must not block. Where records are missing
	// between two calls they are to be read from the files.
	Follow func([]audit.Record)
}

// Open returns the sink that config describes. With a file it continues the
// file's chain, and marks what a killed process left of a line.
func Open(config Config, stream io.Writer) (*Sink, error) {
	s := &Sink{follow: config.Follow, now: time.Now}
	if config.Path == "" {
		s.out, s.head = streamOutput{stream}, audit.NewChain(newWriter())
		return s, nil
	}
	f, end, err := openFile(config, s.now())
	if err != nil {
		return nil, err
	}
	s.out, s.head, s.torn, s.feed = f, end.head, end.torn, end.feed
	return s, nil
}

// newWriter returns the name of a new chain.
func newWriter() string { return rand.Text()[:16] }

// streamOutput is a stream that somebody else keeps, such as standard output.
type streamOutput struct{ io.Writer }

func (streamOutput) prepare(int, time.Time) error { return nil }
func (streamOutput) commit(audit.Head) error      { return nil }
func (streamOutput) Close() error                 { return nil }
