// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package h1

import (
	"bytes"
	"net/http"
	"strconv"
)

const (
	// maxHeader bounds the header that a peer makes us read, in bytes.
	maxHeader = 64 << 10
	// maxFields is many times what a bridge sends; each costs more to look at
	// than its bytes to read.
	maxFields = 128
	// maxInterim is how many answers before the answer are passed over; it is
	// what net/http takes.
	maxInterim = 5
	// maxLengthDigits keeps a length within 10^15 bytes, and so within int64.
	maxLengthDigits = 15
)

// lengthChunked and lengthNone stand in head.length where no length was told.
const (
	lengthChunked = -1
	lengthNone    = -2
)

// head is an answer's header, as far as it matters here.
type head struct {
	status int
	header http.Header
	// length of the body in bytes, or lengthChunked.
	length int64
	// closes is whether the peer uses the connection no more.
	closes bool
}

// readHead reads the header of the final answer. Of its fields those are kept
// whose canonical name is in keep; the others are checked and forgotten.
func (b *reader) readHead(keep map[string]string) (head, error) {
	for range maxInterim + 1 {
		h, err := b.readOneHead(keep)
		if err != nil {
			return head{}, err
		}
		if h.status >= http.StatusOK {
			return h, h.settle()
		}
		if h.status == http.StatusSwitchingProtocols || h.length != lengthNone {
			return head{}, errUnsupported
		}
	}
	return head{}, errMalformed
}

func (b *reader) readOneHead(keep map[string]string) (head, error) {
	h := head{length: lengthNone}
	budget := maxHeader
	line, err := b.line(&budget)
	if err != nil {
		return h, err
	}
	if h.status, err = statusOf(line); err != nil {
		return h, err
	}
	h.header = make(http.Header, len(keep))
	return h, b.readFields(&budget, func(name, value []byte) error {
		if err := h.frame(name, value); err != nil {
			return err
		}
		keepField(h.header, keep, name, value)
		return nil
	})
}

// statusOf reads a status line. Bridges speak HTTP/1.1: what an older version
// means by its lengths and connections is not guessed.
func statusOf(line []byte) (int, error) {
	const version = "HTTP/1.1 "
	rest, ok := bytes.CutPrefix(line, []byte(version))
	if !ok || len(rest) < 3 || len(rest) > 3 && rest[3] != ' ' || !validValue(rest) {
		return 0, errMalformed
	}
	status := 0
	for _, c := range rest[:3] {
		if c < '0' || c > '9' {
			return 0, errMalformed
		}
		status = status*10 + int(c-'0')
	}
	if status < 100 {
		return 0, errMalformed
	}
	return status, nil
}

// frame takes from a field what it says of the answer's end. Whatever could be
// read in two ways is refused.
func (h *head) frame(name, value []byte) error {
	switch string(name) {
	case "Content-Length":
		n, err := lengthOf(value)
		if err != nil || h.length != lengthNone {
			return errFraming
		}
		h.length = n
	case "Transfer-Encoding":
		if h.length != lengthNone || !bytes.EqualFold(value, []byte("chunked")) {
			return errFraming
		}
		h.length = lengthChunked
	case "Connection":
		switch {
		case bytes.EqualFold(value, []byte("close")):
			h.closes = true
		case !bytes.EqualFold(value, []byte("keep-alive")):
			return errUnsupported
		}
	case "Upgrade":
		return errUnsupported
	}
	return nil
}

func lengthOf(value []byte) (int64, error) {
	if len(value) == 0 || len(value) > maxLengthDigits {
		return 0, errFraming
	}
	var n int64
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, errFraming
		}
		n = n*10 + int64(c-'0')
	}
	return n, nil
}

// settle makes the length that of the body. An answer that has no body by its
// status may tell the length of another one's, and must not be chunked.
func (h *head) settle() error {
	switch h.status {
	case http.StatusNoContent, http.StatusNotModified:
		if h.length == lengthChunked || h.status == http.StatusNoContent && h.length > 0 {
			return errFraming
		}
		h.length = 0
		delete(h.header, "Content-Length")
	default:
		if h.length == lengthNone {
			return errFraming
		}
	}
	return nil
}

// readFields calls take for each field up to the empty line.
func (b *reader) readFields(budget *int, take func(name, value []byte) error) error {
	for range maxFields {
		line, err := b.line(budget)
		if err != nil {
			return err
		}
		if len(line) == 0 {
			return nil
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		// A name with a space behind it, and a line that continues the one
		// before, are where readers disagree.
		if !ok || !canonicalize(name) {
			return errMalformed
		}
		if value = bytes.Trim(value, " \t"); !validValue(value) {
			return errMalformed
		}
		if err := take(name, value); err != nil {
			return err
		}
	}
	return errTooLong
}

// canonicalize writes name the way http.Header has it, in place, and reports
// whether it is a name at all.
func canonicalize(name []byte) bool {
	upper := true
	for i, c := range name {
		if !isToken(c) {
			return false
		}
		if upper && 'a' <= c && c <= 'z' {
			name[i] = c - 'a' + 'A'
		} else if !upper && 'A' <= c && c <= 'Z' {
			name[i] = c - 'A' + 'a'
		}
		upper = c == '-'
	}
	return len(name) > 0
}

// tokens are the bytes of a token of RFC 9110 that are no letters or digits.
const tokens = "!#$%&'*+-.^_`|~"

var tokenBytes = func() (t [256]bool) {
	for c := range 256 {
		t[c] = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || bytes.IndexByte([]byte(tokens), byte(c)) >= 0
	}
	return t
}()

func isToken(c byte) bool { return tokenBytes[c] }

// validValue reports whether value has no control byte but tabs.
func validValue(value []byte) bool {
	for _, c := range value {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func keepField(to http.Header, keep map[string]string, name, value []byte) {
	if canonical, ok := keep[string(name)]; ok {
		to[canonical] = append(to[canonical], textOf(value))
	}
}

// textOf returns value as a string, without a copy of the common ones.
func textOf(value []byte) string {
	switch string(value) {
	case "application/json":
		return "application/json"
	case "text/event-stream":
		return "text/event-stream"
	case "no-store":
		return "no-store"
	}
	return string(value)
}

// AppendField adds a line of a request's header to b. A value that could end
// the line before its end is left out; net/http lets none of them in.
func AppendField(b []byte, name, value string) []byte {
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return b
		}
	}
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, "\r\n"...)
}

func appendLength(b []byte, n int) []byte {
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, "\r\n"...)
}
