// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Finding is one thing that is wrong with a trail.
type Finding struct {
	// Line is where, counted from 1 in the one reader.
	Line    int
	Message string
}

// String returns the finding as one line.
func (f Finding) String() string { return fmt.Sprintf("line %d: %s", f.Line, f.Message) }

// maxFindings bounds what is kept of a trail that is wrong throughout.
const maxFindings = 100

// maxGap bounds what is kept of what is no line, in bytes: more than one write
// of a sink leaves.
const maxGap = 16 << 20

// Verifier follows the chains in one trail, over the files in which it is, the
// oldest first.
type Verifier struct {
	// Mixed passes over lines that are not of a trail, as where standard output
	// is collected together with a log.
	Mixed bool
	// Findings are what is wrong in what was read last, the first hundred.
	Findings []Finding
	// Unfinished is the number of the last line of what was read last, if it
	// has no end, else 0. A process that is killed while it writes leaves one,
	// until the next process marks it.
	Unfinished int
	// Lines counts the whole lines of the trail in all that was read, Torn the
	// marked remains of writes that broke off among them.
	Lines, Torn int
	// Begins are the first lines of chains whose beginning was not read: it is
	// in files that are gone, or are not given.
	Begins []Head

	heads map[string]Head // where the chains end, by writer

	line int
	// gap is what was read behind the last whole line, which is an error unless
	// a mark follows.
	gap     []byte
	gapLine int
	gapFull bool
}

// Read follows the lines of r. It returns an error if r cannot be read; what is
// wrong with the trail is in Findings and Unfinished.
func (v *Verifier) Read(r io.Reader) error {
	v.Findings, v.Unfinished, v.line, v.gap, v.gapFull = nil, 0, 0, nil, false
	if v.heads == nil {
		v.heads = map[string]Head{}
	}
	b := bufio.NewReaderSize(r, MaxLine)
	for {
		torn, err := v.next(b)
		if errors.Is(err, io.EOF) {
			v.closeGap(torn)
			return nil
		}
		if err != nil {
			return fmt.Errorf("read audit trail: %w", err)
		}
	}
}

// next takes the next line, and reports whether it is one without its end.
func (v *Verifier) next(b *bufio.Reader) (torn bool, err error) {
	line, err := b.ReadSlice('\n')
	whole := err == nil
	if len(line) > 0 {
		v.line++
	}
	ours := !v.Mixed || bytes.HasPrefix(line, []byte(LinePrefix))
	if ours && len(line) > 0 {
		v.take(line, whole)
	}
	for errors.Is(err, bufio.ErrBufferFull) { // The rest of a line that is not of this trail.
		line, err = b.ReadSlice('\n')
		if ours {
			v.addGap(line)
		}
	}
	return !whole && len(line) > 0, err
}

// take reads one line, with its line feed if it is whole.
func (v *Verifier) take(line []byte, whole bool) {
	text := bytes.TrimSuffix(line, []byte("\n"))
	record, err := ParseLine(text)
	if err != nil || !whole {
		if len(v.gap) == 0 {
			v.gapLine = v.line
		}
		v.addGap(line)
		return
	}
	v.Lines++
	switch {
	case record.Torn == nil:
		v.closeGap(false)
	case v.gapFull || TornPart(bytes.TrimSuffix(v.gap, []byte("\n"))) != *record.Torn:
		v.closeGap(false)
		v.find(v.line, "the line marks the remains of a write that broke off, and other ones or none are before it")
	default:
		v.gap = nil
		v.Torn++
	}
	v.follow(record)
}

// follow ties a line to the one before it in its chain.
func (v *Verifier) follow(r Record) {
	last, known := v.heads[r.Writer]
	if !known {
		v.begin(r)
		return
	}
	switch {
	case r.Seq == last.Seq+1 && r.Prev != last.Hash:
		v.find(v.line, "the line before was changed: it is not the one that this line follows (number %d of %s)", r.Seq, r.Writer)
	case r.Seq > last.Seq+1:
		v.find(v.line, "%d lines are missing before this one (number %d of %s follows %d)", r.Seq-last.Seq-1, r.Seq, r.Writer, last.Seq)
	case r.Seq <= last.Seq:
		v.find(v.line, "the line stands in the wrong place or twice (number %d of %s follows %d)", r.Seq, r.Writer, last.Seq)
		return
	}
	v.heads[r.Writer] = r.Head
}

// begin takes the first line that is read of a chain.
func (v *Verifier) begin(r Record) {
	switch {
	case r.Seq != 1:
		v.Begins = append(v.Begins, r.Head)
	case r.Prev != zeroHash:
		v.find(v.line, "the line says that it is the first of its chain and names one before it")
	}
	v.heads[r.Writer] = r.Head
}

// End checks that the chain of head was read at least as far as head, and says
// how many lines are missing at its end if not. It is nil for a chain that goes
// on behind head.
func (v *Verifier) End(head Head) error {
	last, known := v.heads[head.Writer]
	switch {
	case !known && head.Seq == 0:
		return nil
	case !known:
		return fmt.Errorf("the end was cut off: the chain of %s had %d lines, and none is there", head.Writer, head.Seq)
	case last.Seq < head.Seq:
		return fmt.Errorf("the end was cut off: the chain of %s had %d lines, and the last one is number %d", head.Writer, head.Seq, last.Seq)
	case last.Seq == head.Seq && last.Hash != head.Hash:
		return fmt.Errorf("the last line of %s was another one", head.Writer)
	}
	return nil
}

// Heads returns where the chains end that were read, by name.
func (v *Verifier) Heads() []Head {
	var heads []Head
	for _, h := range v.heads {
		heads = append(heads, h)
	}
	slices.SortFunc(heads, func(a, b Head) int { return strings.Compare(a.Writer, b.Writer) })
	return heads
}

func (v *Verifier) addGap(part []byte) {
	if len(v.gap)+len(part) > maxGap {
		v.gapFull = true
		return
	}
	v.gap = append(v.gap, part...)
}

// closeGap reports what is in the gap. Unfinished says that it ends without a
// line feed.
func (v *Verifier) closeGap(unfinished bool) {
	if len(v.gap) == 0 {
		return
	}
	first, _, more := bytes.Cut(v.gap, []byte("\n"))
	if _, err := ParseLine(first); unfinished && !more {
		v.Unfinished = v.gapLine
	} else if err != nil {
		v.find(v.gapLine, "%v", err)
	} else {
		v.find(v.gapLine, "the line has no end")
	}
	v.gap, v.gapFull = nil, false
}

func (v *Verifier) find(line int, format string, args ...any) {
	if len(v.Findings) < maxFindings {
		v.Findings = append(v.Findings, Finding{line, fmt.Sprintf(format, args...)})
	}
}
