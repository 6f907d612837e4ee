// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/bridge/oversize"
)

// errTooLong is a message, or a line that might have become one, to whose end
// nobody reads.
var errTooLong = errors.New("sent a message of more than 256 MiB")

// passedOver stands for a line that is too large to be taken and answers nothing
// that was asked.
const passedOver = "(a line of more than 16 MiB)"

// framing is how a program separates its messages.
type framing int

const (
	// undecided takes the program's first message for how it goes on.
	undecided framing = iota
	// newlines end each message, as MCP has it.
	newlines
	// headers precede each message, as the Language Server Protocol has it and
	// some MCP servers too.
	headers
)

// maxHeaders bounds the header lines of one message.
const maxHeaders = 8

// messages reads a program's messages. What it writes between them is left to
// the caller, who tells messages from other lines.
type messages struct {
	r       *bufio.Reader
	max     int // bytes of a message that is taken
	most    int // bytes of one that is read to its end
	framing framing
	ahead   []byte // a line that was read to see what it is
}

func newMessages(r io.Reader, limit int) *messages {
	return &messages{r: bufio.NewReaderSize(r, 64<<10), max: limit, most: 16 * limit}
}

// next returns the next line or framed message that is not empty, and whether
// headers preceded it. A line loses the white space around it. In place of an
// answer that is too large it returns an error for the request that it answers.
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

// line reads up to the next line feed. The last line needs none.
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

// rest reads the rest of a line that is too large, of which begun is the
// beginning and err how the last reading of it ended.
func (m *messages) rest(begun []byte, err error) ([]byte, error) {
	large, total := &oversize.Message{}, 0
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

// instead returns what takes the place of a message that is too large.
func instead(large *oversize.Message) []byte {
	if answer := large.Answer(); answer != nil {
		return answer
	}
	return []byte(passedOver)
}

// headerPattern is a header line of any name, which JSON never is.
var headerPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z-]{0,63}: ?[^{]`)

// headerLength reads a header line that can begin a message. The length is
// negative where the line is another header than Content-Length.
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

// framed reads the rest of the headers and the message. It returns nil where
// they turn out to be something else that looked like headers.
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
	// A program that logs the headers of an HTTP answer goes on with a line.
	if first, err := m.r.Peek(1); err != nil || length == 0 || first[0] != '{' && first[0] != '[' {
		return nil, err
	}
	if length > m.most {
		return nil, errTooLong
	}
	if length > m.max {
		large := &oversize.Message{}
		if _, err := io.CopyN(large, m.r, int64(length)); err != nil {
			return nil, err
		}
		return instead(large), nil
	}
	// The buffer grows with what comes, not with what is announced.
	var text bytes.Buffer
	if _, err := io.CopyN(&text, m.r, int64(length)); err != nil {
		return nil, err // Half a message at the end is none.
	}
	return text.Bytes(), nil
}

// decide keeps to the framing of the first message.
func (m *messages) decide(framed bool) {
	switch {
	case m.framing != undecided:
	case framed:
		m.framing = headers
	default:
		m.framing = newlines
	}
}
