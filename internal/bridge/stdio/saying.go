// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

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

// Bounds of what is logged of a program.
const (
	// maxLine bounds a line in the log, in bytes.
	maxLine = 4 << 10
	// maxRead bounds a line that is looked at, in bytes: as long as the longest
	// secret. Of a longer one nothing is logged, because the half of a secret at
	// its end would not be recognized.
	maxRead = 64 << 10
	// burst is how many lines are logged at once, enough for a stack trace.
	burst = 100
	// linesPerSecond is how many are logged in the long run.
	linesPerSecond = 20
)

// saying logs what a program writes, line by line, without its secrets and
// without letting it fill the log.
type saying struct {
	log   *slog.Logger
	level slog.Level
	text  string // the log's message
	hide  secret.Redactor

	left    float64 // lines that may be logged now
	at      time.Time
	dropped int
}

func newSaying(log *slog.Logger, level slog.Level, text string, hide secret.Redactor) *saying {
	return &saying{log: log, level: level, text: text, hide: hide, left: burst}
}

// line logs one line at the given time.
func (s *saying) line(ctx context.Context, now time.Time, line string) {
	if !s.log.Enabled(ctx, s.level) {
		return
	}
	s.left = min(burst, s.left+now.Sub(s.at).Seconds()*linesPerSecond)
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

// settle says how many lines were left out.
func (s *saying) settle(ctx context.Context) {
	if s.dropped > 0 {
		s.log.Log(ctx, s.level, "lines of the program were left out", "count", s.dropped)
		s.dropped = 0
	}
}

// follow logs the lines of r to its end. It reads as fast as they come, so that
// no program waits for the log.
func (s *saying) follow(ctx context.Context, r io.Reader) {
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
			s.line(ctx, time.Now(), text)
		}
		if err != nil {
			s.settle(ctx)
			return
		}
	}
}
