// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// maxEvent is how much of an event is read before any of it is passed on, in
// bytes. What kind of message a longer one holds shows in its beginning.
const maxEvent = 64 << 10

// events passes a stream of events on, without the comments by which the bridge
// tells of calls. Where the stream answers tool calls each event is held until
// it is complete, and before a response an entry is written for it; elsewhere
// whatever comes passes at once.
type events struct {
	trail *trail
	// told takes what the bridge tells, and early has entries made of calls of
	// which nobody can tell how they ended.
	told  func(value string) error
	early func() error

	in      []byte // what has come of an event
	line    int    // where in it the line begins that is not complete
	passing bool   // the event is too long and its beginning has been passed on
	out     []byte // what can go
	sent    int    // how much of it has gone
	err     error  // what follows it
}

// read is io.Reader's Read. finish is called at the end of the stream.
func (e *events) read(p []byte, from io.Reader, finish func(error) error) (int, error) {
	for e.sent == len(e.out) {
		if e.err != nil {
			return 0, e.err
		}
		e.out, e.sent = e.out[:0], 0
		n, err := from.Read(p)
		e.in = append(e.in, p[:n]...)
		if taken := e.take(); taken != nil {
			err = taken
		} else if errors.Is(err, io.EOF) {
			err = e.end(finish, err)
		}
		e.err = err
	}
	n := copy(p, e.out[e.sent:])
	e.sent += n
	return n, nil
}

// end releases what follows the last event, which some clients take for one.
func (e *events) end(finish func(error) error, eof error) error {
	if err := e.release(e.in); err != nil {
		return err
	}
	e.in = nil
	return finish(eof)
}

// take releases what of e.in can go.
func (e *events) take() error {
	if e.trail.calls == 0 {
		return e.takeLines()
	}
	for {
		end := e.eventEnd()
		if end == 0 {
			break
		}
		if err := e.release(e.in[:end]); err != nil {
			return err
		}
		e.in, e.line, e.passing = e.in[end:], 0, false
	}
	if len(e.in) > maxEvent || e.passing {
		// A line that is not complete stays whole, as far as it can be.
		if err := e.release(e.in); err != nil {
			return err
		}
		// The next byte may end the event only if this was the end of a line.
		e.line -= len(e.in)
		e.in, e.passing = e.in[:0], true
	}
	if len(e.in) == 0 {
		e.in = nil // What was released is not kept for a silent stream.
	}
	return nil
}

// takeLines releases all but the beginning of a line that may be for us.
func (e *events) takeLines() error {
	for line, whole := range eventLines(e.in) {
		complete := len(line) < len(whole)
		value, tells := bytes.CutPrefix(line, []byte(audit.EventPrefix))
		switch {
		case e.passing: // The line has begun before.
			e.out = append(e.out, whole...)
		case tells && complete:
			if err := e.told(string(value)); err != nil {
				return err
			}
		case !complete && len(line) <= maxEvent && (tells || strings.HasPrefix(audit.EventPrefix, string(line))):
			e.in = append([]byte(nil), line...)
			return nil
		default:
			e.out = append(e.out, whole...)
		}
		e.passing = !complete
	}
	e.in = nil
	return nil
}

// eventEnd returns where the first event ends, behind its empty line, or 0.
func (e *events) eventEnd() int {
	for {
		from := max(e.line, 0)
		i := bytes.IndexAny(e.in[from:], "\r\n")
		if i < 0 {
			return 0
		}
		end := from + i + 1
		if e.in[end-1] == '\r' && end < len(e.in) && e.in[end] == '\n' {
			end++
		}
		empty := from+i == e.line
		if e.line = end; empty {
			return end
		}
	}
}

// release looks at an event, or at its beginning where it is too long, and lets
// it go once the entries are written.
func (e *events) release(event []byte) error {
	begun := len(e.out)
	if e.passing {
		e.out = append(e.out, event...)
		return nil
	}
	data, err := e.look(event)
	if err == nil {
		err = e.answered(data)
	}
	if err != nil {
		e.out = e.out[:begun]
	}
	return err
}

// look adds to what can go all of an event but what the bridge tells in it, and
// returns its data.
func (e *events) look(event []byte) (data []byte, err error) {
	for line, whole := range eventLines(event) {
		value, tells := bytes.CutPrefix(line, []byte(audit.EventPrefix))
		if tells {
			if err := e.told(string(value)); err != nil {
				return nil, err
			}
			continue
		}
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
		}
		e.out = append(e.out, whole...)
	}
	return data, nil
}

// answered has the entries written of the responses in an event's data.
func (e *events) answered(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if len(data) > maxEvent && data[0] == '[' {
		return e.early()
	}
	for a := range answersIn(data) {
		if err := e.trail.answered(a); err != nil {
			return err
		}
	}
	return nil
}

// eventLines returns the lines of b, without and with what ends them.
func eventLines(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(line, whole []byte) bool) {
		for len(b) > 0 {
			i := bytes.IndexAny(b, "\r\n")
			end := i + 1
			if i < 0 {
				i, end = len(b), len(b)
			} else if b[i] == '\r' && end < len(b) && b[end] == '\n' {
				end++
			}
			if !yield(b[:i], b[:end]) {
				return
			}
			b = b[end:]
		}
	}
}
