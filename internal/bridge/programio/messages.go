// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

// errTooLong is the error for a message, or a line that may be a message, that is too long to read
// to its end.
var errTooLong = errors.New("sent a message of more than 256 MiB")

// passedOver replaces a line that is too large and answers no request.
const passedOver = "(a line of more than 16 MiB)"

// framing is how a program separates its messages.
type framing int

const (
	// undecided means that the first message will decide.
	undecided framing = iota
	// newlines end each message, as in the MCP specification.
	newlines
	// headers precede each message, as in the Language Server Protocol and some MCP servers.
	headers
)

// maxHeaders limits the header lines of one message.
const maxHeaders = 8

// messages reads a program's messages. It also returns other lines of the output; the caller
// separates them.
type messages struct {
	r       *bufio.Reader
	max     int // maximum bytes of an accepted message
	most    int // maximum bytes of a message that is read to its end
	framing framing
	ahead   []byte // a line that was read ahead
}

func newMessages(r io.Reader, limit int) *messages {
	return &messages{r: bufio.NewReaderSize(r, 64<<10), max: limit, most: 16 * limit}
}

// next returns the next line or framed message that is not empty, and whether it had headers.
// White space around a line is removed. Instead of an answer that is too large, it returns an
// error for the request that it answers.
func (m *messages) next() (text []byte, framed bool, err error) {
	for {
		line, err := m.line()
		if err != nil {
			return nil, false, err
		}
		if m.framing != newlines {
			if length, ok := headerLength(line); ok {
				if text, err := m.framed(length); text != nil || err != nil {
					return text, true, err
				}
				continue
			}
		}
		if len(line) > 0 {
			return line, false, nil
		}
	}
}

// line reads up to the next line feed. The last line may lack it.
func (m *messages) line() ([]byte, error) {
	if line := m.ahead; line != nil {
		m.ahead = nil
		return line, nil
	}
	var line []byte
	for {
		piece, err := m.r.ReadSlice('\n')
		line = append(line, piece...)
		if len(line) > m.max+len("\r\n") {
			return m.rest(line, err)
		}
		switch {
		case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
			return bytes.TrimSpace(line), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// rest reads the rest of a line that is too large. begun is its beginning, and err is the result
// of reading it.
func (m *messages) rest(begun []byte, err error) ([]byte, error) {
	large, total := &rpc.Oversize{}, 0
	for piece := begun; ; piece, err = m.r.ReadSlice('\n') {
		_, _ = large.Write(piece)
		if total += len(piece); total > m.most {
			return nil, errTooLong
		}
		switch {
		case err == nil, errors.Is(err, io.EOF):
			return instead(large), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// instead returns the replacement of a message that is too large.
func instead(large *rpc.Oversize) []byte {
	if answer := large.Answer(rpc.MaxAnswer); answer != nil {
		return answer
	}
	return []byte(passedOver)
}

// headerPattern matches a header line of any name. JSON never matches.
var headerPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z-]{0,63}: ?[^{]`)

// headerLength parses a header line that can start a message. The length is negative for other
// headers than Content-Length.
func headerLength(line []byte) (length int, ok bool) {
	name, value, ok := strings.Cut(string(line[:min(len(line), 256)]), ":")
	switch {
	case !ok:
		return 0, false
	case strings.EqualFold(name, "Content-Type"):
		return -1, true
	case !strings.EqualFold(name, "Content-Length"):
		return 0, false
	}
	length, err := strconv.Atoi(strings.TrimSpace(value))
	return length, err == nil && length >= 0
}

// framed reads the rest of the headers and the message. It returns nil if they were not the
// headers of a message.
func (m *messages) framed(length int) ([]byte, error) {
	for range maxHeaders {
		line, err := m.line()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			return m.body(length)
		}
		n, ok := headerLength(line)
		switch {
		case ok && n >= 0:
			length = n
		case !ok && !headerPattern.Match(line):
			m.ahead = line
			return nil, nil
		}
	}
	return nil, nil
}

func (m *messages) body(length int) ([]byte, error) {
	if length < 0 {
		return nil, nil
	}
	// A program may log the headers of an HTTP answer; then no message follows.
	if first, err := m.r.Peek(1); err != nil || length == 0 || first[0] != '{' && first[0] != '[' {
		return nil, err
	}
	if length > m.most {
		return nil, errTooLong
	}
	if length > m.max {
		large := &rpc.Oversize{}
		if _, err := io.CopyN(large, m.r, int64(length)); err != nil {
			return nil, err
		}
		return instead(large), nil
	}
	// The buffer grows with the received data, not with the announced length.
	var text bytes.Buffer
	if _, err := io.CopyN(&text, m.r, int64(length)); err != nil {
		return nil, err // An incomplete message at the end is dropped.
	}
	return text.Bytes(), nil
}

// decide fixes the framing of the first message for all others.
func (m *messages) decide(framed bool) {
	switch {
	case m.framing != undecided:
	case framed:
		m.framing = headers
	default:
		m.framing = newlines
	}
}
