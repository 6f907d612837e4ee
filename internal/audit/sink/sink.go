// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// Sink writes entries, in the order in which they come, and those that come
// while others are written together in one write. Its methods may be called at
// once.
type Sink struct {
	out    output
	follow func([]audit.Record)
	now    func() time.Time

	mu      sync.Mutex
	waiting *batch // the entries for the next write; nil when there are none

	writing sync.Mutex // held over each write; what is below belongs to its holder
	head    audit.Head
	torn    []byte // what the output has behind its last whole line, if anything
	feed    bool   // the last line is whole but for its line feed
	buf     []byte
	closed  bool
}

// output is where lines go.
type output interface {
	io.Writer
	// prepare makes room for so many bytes, which may mean another file.
	prepare(size int, now time.Time) error
	// commit is told where the chain ends after a write.
	commit(head audit.Head) error
	io.Closer
}

// batch is what is written by one write.
type batch struct {
	entries []audit.Entry
	first   [1]audit.Entry
	done    chan struct{} // nil while nobody but the writer waits
	err     error
}

var (
	errClosed   = errors.New("audit: the sink is closed")
	errPanicked = errors.New("audit: the write panicked")
)

// Write writes e. When it returns without an error the line is written. After
// an error it may be written or not.
func (s *Sink) Write(e audit.Entry) error {
	s.mu.Lock()
	if b := s.waiting; b != nil {
		b.entries = append(b.entries, e)
		if b.done == nil {
			b.done = make(chan struct{})
		}
		s.mu.Unlock()
		<-b.done
		return b.err
	}
	b := &batch{first: [1]audit.Entry{e}}
	b.entries = b.first[:]
	s.waiting = b
	s.mu.Unlock()
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	s.waiting = nil // From here on b is this goroutine's.
	s.mu.Unlock()
	if b.done != nil {
		defer close(b.done)
	}
	b.err = errPanicked // What those who wait have, unless commit returns.
	b.err = s.commit(b.entries)
	return b.err
}

// Close ends the sink. Later writes fail.
func (s *Sink) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.out.Close()
}

// commit writes entries in one write.
func (s *Sink) commit(entries []audit.Entry) error {
	if s.closed {
		return errClosed
	}
	head, records := s.encode(entries)
	if len(s.torn) == 0 && !s.feed { // The mark has to follow what it marks, in one file.
		if err := s.out.prepare(len(s.buf), s.now()); err != nil {
			return fmt.Errorf("audit: %w", err)
		}
	}
	n, err := s.out.Write(s.buf)
	if err != nil || n < len(s.buf) {
		s.broken(s.buf[:n])
		records = slices.DeleteFunc(records, func(r audit.Record) bool { return r.Seq > s.head.Seq })
		err = fmt.Errorf("audit: write: %w", cmp.Or(err, io.ErrShortWrite))
	} else {
		s.head, s.torn, s.feed = head, nil, false
		err = s.out.commit(head)
	}
	if s.follow != nil && len(records) > 0 {
		s.follow(records)
	}
	return err
}

// encode fills the buffer with the lines of entries, after the mark of a torn
// line where one is to be marked.
func (s *Sink) encode(entries []audit.Entry) (audit.Head, []audit.Record) {
	head := s.head
	s.buf = s.buf[:0]
	if cap(s.buf) > maxKept {
		s.buf = nil
	}
	if s.feed {
		s.buf = append(s.buf, '\n')
	}
	if len(s.torn) > 0 {
		s.buf = append(s.buf, '\n')
		s.buf = head.AppendTorn(s.buf, audit.TornPart(s.torn))
	}
	var records []audit.Record
	for _, e := range entries {
		prev := head.Hash
		s.buf = head.Append(s.buf, e)
		if s.follow != nil {
			records = append(records, audit.Record{Head: head, Prev: prev, Entry: e.Bounded()})
		}
	}
	return head, records
}

// maxKept is the largest buffer that is used again, in bytes.
const maxKept = 1 << 20

// broken notes what a failed write left behind: whole lines, which now belong
// to the chain, and after them a part of a line.
func (s *Sink) broken(written []byte) {
	if len(written) == 0 {
		return
	}
	if s.feed {
		written, s.feed = written[1:], false
	}
	whole := 0
	for at := 0; ; {
		length := bytes.IndexByte(written[at:], '\n')
		if length < 0 {
			break
		}
		if r, err := audit.ParseLine(written[at : at+length]); err == nil {
			s.head, whole = r.Head, at+length+1
		}
		at += length + 1
	}
	last := bytes.LastIndexByte(written, '\n') + 1
	if r, err := audit.ParseLine(written[last:]); err == nil {
		s.head, s.torn, s.feed = r.Head, nil, true
		return
	}
	if whole > 0 {
		s.torn = nil
	}
	s.torn = append(s.torn, written[whole:]...)
}
