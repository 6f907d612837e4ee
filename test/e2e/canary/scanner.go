// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Finding says that a canary is in a place, and in which form.
type Finding struct {
	Canary string
	Place  string
	Form   string
}

// String implements fmt.Stringer.
func (f Finding) String() string { return fmt.Sprintf("%s in %s, %s", f.Canary, f.Place, f.Form) }

// prefixLength is how many bytes of a search text select it.
const prefixLength = 4

// chunkSize is how much is read at a time: little beside the machine's memory
// and much beside the longest search text, which chunks overlap by.
const chunkSize = 1 << 20

// needle is a form of a canary to be searched for.
type needle struct {
	canary string
	form   form
}

// Scanner searches places for canaries. It is not safe for concurrent use.
type Scanner struct {
	// byPrefix are the needles by their first bytes, and starts tells quickly
	// which two bytes begin none of them.
	byPrefix map[[prefixLength]byte][]needle
	starts   [1 << 16]bool
	longest  int

	found   map[Finding]bool
	scanned map[string]int64
	buffer  []byte
}

// NewScanner returns a scanner for the canaries.
func NewScanner(canaries ...Canary) *Scanner {
	s := &Scanner{
		byPrefix: map[[prefixLength]byte][]needle{},
		found:    map[Finding]bool{},
		scanned:  map[string]int64{},
	}
	for _, c := range canaries {
		for _, f := range c.forms {
			prefix := [prefixLength]byte([]byte(f.text))
			s.byPrefix[prefix] = append(s.byPrefix[prefix], needle{c.name, f})
			s.starts[pair(f.text[0], f.text[1])] = true
			s.longest = max(s.longest, len(f.text))
		}
	}
	s.buffer = make([]byte, chunkSize+s.longest)
	return s
}

func pair(a, b byte) uint16 { return uint16(a)<<8 | uint16(b) }

// Scan searches what r has. kind is what Scanned counts it under.
func (s *Scanner) Scan(kind, place string, r io.Reader) error {
	kept := 0
	for {
		n, err := io.ReadFull(r, s.buffer[kept:])
		s.scanned[kind] += int64(n)
		content := s.buffer[:kept+n]
		s.search(kind+" "+place, content)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("scan %s %s: %w", kind, place, err)
		}
		// What may have begun at the end of this chunk ends in the next one.
		kept = copy(s.buffer, content[len(content)-(s.longest-1):])
	}
}

// ScanBytes searches the content.
func (s *Scanner) ScanBytes(kind, place string, content []byte) {
	s.scanned[kind] += int64(len(content))
	s.search(kind+" "+place, content)
}

func (s *Scanner) search(place string, content []byte) {
	for i := 0; i+prefixLength <= len(content); i++ {
		if !s.starts[pair(content[i], content[i+1])] {
			continue
		}
		for _, n := range s.byPrefix[[prefixLength]byte(content[i:])] {
			if len(content)-i >= len(n.form.text) && string(content[i:i+len(n.form.text)]) == n.form.text {
				s.found[Finding{n.canary, place, n.form.name}] = true
			}
		}
	}
}

// Findings returns what was found, in order and each once.
func (s *Scanner) Findings() []Finding {
	var all []Finding
	for f := range s.found {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Canary, b.Canary), strings.Compare(a.Place, b.Place), strings.Compare(a.Form, b.Form))
	})
	return all
}

// Scanned returns how many bytes of each kind of place were searched.
func (s *Scanner) Scanned() map[string]int64 { return s.scanned }
