// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package h1

import (
	"bytes"
	"errors"
	"io"
)

// bufferSize holds the plaintext of the largest TLS record, 16 KiB, and with it
// any single line that bridges write.
const bufferSize = 16<<10 + 512

// The ways in which an answer is refused. All are final: nothing is repaired.
var (
	errMalformed   = errors.New("h1: malformed answer")
	errTooLong     = errors.New("h1: a line, the header or the trailer is too long")
	errFraming     = errors.New("h1: the answer's length is ambiguous")
	errUnsupported = errors.New("h1: an answer of this kind is not spoken")
)

// reader is a buffer in front of src that can tell whether there may be more
// behind what it holds.
type reader struct {
	src  io.Reader
	buf  []byte
	r, w int
	// full is whether the last read filled the buffer, so that src may have
	// kept something back.
	full bool
}

// buffered returns what has been read and not taken.
func (b *reader) buffered() []byte { return b.buf[b.r:b.w] }

// drained reports whether nothing is known to be left, here or in src.
func (b *reader) drained() bool { return b.r == b.w && !b.full }

// fill reads once, and returns an error only if nothing came.
func (b *reader) fill() error {
	if b.r == b.w {
		b.r, b.w = 0, 0
	}
	if b.w == len(b.buf) {
		if b.r == 0 {
			return errTooLong
		}
		b.w = copy(b.buf, b.buf[b.r:b.w])
		b.r = 0
	}
	for range maxEmptyReads {
		n, err := b.src.Read(b.buf[b.w:])
		b.w += n
		b.full = b.w == len(b.buf)
		if n > 0 {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// maxEmptyReads is as often as bufio asks a reader that gives nothing.
const maxEmptyReads = 100

// line returns the next line without its CRLF, and takes what it measures off
// budget. It is valid until the next read. A line that ends otherwise is malformed:
// readers that disagree about where a line ends see different answers.
func (b *reader) line(budget *int) ([]byte, error) {
	from := 0
	for {
		if i := bytes.IndexByte(b.buf[b.r+from:b.w], '\n'); i >= 0 {
			return b.cut(from+i, budget)
		}
		from = b.w - b.r
		if from > *budget {
			return nil, errTooLong
		}
		if err := b.fill(); err != nil {
			return nil, err
		}
	}
}

func (b *reader) cut(end int, budget *int) ([]byte, error) {
	line := b.buf[b.r : b.r+end]
	if *budget -= len(line) + 1; *budget < 0 {
		return nil, errTooLong
	}
	b.r += end + 1
	if end == 0 || line[end-1] != '\r' {
		return nil, errMalformed
	}
	return line[:end-1], nil
}
