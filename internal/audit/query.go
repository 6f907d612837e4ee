// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// The bounds of a page, in entries: what fits a screen several times, and what
// is some MiB at the most.
const (
	DefaultPage = 100
	MaxPage     = 1000
)

// Query asks an index for entries, the newest first. Fields that are empty ask
// for all.
type Query struct {
	UserID string
	// BridgeUID asks for entries of this HostedBridge alone, and not of an earlier one of
	// the same user id.
	BridgeUID string
	Server    string
	Tool      string
	Status    Status
	// NoViews leaves out what administrators looked at: acts that changed nothing.
	NoViews bool
	// From and To bound the time of the entries: From is the earliest that
	// belongs to it, To the first that does not any more.
	From, To time.Time
	// Before is where the page before ended, nil for the first one.
	Before *Position
	// Limit is how many entries a page has at most, from 1 to MaxPage.
	Limit int
	// Lines asks for Page.Lines too.
	Lines bool
}

// Page is an answer to a Query.
type Page struct {
	Entries []Entry
	// Next is what Before must be for the next page, nil on the last one.
	Next *Position
	// Lag is for how long the index has lacked the oldest entry that it should
	// have, 0 when it has all.
	Lag time.Duration
	// Shared reports whether all replicas of the ingress fill the index, and
	// not only the one that answers.
	Shared bool
	// Lines are nil if they were not asked for, or are more than MaxLines.
	Lines *Lines
}

// Lines are those of the trail from the first to the last entry of a page, of each chain by
// itself. Lines are numbered without gaps, so that an index knows how many there were. It
// keeps no hashes: whether a line was changed is for Verifier to say.
type Lines struct {
	Count int64 `json:"count"`
	// Missing is how many of them the index does not have: those that are kept no longer,
	// marks of torn lines, and those that it never got.
	Missing int64 `json:"missing"`
}

// MaxLines is how many lines are counted for one page, which takes some milliseconds.
const MaxLines = 100_000

// Position is an entry's place in the order of pages: by time, and where that
// is equal, by its line. It stays the same whatever is added, so that pages
// neither skip nor repeat what was there when the first one was asked for.
type Position struct {
	TimeMS int64 // Unix milliseconds.
	Writer string
	Seq    uint64
}

// Position returns the record's place.
func (r Record) Position() Position {
	return Position{TimeMS: r.Entry.Time.UnixMilli(), Writer: r.Writer, Seq: r.Seq}
}

// Cursor returns p in a form for URLs. What it is made of is nobody's business.
func (p Position) Cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.TimeMS, 10) + "." + strconv.FormatUint(p.Seq, 10) + "." + p.Writer))
}

// ErrCursor says that a cursor is invalid.
var ErrCursor = errors.New("this is no cursor that a page has given")

// maxCursor is more than any cursor has, in bytes.
const maxCursor = 256

// ParseCursor reads what Cursor gives, and nothing else.
func ParseCursor(s string) (Position, error) {
	if len(s) > maxCursor {
		return Position{}, ErrCursor
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return Position{}, ErrCursor
	}
	ms, rest, _ := strings.Cut(string(b), ".")
	seq, writer, _ := strings.Cut(rest, ".")
	p := Position{Writer: writer}
	var err2 error
	p.TimeMS, err = strconv.ParseInt(ms, 10, 64)
	p.Seq, err2 = strconv.ParseUint(seq, 10, 63)
	if err != nil || err2 != nil || writer == "" || !validName(writer) || p.Cursor() != s {
		return Position{}, ErrCursor
	}
	return p, nil
}
