// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// MaxLine is more than any line of the trail has, in bytes. A full entry has
// about 5 KiB.
const MaxLine = 16 << 10

// Head is where a chain of lines ends.
type Head struct {
	// Writer names the chain. Each file, and each process that writes to its
	// standard output, has one.
	Writer string `json:"writer"`
	// Seq counts the lines of the chain, from 1.
	Seq uint64 `json:"seq"`
	// Hash is the last line's, in hexadecimal; that of no line is all zeros.
	Hash string `json:"hash"`
}

// zeroHash is what the first line follows.
var zeroHash = strings.Repeat("0", 2*sha256.Size)

// NewChain returns the head of a chain without lines.
func NewChain(writer string) Head { return Head{Writer: writer, Hash: zeroHash} }

// link is what ties a line to the one before it.
type link struct {
	Writer string `json:"writer"`
	Seq    uint64 `json:"seq"`
	Prev   string `json:"prev"`
}

// Torn says that before it stands what is no line, because a write broke off,
// and what exactly: all between the last whole line and the line feed before
// the mark.
type Torn struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// TornPart returns the mark of part.
func TornPart(part []byte) Torn { return Torn{Bytes: int64(len(part)), SHA256: hashOf(part)} }

// Record is a line of the trail: an entry, or the mark of a torn line.
type Record struct {
	// Head is the chain's end after this line.
	Head
	// Prev is the hash of the line before.
	Prev string
	// Torn is nil for an entry.
	Torn  *Torn
	Entry Entry
}

// Append appends the line of an entry to buf, its line feed included, and moves
// the head behind it.
func (h *Head) Append(buf []byte, e Entry) []byte {
	e = e.Bounded()
	begin := len(buf)
	return h.end(line(buf).link(h).entry(&e), begin)
}

// AppendTorn appends the line that marks the one before as torn.
func (h *Head) AppendTorn(buf []byte, t Torn) []byte {
	begin := len(buf)
	b := append(line(buf).link(h).name("torn"), '{')
	return h.end(append(b.number("bytes", t.Bytes).text("sha256", t.SHA256), '}'), begin)
}

// end ends the line that begins at begin, and whose members are all there but
// the hash.
func (h *Head) end(buf []byte, begin int) []byte {
	buf = append(buf, '}')
	h.Seq, h.Hash = h.Seq+1, hashOf(buf[begin:])
	buf = append(buf[:len(buf)-1], hashMember...)
	buf = append(buf, h.Hash...)
	return append(buf, '"', '}', '\n')
}

// hashMember begins the last member of a line. The hash is that of the object
// without this member.
const hashMember = `,"hash":"`

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hexOf(sum[:])
}

// hexOf returns a hash in hexadecimal.
func hexOf(sum []byte) string {
	var digits [2 * sha256.Size]byte
	return string(digits[:hex.Encode(digits[:], sum)])
}

// LinePrefix begins every line of the trail.
const LinePrefix = `{"writer":"`

// ParseLine reads a line of the trail, without its line feed. It takes nothing
// but what Append and AppendTorn write, byte by byte, and checks the line's own
// hash. Its errors repeat nothing of the line.
func ParseLine(line []byte) (Record, error) {
	if len(line) > MaxLine {
		return Record{}, errors.New("the line is too long")
	}
	end := len(line) - len(`"}`) - 2*sha256.Size
	object, member, ok := cutHash(line, end)
	if !ok || !bytes.HasPrefix(line, []byte(LinePrefix)) {
		return Record{}, errors.New("this is no line of an audit trail")
	}
	if hashOf(object) != member {
		return Record{}, errors.New("the line was changed: its hash is another one")
	}
	r, again, err := decodeLine(object)
	if err != nil {
		return Record{}, err
	}
	if !bytes.Equal(again, line) {
		return Record{}, errors.New("the line is not in the form in which lines are written")
	}
	return r, nil
}

// cutHash returns the object that the hash is of, and the hash, which begins at
// end.
func cutHash(line []byte, end int) (object []byte, hash string, ok bool) {
	begin := end - len(hashMember)
	if begin < 0 || string(line[begin:end]) != hashMember || !bytes.HasSuffix(line, []byte(`"}`)) {
		return nil, "", false
	}
	object = append(append(make([]byte, 0, begin+1), line[:begin]...), '}')
	return object, string(line[end : len(line)-len(`"}`)]), true
}

// decodeLine returns what the object says, and the line that Append would make
// of it.
func decodeLine(object []byte) (Record, []byte, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	d.DisallowUnknownFields()
	var line struct {
		link
		Torn *Torn `json:"torn"`
		Entry
	}
	if d.Decode(&line) != nil {
		return Record{}, nil, errors.New("the line is not in the form in which lines are written")
	}
	if line.Seq == 0 {
		return Record{}, nil, errors.New("the line has no number")
	}
	r := Record{Prev: line.Prev, Torn: line.Torn, Entry: line.Entry}
	r.Head = Head{Writer: line.Writer, Seq: line.Seq - 1, Hash: line.Prev}
	if r.Torn != nil {
		again := r.AppendTorn(nil, *r.Torn)
		return r, again[:len(again)-1], nil
	}
	if err := r.Entry.validate(); err != nil {
		return Record{}, nil, fmt.Errorf("the line holds what no entry has: %w", err)
	}
	again := r.Append(nil, r.Entry)
	return r, again[:len(again)-1], nil
}

// Valid reports whether h can be where a chain ends.
func (h Head) Valid() bool {
	b, err := hex.DecodeString(h.Hash)
	return err == nil && len(b) == sha256.Size && h.Writer != "" && validName(h.Writer)
}
