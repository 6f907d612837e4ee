// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package eventstream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/hostedbridge/hostedbridge/internal/bridge/oversize"
)

// MaxMessage bounds one message of a server, in bytes.
const MaxMessage = oversize.Limit

// Reader is the body of an event stream, and reads it one event at a time.
type Reader struct {
	src   io.ReadCloser
	lines *bufio.Reader
	// see returns the message that the SDK gets instead, nil for nothing.
	see func(message []byte) []byte
	out []byte
	err error
}

// NewReader returns the body and calls see with every message.
func NewReader(src io.ReadCloser, see func([]byte) []byte) *Reader {
	return &Reader{src: src, lines: bufio.NewReader(src), see: see}
}

// Read implements io.Reader.
func (b *Reader) Read(p []byte) (int, error) {
	for len(b.out) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.out, b.err = b.event()
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

// Close implements io.Closer.
func (b *Reader) Close() error { return b.src.Close() }

// event reads up to the end of the next event and returns the part that the SDK sees. For the SDK,
// the end of the stream also ends an event, so such an event is returned with io.EOF; an event cut
// off by a network error is dropped. For an event that is too large, the SDK gets an error for the
// request that it answers.
func (b *Reader) event() ([]byte, error) {
	e := &event{}
	var end error
	for end == nil {
		var blank bool
		blank, end = b.line(e)
		if end != nil && !errors.Is(end, io.EOF) {
			return e.whole, end
		}
		if blank {
			break
		}
	}
	return e.seenBySDK(b.see), end
}

// line reads the next line into e. It returns true for the blank line that ends an event.
func (b *Reader) line(e *event) (blank bool, err error) {
	length := 0
	for {
		part, err := b.lines.ReadSlice('\n')
		e.add(part, length == 0)
		if content := bytes.TrimRight(part, "\r\n"); len(content) > 0 {
			length += len(content)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			e.endLine()
			return length == 0 && err == nil, err
		}
	}
}

// event is an event of a stream while it is read.
type event struct {
	whole, data, rest []byte
	begun             int // offset of the current line in whole
	// large reads the message instead of data once data is too large.
	large *oversize.Message
	skips bool // whether the current line belongs to a message that is too large
}

// add appends a part of a line.
func (e *event) add(part []byte, first bool) {
	if e.large == nil {
		e.whole = append(e.whole, part...)
		if len(e.whole) > MaxMessage {
			e.stopKeeping()
		}
		return
	}
	if first {
		e.skips = bytes.HasPrefix(part, []byte("data:"))
		part = bytes.TrimPrefix(part, []byte("data:"))
	}
	if e.skips {
		_, _ = e.large.Write(part)
	}
}

// stopKeeping stops keeping the event.
func (e *event) stopKeeping() {
	e.large = &oversize.Message{}
	_, _ = e.large.Write(e.data)
	line := e.whole[e.begun:]
	e.skips = bytes.HasPrefix(line, []byte("data:"))
	if e.skips {
		_, _ = e.large.Write(bytes.TrimPrefix(line, []byte("data:")))
	}
	e.whole, e.data = nil, nil
}

// endLine handles a complete line.
func (e *event) endLine() {
	if e.large != nil {
		return
	}
	content := bytes.TrimRight(e.whole[e.begun:], "\r\n")
	e.begun = len(e.whole)
	if value, ok := bytes.CutPrefix(content, []byte("data:")); ok {
		e.data = append(append(e.data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
	} else if len(content) > 0 {
		e.rest = append(append(e.rest, content...), '\n')
	}
}

// seenBySDK returns the part of the event that the SDK sees.
func (e *event) seenBySDK(see func([]byte) []byte) []byte {
	switch {
	case e.large != nil:
		if answer := e.large.Answer(); answer != nil {
			return fmt.Appendf(e.rest, "data: %s\n\n", answer)
		}
		return append(e.rest, '\n')
	case len(e.data) == 0:
		return e.whole
	}
	seen := see(e.data)
	switch {
	case seen == nil:
		// The rest may hold the event's id, from which a broken stream resumes.
		return append(e.rest, '\n')
	case &seen[0] != &e.data[0]:
		return fmt.Appendf(e.rest, "data: %s\n\n", seen)
	}
	return e.whole
}
