// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// maxTorn is how much at the end of a file may be no line, in bytes: what one
// write leaves, which is a line for each of the calls that end at once. With
// more it is somebody else's file.
const maxTorn = 4 << 20

// end is where a trail ends.
type end struct {
	head audit.Head
	torn []byte // what stands behind the last whole line
	feed bool   // that line lacks its line feed
}

// end returns where the trail ends: by its last line, or where the chain was
// longer than the lines that are there, by its head. Then the next line leaves
// the gap to be seen.
func (f *file) end() (end, error) {
	e, found, err := endOf(f.file)
	if err != nil {
		return end{}, err
	}
	if !found {
		full, err := rotated(f.config.Path)
		if err != nil {
			return end{}, err
		}
		if e.head, found, err = lastOf(full); err != nil {
			return end{}, err
		}
	}
	noted, ok := f.readHead()
	switch {
	case ok && (!found || noted.Writer != e.head.Writer || noted.Seq > e.head.Seq):
		e.head = noted
	case !found:
		e.head = audit.NewChain(newWriter())
	}
	return e, nil
}

// readHead returns the end of the chain as it was last written down.
func (f *file) readHead() (audit.Head, bool) {
	b := make([]byte, headSize)
	n, err := f.head.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return audit.Head{}, false
	}
	return parseHead(b[:n])
}

func parseHead(b []byte) (audit.Head, bool) {
	var head audit.Head
	if json.Unmarshal(b, &head) != nil || !head.Valid() {
		return audit.Head{}, false
	}
	return head, true
}

// EndOf returns where the chain of the trail at path ended when it was last
// written to, if that is known.
func EndOf(path string) (audit.Head, bool, error) {
	b, err := os.ReadFile(path + headSuffix)
	if errors.Is(err, os.ErrNotExist) {
		return audit.Head{}, false, nil
	}
	if err != nil {
		return audit.Head{}, false, fmt.Errorf("read the end of the audit chain: %w", err)
	}
	head, ok := parseHead(b)
	return head, ok, nil
}

// lastOf returns the end of the newest of these files that has a line.
func lastOf(files []string) (audit.Head, bool, error) {
	for _, name := range slices.Backward(files) {
		f, err := os.Open(name)
		if err != nil {
			return audit.Head{}, false, fmt.Errorf("read audit file: %w", err)
		}
		e, found, err := endOf(f)
		if err = errors.Join(err, f.Close()); err != nil || found {
			return e.head, found, err
		}
	}
	return audit.Head{}, false, nil
}

// endOf returns the last whole line of f and what is behind it.
func endOf(f *os.File) (end, bool, error) {
	info, err := f.Stat()
	if err != nil {
		return end{}, false, fmt.Errorf("read audit file: %w", err)
	}
	tail := make([]byte, min(info.Size(), maxTorn+audit.MaxLine))
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return end{}, false, fmt.Errorf("read audit file: %w", err)
	}
	if r, err := audit.ParseLine(tail[bytes.LastIndexByte(tail, '\n')+1:]); err == nil {
		return end{head: r.Head, feed: true}, true, nil
	}
	torn := tail
	for whole := tail; ; {
		last := bytes.LastIndexByte(whole, '\n')
		if last < 0 {
			break
		}
		begin := bytes.LastIndexByte(whole[:last], '\n') + 1
		if r, err := audit.ParseLine(whole[begin:last]); err == nil {
			return end{head: r.Head, torn: bytes.Clone(tail[last+1:])}, true, nil
		}
		whole = whole[:begin]
	}
	if len(torn) > maxTorn {
		return end{}, false, fmt.Errorf("%s is no audit trail: its end has no line of one", f.Name())
	}
	return end{torn: bytes.Clone(torn)}, false, nil
}

// firstRecord returns the first line of f, if it is an entry.
func firstRecord(f *os.File) (audit.Record, bool) {
	r := bufio.NewReaderSize(io.NewSectionReader(f, 0, audit.MaxLine+1), audit.MaxLine+1)
	line, err := r.ReadSlice('\n')
	if err != nil {
		return audit.Record{}, false
	}
	record, err := audit.ParseLine(line[:len(line)-1])
	return record, err == nil && record.Torn == nil
}
