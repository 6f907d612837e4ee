// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Verify reads a compressed bundle to its end, and says whether its tar has that digest and
// size. It writes nothing.
func Verify(ctx context.Context, r io.Reader, want Digest, size int64) error {
	content, err := newContent(ctx, r, size)
	if err != nil {
		return err
	}
	defer content.close()
	return content.verify(want)
}

// MaxCompressed is how many bytes a compressed bundle may have whose tar has size bytes.
// zstd adds three bytes to each block of 128 KiB that it cannot compress.
func MaxCompressed(size int64) int64 { return size + size>>8 + 64<<10 }

// content is the tar of a bundle while it is read: hashed, and bounded by its size. It has no
// goroutine.
type content struct {
	decoder *zstd.Decoder
	source  *source
	hash    hash.Hash
	left    int64
}

// source keeps the error of what is read, to tell it from those of the decoder.
type source struct {
	ctx    context.Context
	reader io.Reader
	err    error
}

// Read implements io.Reader.
func (s *source) Read(b []byte) (int, error) {
	if s.err = s.ctx.Err(); s.err != nil {
		return 0, s.err
	}
	n, err := s.reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func newContent(ctx context.Context, r io.Reader, size int64) (*content, error) {
	if size <= 0 {
		return nil, fmt.Errorf("%w: its size is missing", ErrBundle)
	}
	s := &source{ctx: ctx, reader: io.LimitReader(r, MaxCompressed(size))}
	decoder, err := zstd.NewReader(s, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBundle, err)
	}
	return &content{decoder: decoder, source: s, hash: sha256.New(), left: size}, nil
}

func (c *content) close() { c.decoder.Close() }

// Read implements io.Reader.
func (c *content) Read(b []byte) (int, error) {
	n, err := c.decoder.Read(b)
	if c.left -= int64(n); c.left < 0 {
		return 0, fmt.Errorf("%w: it is larger than it should be", ErrBundle)
	}
	c.hash.Write(b[:n])
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", ErrBundle, err)
	}
	return n, err
}

// verify reads what is left, and compares.
func (c *content) verify(want Digest) error {
	if _, err := io.Copy(io.Discard, c); err != nil {
		return c.explain(err)
	}
	switch {
	case c.left != 0:
		return fmt.Errorf("%w: %d bytes are missing", ErrBundle, c.left)
	case digestOf(c.hash) != want:
		return fmt.Errorf("%w: its bytes do not match %s", ErrBundle, want)
	}
	return nil
}

// explain returns the error of the source where that is what went wrong.
func (c *content) explain(err error) error {
	if c.source.err != nil {
		return fmt.Errorf("read the bundle: %w", c.source.err)
	}
	return err
}
