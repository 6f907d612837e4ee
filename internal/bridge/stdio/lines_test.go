//go:build linux

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
)

func logger(w io.Writer) *slog.Logger { return slog.New(slog.NewJSONHandler(w, nil)) }

func TestWhatAProgramSaysIsBounded(t *testing.T) {
	var log bytes.Buffer
	s := NewLineLogger(logger(&log), slog.LevelInfo, "says", secret.NewSet("", nil, nil).Grant(nil).Redactor())
	now := time.Unix(1_700_000_000, 0)
	for range 1000 {
		s.Line(t.Context(), now, "line")
	}
	if n := strings.Count(log.String(), `"line":"line"`); n != lineBurst {
		t.Errorf("%d lines at once", n)
	}
	s.Line(t.Context(), now.Add(time.Second), "later")
	if !strings.Contains(log.String(), `"line":"later"`) || !strings.Contains(log.String(), `"count":900`) {
		t.Error("nothing is said of what was left out, or no line comes after")
	}
	for range 1000 {
		s.Line(t.Context(), now.Add(time.Second), "more")
	}
	if n := strings.Count(log.String(), `"line":"more"`); n != linesPerSecond-1 {
		t.Errorf("%d lines a second", n+1)
	}
}

func TestALongLineIsCutWhereNoSecretIs(t *testing.T) {
	const value = "s3cr3t-value"
	hide := secret.NewSet("", map[string][]byte{"TOKEN": []byte(value)}, nil).Grant([]string{"TOKEN"}).Redactor()
	for name, tt := range map[string]struct {
		line string
		want string
	}{
		"a secret across the cut": {strings.Repeat("x", maxLoggedLine-5) + value, "[reda"},
		"longer than is read":     {strings.Repeat("x", maxReadLine-5) + value + "\n", `"count":1`},
		"many of those":           {strings.Repeat(strings.Repeat("x", 3*maxReadLine)+value+"\n", 3), `"count":3`},
		"a line without an end":   {"token " + value, "token [redacted]"},
		"half of a character":     {strings.Repeat("x", maxLoggedLine-1) + "€", `x…`},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			NewLineLogger(logger(&log), slog.LevelInfo, "says", hide).Follow(t.Context(), strings.NewReader(tt.line))
			if !strings.Contains(log.String(), tt.want) || strings.Contains(log.String(), "s3cr") || len(log.String()) > 2*maxLoggedLine {
				t.Errorf("%d bytes: %.200s … %s", len(log.String()), log.String(), log.String()[max(0, len(log.String())-60):])
			}
		})
	}
}
