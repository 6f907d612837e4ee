//go:build linux

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestWhatAProgramSaysIsBounded(t *testing.T) {
	log := &record{}
	s := newSaying(log.logger(slog.LevelInfo), slog.LevelInfo, "says", Launch{}.redactor())
	now := time.Unix(1_700_000_000, 0)
	for range 1000 {
		s.line(t.Context(), now, "line")
	}
	if n := strings.Count(log.String(), `"line":"line"`); n != burst {
		t.Errorf("%d lines at once", n)
	}
	s.line(t.Context(), now.Add(time.Second), "later")
	if !strings.Contains(log.String(), `"line":"later"`) || !strings.Contains(log.String(), `"count":900`) {
		t.Error("nothing is said of what was left out, or no line comes after")
	}
	for range 1000 {
		s.line(t.Context(), now.Add(time.Second), "more")
	}
	if n := strings.Count(log.String(), `"line":"more"`); n != linesPerSecond-1 {
		t.Errorf("%d lines a second", n+1)
	}
}

func TestALongLineIsCutWhereNoSecretIs(t *testing.T) {
	const secret = "s3cr3t-value"
	l := Launch{Env: []string{"TOKEN=" + secret}}
	for name, tt := range map[string]struct {
		line string
		want string
	}{
		"a secret across the cut": {strings.Repeat("x", maxLine-5) + secret, "[reda"},
		"longer than is read":     {strings.Repeat("x", maxRead-5) + secret + "\n", `"count":1`},
		"many of those":           {strings.Repeat(strings.Repeat("x", 3*maxRead)+secret+"\n", 3), `"count":3`},
		"a line without an end":   {"token " + secret, "token [redacted]"},
		"half of a character":     {strings.Repeat("x", maxLine-1) + "€", `x…`},
	} {
		t.Run(name, func(t *testing.T) {
			log := &record{}
			newSaying(log.logger(slog.LevelInfo), slog.LevelInfo, "says", l.redactor()).follow(t.Context(), strings.NewReader(tt.line))
			if !strings.Contains(log.String(), tt.want) || strings.Contains(log.String(), "s3cr") || len(log.String()) > 2*maxLine {
				t.Errorf("%d bytes: %.200s … %s", len(log.String()), log, log.String()[max(0, len(log.String())-60):])
			}
		})
	}
}

func TestSecretsOfALaunchAreTakenOut(t *testing.T) {
	const key = "{\"client\":{\"secret\":\"inner-value\",\"lines\":\"first-line\\nsecond-line\"},\"list\":[\"an-element\"],\"short\":\"oauth2\"}"
	all := Launch{Env: []string{"A=env-value", "B=ab"}, Files: []File{{Name: "k", Content: []byte(key)}, {Name: "p", Content: []byte("-----BEGIN-----\nAAAABBBBCCCC\n")}}}
	named := Launch{Env: []string{"A=env-value"}, Secrets: []string{"one-secret"}}
	none := Launch{Env: []string{"A=env-value"}, Secrets: []string{}}
	for name, tt := range map[string]struct {
		launch   Launch
		in, want string
	}{
		"a variable":           {all, "x env-value x", "x [redacted] x"},
		"a short one":          {all, "ab", "ab"},
		"a whole file":         {all, key, "[redacted]"},
		"a field of one":       {all, "inner-value", "[redacted]"},
		"a line of a field":    {all, "second-line", "[redacted]"},
		"an element":           {all, "an-element", "[redacted]"},
		"a word in one":        {all, "oauth2", "oauth2"},
		"a line of a file":     {all, "AAAABBBBCCCC", "[redacted]"},
		"what is named":        {named, "one-secret env-value", "[redacted] env-value"},
		"where none are named": {none, "env-value", "env-value"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.launch.redactor().Redact(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
