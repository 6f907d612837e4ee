// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
)

// The limits of a program's log.
const (
	// maxLoggedLine limits a line in the log, in bytes.
	maxLoggedLine = 4 << 10
	// maxReadLine limits the length of a line to log, in bytes: as long as the longest secret. Longer
	// lines are not logged, because a secret that is cut off at the end would not be recognized.
	maxReadLine = 64 << 10
	// lineBurst is the number of lines that are logged at once: enough for a stack trace.
	lineBurst = 100
	// linesPerSecond is the long-term rate of logged lines.
	linesPerSecond = 20
	// saidLines is how many of the last lines are kept, and saidLine how long each may be in bytes:
	// enough for what npm says of a missing package and for the end of a stack trace.
	saidLines = 20
	saidLine  = 200
)

// controlSequence matches what colours and moves text on a terminal.
var controlSequence = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)`)

// LineLogger logs what a program writes, line by line, without the program's secrets and at a limited
// rate. It is for one goroutine.
type LineLogger struct {
	log   *slog.Logger
	level slog.Level
	text  string // the log's message
	hide  secret.Redactor

	left    float64 // number of lines that may be logged now
	at      time.Time
	dropped int
	last    []string // the last lines, at most saidLines
}

// NewLineLogger returns the logger of a program. Each line is an attribute of a message with this level and
// text. hide takes the secrets out of lines.
func NewLineLogger(log *slog.Logger, level slog.Level, text string, hide secret.Redactor) *LineLogger {
	return &LineLogger{log: log, level: level, text: text, hide: hide, left: lineBurst}
}

// Line logs one line at the given time.
func (s *LineLogger) Line(ctx context.Context, now time.Time, line string) {
	if !s.log.Enabled(ctx, s.level) {
		return
	}
	s.left = min(lineBurst, s.left+now.Sub(s.at).Seconds()*linesPerSecond)
	s.at = now
	if s.left < 1 || len(line) > maxReadLine {
		s.dropped++
		return
	}
	s.left--
	s.settle(ctx)
	line = s.hide.Redact(line)
	if len(line) > maxLoggedLine {
		line = strings.ToValidUTF8(line[:maxLoggedLine], "") + "…"
	}
	s.log.Log(ctx, s.level, s.text, "line", line)
}

// keep keeps a line as one of the last. Secrets are taken out before and after control characters
// are, because they may be written in the middle of one.
func (s *LineLogger) keep(line string) {
	text := controlSequence.ReplaceAllString(s.hide.Redact(line), "")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.TrimRight(s.hide.Redact(text), " ")
	if len(text) > saidLine {
		text = strings.ToValidUTF8(text[:saidLine-len("…")], "") + "…"
	}
	if text == "" {
		return
	}
	if len(s.last) == saidLines {
		s.last = s.last[1:]
	}
	s.last = append(s.last, text)
}

// Said returns the last lines that Follow read, without secrets and control characters. Call it after
// Follow has returned.
func (s *LineLogger) Said() []string { return s.last }

// settle logs the number of lines that were left out.
func (s *LineLogger) settle(ctx context.Context) {
	if s.dropped > 0 {
		s.log.Log(ctx, s.level, "lines of the program were left out", "count", s.dropped)
		s.dropped = 0
	}
}

// Follow logs the lines of r to its end. It always reads at full speed, so that the log never
// blocks the program.
func (s *LineLogger) Follow(ctx context.Context, r io.Reader) {
	lines := bufio.NewReaderSize(r, maxReadLine+len("\r\n"))
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			s.dropped++
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = lines.ReadSlice('\n')
			}
			line = nil
		}
		if text := strings.TrimRight(string(line), "\r\n"); text != "" {
			s.Line(ctx, time.Now(), text)
			s.keep(text)
		}
		if err != nil {
			s.settle(ctx)
			return
		}
	}
}
