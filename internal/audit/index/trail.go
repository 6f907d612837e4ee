// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// trail is the files of an audit trail, from which an index reads what it
// lacks.
type trail struct {
	// files returns the files, the oldest first and the one that is written to
	// last.
	files func() ([]string, error)
}

// gap is that a line does not follow the one that was read before it.
type gap struct{ at audit.Head }

// Error implements error.
func (g *gap) Error() string { return "a line of the audit trail is missing" }

// read hands over the records that progress says are lacking, in order and
// some at a time. It ends at the last whole line that was there. What is no
// line is passed over: whether the trail is as it should be is for verify to
// say. Where lines are missing it looks again, since the file that they are in
// may have got another name while it was about to be opened; those that are
// missing then are gone.
func (t *trail) read(ctx context.Context, progress func(writer string) (uint64, error), hand func([]audit.Record) error) error {
	for gone := (audit.Head{}); ; {
		err := t.readOnce(ctx, &reader{progress: progress, hand: hand, gone: gone})
		missing, ok := errors.AsType[*gap](err)
		if !ok {
			return err
		}
		gone = missing.at
	}
}

func (t *trail) readOnce(ctx context.Context, r *reader) error {
	files, err := t.files()
	if err != nil {
		return fmt.Errorf("read the audit trail: %w", err)
	}
	begin, err := firstLacking(files, r.progress)
	if err != nil {
		return err
	}
	for _, path := range files[begin:] {
		if err := r.file(ctx, path); err != nil {
			return err
		}
	}
	return r.flush()
}

// firstLacking returns the last file all before whose first line has been
// read: those before it need not be opened again.
func firstLacking(files []string, progress func(string) (uint64, error)) (int, error) {
	for i := len(files) - 1; i > 0; i-- {
		first, ok, err := firstRecord(files[i])
		if err != nil {
			return 0, err
		}
		if !ok {
			continue
		}
		seq, err := progress(first.Writer)
		if err != nil {
			return 0, err
		}
		if seq > 0 && first.Seq <= seq+1 {
			return i, nil
		}
	}
	return 0, nil
}

func firstRecord(path string) (r audit.Record, ok bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return r, false, nil // Removed since it was listed.
	}
	if err != nil {
		return r, false, fmt.Errorf("read the audit trail: %w", err)
	}
	defer f.Close()
	line, err := bufio.NewReaderSize(f, audit.MaxLine+1).ReadSlice('\n')
	if err != nil {
		return r, false, nil
	}
	r, err = audit.ParseLine(line[:len(line)-1])
	return r, err == nil, nil
}

// reader gathers records.
type reader struct {
	progress func(string) (uint64, error)
	hand     func([]audit.Record) error

	// gone is the line in front of which lines are missing for good.
	gone audit.Head

	gathered []audit.Record
	writer   string
	known    uint64 // up to which line of writer has been read
}

func (r *reader) file(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the audit trail: %w", err)
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 64<<10)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := wholeLine(lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the audit trail: %w", err)
		}
		record, err := audit.ParseLine(line)
		if err != nil {
			continue
		}
		if err := r.take(record); err != nil {
			return err
		}
	}
}

// wholeLine returns the next line without its line feed, empty for one that is
// longer than any of a trail. io.EOF is also that the last one is not whole.
func wholeLine(lines *bufio.Reader) ([]byte, error) {
	line, err := lines.ReadSlice('\n')
	tooLong := false
	for errors.Is(err, bufio.ErrBufferFull) {
		tooLong = true
		line, err = lines.ReadSlice('\n')
	}
	if err != nil {
		return nil, err
	}
	if tooLong {
		return nil, nil
	}
	return bytes.TrimSuffix(line, []byte("\n")), nil
}

func (r *reader) take(record audit.Record) error {
	if record.Writer != r.writer {
		known, err := r.progress(record.Writer)
		if err != nil {
			return err
		}
		r.writer, r.known = record.Writer, known
	}
	if record.Seq <= r.known {
		return nil
	}
	if record.Seq != r.known+1 && record.Head != r.gone {
		if err := r.flush(); err != nil {
			return err
		}
		return &gap{record.Head}
	}
	r.known = record.Seq
	r.gathered = append(r.gathered, record)
	if len(r.gathered) < batch {
		return nil
	}
	return r.flush()
}

func (r *reader) flush() error {
	if len(r.gathered) == 0 {
		return nil
	}
	err := r.hand(r.gathered)
	r.gathered = nil
	return err
}
