// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package linelog logs what a program writes, line by line, without the program's secrets and at
// a limited rate.
package linelog

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
)

// The limits of a program's log.
const (
	// maxLine limits a line in the log, in bytes.
	maxLine = 4 << 10
	// maxRead limits the length of a line to log, in bytes: as long as the longest secret. Longer
	// lines are not logged, because a secret that is cut off at the end would not be recognized.
	maxRead = 64 << 10
	// Burst is the number of lines that are logged at once: enough for a stack trace.
	Burst = 100
	// PerSecond is the long-term rate of logged lines.
	PerSecond = 20
)

// Logger logs the lines of one program. It is for one goroutine.
type Logger struct {
	log   *slog.Logger
	level slog.Level
	text  string // the log's message
	hide  secret.Redactor

	left    float64 // number of lines that may be logged now
	at      time.Time
	dropped int
}

// New returns the logger of a program. Each line is an attribute of a message with this level and
// text. hide takes the secrets out of lines.
func New(log *slog.Logger, level slog.Level, text string, hide secret.Redactor) *Logger {
	return &Logger{log: log, level: level, text: text, hide: hide, left: Burst}
}

// Line logs one line at the given time.
func (s *Logger) Line(ctx context.Context, now time.Time, line string) {
	if !s.log.Enabled(ctx, s.level) {
		return
	}
	s.left = min(Burst, s.left+now.Sub(s.at).Seconds()*PerSecond)
	s.at = now
	if s.left < 1 || len(line) > maxRead {
		s.dropped++
		return
	}
	s.left--
	s.settle(ctx)
	line = s.hide.Redact(line)
	if len(line) > maxLine {
		line = strings.ToValidUTF8(line[:maxLine], "") + "…"
	}
	s.log.Log(ctx, s.level, s.text, "line", line)
}

// settle logs the number of lines that were left out.
func (s *Logger) settle(ctx context.Context) {
	if s.dropped > 0 {
		s.log.Log(ctx, s.level, "lines of the program were left out", "count", s.dropped)
		s.dropped = 0
	}
}

// Follow logs the lines of r to its end. It always reads at full speed, so that the log never
// blocks the program.
func (s *Logger) Follow(ctx context.Context, r io.Reader) {
	lines := bufio.NewReaderSize(r, maxRead+len("\r\n"))
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
		}
		if err != nil {
			s.settle(ctx)
			return
		}
	}
}
