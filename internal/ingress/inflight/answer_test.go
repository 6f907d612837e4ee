// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"net/http"
	"strings"
	"testing"
)

func TestEventEdge(t *testing.T) {
	for _, tt := range []struct {
		name, stream string
		want         bool
	}{
		{"nothing yet", "", true},
		{"an event", "data: 1\n\n", true},
		{"an event with CRLF", "data: 1\r\n\r\n", true},
		{"an event with CR", "data: 1\r\r", true},
		{"LF, then CRLF", "data: 1\n\r\n", true},
		{"CRLF, then LF", "data: 1\r\n\n", true},
		{"CR, then CRLF", "data: 1\r\r\n", true},
		{"a comment", ": a\n\n", true},
		{"half a line", "data: 1", false},
		{"one line", "data: 1\n", false},
		{"one line with CRLF", "data: 1\r\n", false},
		{"one line with CR", "data: 1\r", false},
		{"a line after an event", "data: 1\n\ndata: 2\n", false},
		{"a letter after an event", "data: 1\n\nd", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for size := 1; size <= len(tt.stream)+1; size++ {
				var e eventBoundary
				for rest := tt.stream; rest != ""; {
					n := min(size, len(rest))
					e.add([]byte(rest[:n]))
					rest = rest[n:]
				}
				if got := e.reached(); got != tt.want {
					t.Errorf("in pieces of %d: %v, want %v", size, got, tt.want)
				}
			}
		})
	}
}

// insideEvent reads a stream line by line and reports whether it ends within
// an event.
func insideEvent(stream string) bool {
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(stream, "\n")
	rest, lines := lines[len(lines)-1], lines[:len(lines)-1]
	return rest != "" || len(lines) > 0 && lines[len(lines)-1] != ""
}

// FuzzEventEdge: where a comment may be written, no event is under way.
func FuzzEventEdge(f *testing.F) {
	for _, stream := range []string{"data: 1\n\n", "\r\n", "a\r\r\n", "\n\r\nb\r", "\x00\x00\x00", "x\n\x00"} {
		f.Add(stream, 1)
		f.Add(stream, 2)
	}
	f.Fuzz(func(t *testing.T, stream string, size int) {
		size = max(1, size)
		var e eventBoundary
		for rest := stream; rest != ""; {
			n := min(size, len(rest))
			e.add([]byte(rest[:n]))
			rest = rest[n:]
		}
		if e.reached() && insideEvent(stream) {
			t.Errorf("a comment could come after %q", stream)
		}
	})
}

func TestOnlyPlainEventStreamsTakeComments(t *testing.T) {
	for _, tt := range []struct {
		name   string
		header http.Header
		want   bool
	}{
		{"events", http.Header{"Content-Type": {"text/event-stream"}}, true},
		{"events with a charset", http.Header{"Content-Type": {"Text/Event-Stream ; charset=utf-8"}}, true},
		{"events whose length is told", http.Header{"Content-Type": {"text/event-stream"}, "Content-Length": {"9"}}, false},
		{"compressed events", http.Header{"Content-Type": {"text/event-stream"}, "Content-Encoding": {"gzip"}}, false},
		{"JSON", http.Header{"Content-Type": {"application/json"}}, false},
		{"something that begins like events", http.Header{"Content-Type": {"text/event-streams"}}, false},
		{"nothing", http.Header{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := takesComments(tt.header); got != tt.want {
				t.Errorf("takesComments = %v, want %v", got, tt.want)
			}
		})
	}
}
