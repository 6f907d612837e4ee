// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package callaudit

import (
	"bytes"
	"errors"
	"io"

	"github.com/hostedbridge/hostedbridge/internal/ingress/jsonrpc"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// maxEvent is how much of an event is read before any of it is passed on, in
// bytes. What kind of message a longer one holds shows in its beginning.
const maxEvent = 64 << 10

// byteOrderMark may begin a stream of events, and is no part of its first line.
const byteOrderMark = "\ufeff"

// eventFilter passes a stream of events on, line by line, without the comments by
// which the bridge tells of calls. Where the stream answers tool calls each event
// is held until it is complete, and before a response an entry is written for
// it; elsewhere whatever comes passes at once.
type eventFilter struct {
	trail *Request
	// told takes what the bridge tells, and early has entries made of calls of
	// which nobody can tell how they ended.
	told  func(value string) error
	early func() error

	begun bool   // the stream's first bytes have come
	in    []byte // what has come of a line that is not complete
	seen  int    // how much of it has no end of a line for sure
	held  []byte // the lines of an event that is not complete
	data  []byte // what these say
	// passing is set for the rest of an event that was too long to be held, and
	// of which it was seen what it is.
	passing bool
	rest    lineRest // where the rest of a line belongs whose beginning was taken
	// cr is set behind a line that ended with CR, to which a LF may belong, and
	// dropped if that line was taken out.
	cr, dropped bool

	out  []byte // what can go
	sent int    // how much of it has gone
	err  error  // what follows it
}

// recordMissing is what is done with the rest of a line.
type lineRest int

const (
	restNone lineRest = iota // a line begins
	restPasses
	restIsData
	restIsDropped
)

// read is io.Reader's Read. finish is called at the end of the stream.
func (e *eventFilter) read(p []byte, from io.Reader, finish func(error) error) (int, error) {
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
func (e *eventFilter) end(finish func(error) error, eof error) error {
	if err := e.line(e.in, e.in); err != nil {
		return err
	}
	e.in = nil
	if err := e.release(); err != nil {
		return err
	}
	return finish(eof)
}

// take takes what of e.in can be taken.
func (e *eventFilter) take() error {
	if !e.begin() {
		return nil
	}
	for len(e.in) > 0 {
		i := bytes.IndexAny(e.in[e.seen:], "\r\n")
		if i < 0 {
			e.seen = len(e.in)
			break
		}
		i += e.seen
		end := i + 1
		if e.in[i] == '\r' {
			if end < len(e.in) && e.in[end] == '\n' {
				end++
			}
			e.cr = end == len(e.in)
		}
		if err := e.line(e.in[:i], e.in[:end]); err != nil {
			return err
		}
		e.in, e.seen = e.in[end:], 0
	}
	if len(e.in) == 0 {
		e.in = nil // What was taken is not kept for a silent stream.
		return nil
	}
	return e.beginning()
}

// begin takes what is no line: a mark of the byte order at the stream's
// beginning, and the LF behind a CR. It reports false while that is not sure.
func (e *eventFilter) begin() bool {
	if !e.begun {
		if len(e.in) < len(byteOrderMark) && startOf(byteOrderMark, e.in) {
			return false
		}
		e.in, e.begun = bytes.TrimPrefix(e.in, []byte(byteOrderMark)), true
	}
	if !e.cr || len(e.in) == 0 {
		return true
	}
	if e.cr = false; e.in[0] == '\n' {
		switch {
		case e.dropped:
		case len(e.held) > 0:
			e.held = append(e.held, '\n')
		default:
			e.out = append(e.out, '\n')
		}
		e.in = e.in[1:]
	}
	return true
}

// line takes a line, or the rest of one; whole has its end, too.
func (e *eventFilter) line(line, whole []byte) error {
	was := e.rest
	e.rest, e.dropped = restNone, was == restIsDropped
	switch {
	case e.dropped:
		return nil
	case was == restNone && bytes.HasPrefix(line, []byte(audit.EventPrefix)):
		e.dropped = true
		return e.told(string(line[len(audit.EventPrefix):]))
	case was == restNone && len(line) == 0 && len(whole) > 0:
		if err := e.release(); err != nil {
			return err
		}
		e.out = append(e.out, whole...)
		return nil
	}
	return e.add(was, line, whole)
}

// beginning takes the beginning of a line, unless it may be one for us, or there
// is room to hold it.
func (e *eventFilter) beginning() error {
	begins := e.rest == restNone
	if begins && (startOf(audit.EventPrefix, e.in) || bytes.HasPrefix(e.in, []byte(audit.EventPrefix))) {
		return e.beginningOfOurs()
	}
	if e.holds() && (len(e.held)+len(e.in) <= maxEvent || begins && startOf(dataPrefix, e.in)) {
		return nil
	}
	part, was := e.in, e.rest
	e.in, e.seen = nil, 0
	if begins {
		e.rest = restPasses
		if bytes.HasPrefix(part, []byte(dataPrefix)) {
			e.rest = restIsData
		}
	}
	return e.add(was, part, part)
}

// beginningOfOurs waits for the rest of a line that is or may be for us, unless it
// is longer than anything that is told.
func (e *eventFilter) beginningOfOurs() error {
	if len(e.in) <= maxEvent {
		return nil
	}
	e.rest = restIsDropped
	err := e.told(string(e.in))
	e.in, e.seen = nil, 0
	return err
}

// startOf reports whether b is the beginning of s, or all of it.
func startOf(s string, b []byte) bool { return len(b) <= len(s) && s[:len(b)] == string(b) }

// dataPrefix begins the lines of an event that have its data.
const dataPrefix = "data:"

// jsonSpace is the white space of JSON.
const jsonSpace = " \t\r\n"

// add takes a line, or a part of one, that is not for us.
func (e *eventFilter) add(was lineRest, line, whole []byte) error {
	if !e.holds() {
		e.out = append(e.out, whole...)
		return nil
	}
	value, data := line, was == restIsData
	if was == restNone {
		value, data = bytes.CutPrefix(line, []byte(dataPrefix))
		value = bytes.TrimPrefix(value, []byte(" "))
	}
	if data {
		e.data = append(e.data, value...)
		if len(whole) > len(line) {
			e.data = append(e.data, '\n')
		}
	}
	if e.held = append(e.held, whole...); len(e.held) <= maxEvent {
		return nil
	}
	if e.data = bytes.TrimLeft(e.data, jsonSpace); len(e.data) > 0 { // Else nobody can tell yet what it is.
		if err := e.record(false); err != nil {
			return err
		}
		e.passing = true
	}
	e.flush()
	return nil
}

// holds reports whether what comes is held until it is known what it is.
func (e *eventFilter) holds() bool {
	return (e.trail.calls > 0 || e.trail.session) && !e.passing
}

// release looks at an event that is complete and lets it go once the entries
// are written.
func (e *eventFilter) release() error {
	if e.data = bytes.TrimLeft(e.data, jsonSpace); len(e.data) > 0 && e.holds() {
		if err := e.record(true); err != nil {
			return err
		}
	}
	e.flush()
	e.data, e.passing = nil, false
	return nil
}

func (e *eventFilter) flush() {
	e.out = append(e.out, e.held...)
	e.held = nil
}

// record has the entries written of the responses in an event's data, or in
// the beginning of it.
func (e *eventFilter) record(complete bool) error {
	if e.trail.session {
		return e.answeredElsewhere()
	}
	if !complete && e.data[0] == '[' {
		return e.early()
	}
	for a := range jsonrpc.Responses(e.data) {
		if err := e.trail.answered(a); err != nil {
			return err
		}
	}
	return nil
}

// answeredElsewhere lets no answer of a session pass while entries cannot be
// written: its own is that of another request.
func (e *eventFilter) answeredElsewhere() error {
	for range jsonrpc.Responses(e.data) {
		if e.trail.log.failing.Load() {
			return problems.AuditAway
		}
	}
	return nil
}
