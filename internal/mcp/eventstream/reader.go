// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package eventstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// MaxMessage bounds one message of a server, in bytes.
const MaxMessage = rpc.MaxAnswer

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
	Refusal(m *rpc.Oversize, err error) []byte
}

// Event is one event of a stream, as the HTML standard has them ("Server-sent events").
type Event struct {
	// Name is empty for "message".
	Name string
	// ID is the event's id, from which a broken stream resumes; empty for none.
	ID string
	// Retry is how long a reader waits before it resumes the stream; zero if the event does not say.
	Retry time.Duration
	// Data is the message, empty for an event without one.
	Data []byte
}

// Reader reads an event stream one event at a time.
type Reader struct {
	lines *bufio.Reader
	begun bool // whether something was read
	cr    bool // whether a CR ended the last line: an LF behind it belongs to it
	max   int
	room  Room // nil if memory is not limited
}

// buffers are reused: the answer to a call is a stream of its own.
var buffers = sync.Pool{New: func() any { return bufio.NewReader(nil) }}

// NewReader returns the reader of a stream whose messages have at most limit bytes. Large messages get
// their memory from room, which may be nil.
func NewReader(src io.Reader, limit int, room Room) *Reader {
	lines, _ := buffers.Get().(*bufio.Reader)
	lines.Reset(src)
	return &Reader{lines: lines, max: limit, room: room}
}

// Release ends the use of the reader. What it has read ahead is lost.
func (b *Reader) Release() {
	b.lines.Reset(nil)
	buffers.Put(b.lines)
	b.lines = nil
}

// byteOrderMark may begin a stream, and belongs to no event.
const byteOrderMark = "\xef\xbb\xbf"

// Next returns the next event. An event that the end of the stream ends counts, and comes with io.EOF;
// one that a network error cuts off does not. The data of an event that is too large is an error for the
// request that it answers, and empty for other messages.
func (b *Reader) Next() (Event, error) {
	e := &event{max: b.max, room: b.room}
	defer e.end()
	if !b.begun {
		b.begun = true
		if start, _ := b.lines.Peek(len(byteOrderMark)); string(start) == byteOrderMark {
			_, _ = b.lines.Discard(len(byteOrderMark))
		}
	}
	for {
		blank, err := b.line(e)
		switch {
		case errors.Is(err, io.EOF):
			return e.finish(), io.EOF
		case err != nil:
			return Event{}, err
		case blank:
			return e.finish(), nil
		}
	}
}

// line reads the next line into e. It returns true for the blank line that ends an event.
func (b *Reader) line(e *event) (blank bool, err error) {
	length := 0
	for {
		part, err := b.readSlice()
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

// readSlice returns the next line with its end, which is CR, LF or both. As bufio.Reader.ReadSlice, it returns a part of
// it with bufio.ErrBufferFull, and what is left of the stream with its end.
func (b *Reader) readSlice() ([]byte, error) {
	for seen := 0; ; {
		part, err := b.lines.Peek(max(b.lines.Buffered(), seen+1))
		if b.cr && len(part) > 0 {
			b.cr = false
			if part[0] == '\n' {
				_, _ = b.lines.Discard(1)
				continue
			}
		}
		ended := false
		if lf := bytes.IndexByte(part[seen:], '\n'); lf >= 0 {
			part, ended = part[:seen+lf+1], true
		}
		if cr := bytes.IndexByte(part[seen:], '\r'); cr >= 0 {
			part, ended, b.cr = part[:seen+cr+1], true, true
		}
		if ended || err != nil {
			_, _ = b.lines.Discard(len(part))
			if ended {
				err = nil
			}
			return part, err
		}
		seen = len(part)
	}
}

// event is an event of a stream while it is read.
type event struct {
	Event
	// whole is the event's text. Its data is a part of it, unless it came in several lines.
	whole []byte
	begun int // offset of the current line in whole
	// large reads the message instead of data once data is too large.
	large *rpc.Oversize
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
		e.room.Received(len(e.Data))
	}
}

// stopKeeping stops keeping the event.
func (e *event) stopKeeping() {
	e.large = &rpc.Oversize{}
	_, _ = e.large.Write(e.Data)
	_, _ = e.large.Write([]byte{'\n'})
	line := e.whole[e.begun:]
	e.skips = bytes.HasPrefix(line, []byte("data:"))
	if e.skips {
		_, _ = e.large.Write(bytes.TrimPrefix(line, []byte("data:")))
	}
	e.whole, e.Data = nil, nil
}

// endLine handles a complete line.
func (e *event) endLine() {
	if e.large != nil {
		return
	}
	field, value, _ := bytes.Cut(bytes.TrimRight(e.whole[e.begun:], "\r\n"), []byte(":"))
	e.begun = len(e.whole)
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "data":
		if e.Data == nil {
			e.Data = slices.Clip(value)
		} else {
			e.Data = append(append(e.Data, '\n'), value...)
		}
	case "id":
		if bytes.IndexByte(value, 0) < 0 { // The standard ignores others, and no header can hold them.
			e.ID = string(value)
		}
	case "event":
		e.Name = string(value)
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			e.Retry = time.Duration(ms) * time.Millisecond
		}
	}
}

// finish returns the complete event.
func (e *event) finish() Event {
	if e.large == nil && len(e.Data) > 0 {
		if e.count(len(e.Data)); e.refused != nil {
			e.stopKeeping()
		}
	}
	done := e.Event
	if e.large != nil {
		done.Data = e.replacement()
	}
	return done
}

// replacement returns the error in place of an answer that was not kept, nil for other messages.
func (e *event) replacement() []byte {
	if e.refused != nil {
		return e.room.Refusal(e.large, e.refused)
	}
	return e.large.Answer(e.max)
}
