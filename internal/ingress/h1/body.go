// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package h1

import (
	"io"
	"net/http"
)

const (
	// maxTrailer bounds the trailer of an answer, in bytes: 8 KiB is the longest
	// that a bridge writes, and its name.
	maxTrailer = 9 << 10
	// maxChunkLine bounds the line before a chunk: eight digits are 4 GiB.
	maxChunkLine = 8 + len("\r\n")
)

// bodyReader takes an answer's body from a reader. It stops exactly at its end.
type bodyReader struct {
	from *reader
	// left is what remains of the body, or of the chunk.
	left    int64
	chunked bool
	// inChunk is whether a chunk has begun whose CRLF has not been read.
	inChunk bool
	keep    map[string]string
	trailer http.Header
}

// read reads the available bytes, at least one, or returns io.EOF at the end.
func (b *bodyReader) read(p []byte) (int, error) {
	if b.left == 0 {
		if !b.chunked {
			return 0, io.EOF
		}
		if err := b.nextChunk(); err != nil {
			return 0, err
		}
	}
	if len(p) == 0 {
		return 0, nil
	}
	if b.from.r == b.from.w {
		if err := b.from.fill(); err != nil {
			return 0, err
		}
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n := copy(p, b.from.buffered())
	b.from.r += n
	b.left -= int64(n)
	return n, nil
}

// nextChunk reads up to the next chunk's first byte. Behind the last chunk it
// reads the trailer and returns io.EOF.
func (b *bodyReader) nextChunk() error {
	budget := maxChunkLine
	if b.inChunk {
		if line, err := b.from.line(&budget); err != nil || len(line) != 0 {
			return orMalformed(err)
		}
		b.inChunk = false
		budget = maxChunkLine
	}
	line, err := b.from.line(&budget)
	if err != nil {
		return err
	}
	if b.left, err = chunkSize(line); err != nil {
		return err
	}
	if b.left > 0 {
		b.inChunk = true
		return nil
	}
	if err := b.readTrailer(); err != nil {
		return err
	}
	b.chunked = false
	return io.EOF
}

func orMalformed(err error) error {
	if err != nil {
		return err
	}
	return errMalformed
}

// chunkSize reads the line before a chunk. Extensions are refused: no bridge has
// any, and what is behind the ';' is where readers disagree.
func chunkSize(line []byte) (int64, error) {
	if len(line) == 0 {
		return 0, errMalformed
	}
	var n int64
	for _, c := range line {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, errMalformed
		}
		n = n<<4 | int64(c)
	}
	return n, nil
}

// readTrailer keeps the fields that are asked for. One that would also say where
// the answer ends is refused.
func (b *bodyReader) readTrailer() error {
	budget := maxTrailer
	return b.from.readFields(&budget, func(name, value []byte) error {
		switch string(name) {
		case "Content-Length", "Transfer-Encoding", "Connection", "Upgrade":
			return errFraming
		}
		if _, ok := b.keep[string(name)]; ok {
			if b.trailer == nil {
				b.trailer = make(http.Header, 1)
			}
			keepField(b.trailer, b.keep, name, value)
		}
		return nil
	})
}
