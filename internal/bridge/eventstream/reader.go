// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package eventstream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hostedbridge/hostedbridge/internal/bridge/oversize"
)

// MaxMessage bounds one message of a server, in bytes.
const MaxMessage = oversize.Limit

// MaxUncounted is the size in bytes from which a message that is being received needs memory from
// its Room. Its own length is not known before it ends.
const MaxUncounted = 128 << 10

// Room gives memory to large messages. Its methods are called one after the other.
type Room interface {
	// Take waits for the memory of a message of at most n bytes.
	Take(n int) error
	// Received says that the message has arrived, and has n bytes.
	Received(n int)
	// Refusal returns the message that replaces one that Take refused, nil for none.
	Refusal(m *oversize.Message, err error) []byte
}

// Reader is the body of an event stream, and reads it one event at a time.
type Reader struct {
	src   io.ReadCloser
	lines *bufio.Reader
	// see returns the message that the SDK gets instead, nil for nothing.
	see func(message []byte) []byte
	out []byte
	err error

	max  int
	room Room // nil if memory is not limited
}

// NewReader returns the body and calls see with every message.
func NewReader(src io.ReadCloser, see func([]byte) []byte) *Reader {
	return NewBoundedReader(src, see, MaxMessage, nil)
}

// NewBoundedReader returns the body and calls see with every message of at most limit bytes. Large
// messages get their memory from room.
func NewBoundedReader(src io.ReadCloser, see func([]byte) []byte, limit int, room Room) *Reader {
	return &Reader{src: src, lines: bufio.NewReader(src), see: see, max: limit, room: room}
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
	e := &event{max: b.max, room: b.room}
	defer e.end()
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
	// data is the message: a part of whole, unless it came in several lines.
	whole, data, rest []byte
	begun             int // offset of the current line in whole
	// large reads the message instead of data once data is too large.
	large *oversize.Message
	skips bool // whether the current line belongs to a message that is too large

	max     int
	room    Room
	counted bool  // whether the message has memory from room
	refused error // why it has none
}

// add appends a part of a line.
func (e *event) add(part []byte, first bool) {
	if e.large == nil {
		e.whole = append(e.whole, part...)
		if len(e.whole) > MaxUncounted {
			e.count(e.max)
		}
		if len(e.whole) > e.max || e.refused != nil {
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

// count takes the memory of a message of at most most bytes.
func (e *event) count(most int) {
	if e.room == nil || e.counted {
		return
	}
	e.refused = e.room.Take(most)
	e.counted = e.refused == nil
}

// end gives back what the message does not need.
func (e *event) end() {
	if e.counted {
		e.room.Received(len(e.data))
	}
}

// stopKeeping stops keeping the event.
func (e *event) stopKeeping() {
	e.large = &oversize.Message{}
	_, _ = e.large.Write(e.data)
	_, _ = e.large.Write([]byte{'\n'})
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
		value = bytes.TrimPrefix(value, []byte(" "))
		if e.data == nil {
			e.data = slices.Clip(value)
		} else {
			e.data = append(append(e.data, '\n'), value...)
		}
	} else if len(content) > 0 {
		e.rest = append(append(e.rest, content...), '\n')
	}
}

// replacement returns the error in place of an answer that was not kept, nil for other messages.
func (e *event) replacement() []byte {
	if e.refused != nil {
		return e.room.Refusal(e.large, e.refused)
	}
	return e.large.Answer(e.max)
}

// seenBySDK returns the part of the event that the SDK sees.
func (e *event) seenBySDK(see func([]byte) []byte) []byte {
	switch {
	case e.large != nil:
		if answer := e.replacement(); answer != nil {
			return fmt.Appendf(e.rest, "data: %s\n\n", answer)
		}
		return append(e.rest, '\n')
	case len(e.data) == 0:
		return e.whole
	}
	if e.count(len(e.data)); e.refused != nil {
		e.stopKeeping()
		return e.seenBySDK(see)
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
