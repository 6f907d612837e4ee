// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package callaudit

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/ingress/jsonrpc"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// pieces is a stream that comes in pieces of that many bytes.
type pieces struct {
	rest string
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.rest == "" {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

// runEvents returns what passes of a stream and what is told in it.
func runEvents(t *testing.T, stream string, size int, calls bool) (passed, told string) {
	t.Helper()
	trails, err := New(Options{Sink: &fakeAudit{}, Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	tr := &Request{log: trails, entry: audit.Entry{RequestID: "r"}}
	if calls {
		tr.messages = []jsonrpc.Request{{ID: json.RawMessage("1"), Method: "tools/call", Tool: "search"}}
		tr.calls, tr.left = len(tr.messages), append([]jsonrpc.Request(nil), tr.messages...)
	}
	var said strings.Builder
	e := &eventFilter{trail: tr, told: func(value string) error { said.WriteString(value + "\n"); return nil }, early: func() error { return nil }}
	var out strings.Builder
	buf, from := make([]byte, 1<<10), &pieces{stream, max(1, size)}
	for {
		n, err := e.read(buf, from, func(eof error) error { return eof })
		out.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			return out.String(), said.String()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnEventPassesOnlyWhenItIsComplete feeds a stream byte by byte.
func TestAnEventPassesOnlyWhenItIsComplete(t *testing.T) {
	tr := &Request{calls: 1}
	e := &eventFilter{trail: tr}
	for i, c := range []byte("data: {\"method\":\"x\"}\n\n") {
		e.in = append(e.in, c)
		if err := e.take(); err != nil {
			t.Fatal(err)
		}
		if done := i == len("data: {\"method\":\"x\"}\n\n")-1; (len(e.out) > 0) != done {
			t.Fatalf("after %d bytes %q can go", i+1, e.out)
		}
	}
	// One without calls passes at once, but for what may be for us.
	e = &eventFilter{trail: &Request{}}
	e.in = []byte("data: hal")
	if err := e.take(); err != nil || string(e.out) != "data: hal" {
		t.Errorf("%q can go, %v", e.out, err)
	}
	e = &eventFilter{trail: &Request{}}
	e.in = []byte("data: x\n: hosted-b")
	if err := e.take(); err != nil || string(e.out) != "data: x\n" {
		t.Errorf("%q can go, %v", e.out, err)
	}
}

// strangeStreams answer a call in ways that are to make a reader overlook the
// answer, or what is told of the call.
func strangeStreams() map[string]string {
	result, told := eventOf(resultOf("1")), toldIn(called("web", "search", audit.ToolError))
	long := strings.Repeat("x", maxEvent)
	return map[string]string{
		"a byte order mark":                 byteOrderMark + "data: " + resultOf("1") + "\n\n",
		"one before what is told":           byteOrderMark + told + result,
		"lines that end with both":          strings.ReplaceAll(told+result, "\n", "\r\n"),
		"a long comment":                    ": " + long + "\n" + result,
		"many comments":                     strings.Repeat(": "+long[:1000]+"\n", 100) + result,
		"a long comment, and told":          ": " + long + "\n" + told + result,
		"told behind a long beginning":      "id: " + long[:maxEvent-100] + "\n" + told + result,
		"told across the limit":             ": " + long[:maxEvent-50] + "\n" + told + result,
		"told in the middle of a long one":  "data: {\"x\":\"" + long + "\",\ndata: \"y\":1,\n" + told + "data: \"id\":1,\"result\":{}}\n\n",
		"lines of data without any":         strings.Repeat("data:\n", maxEvent/5) + result,
		"data of white space":               "data: " + strings.Repeat(" ", 2*maxEvent) + resultOf("1") + "\n\n",
		"a name of data across the limit":   ": " + long[:maxEvent-5] + "\n" + result,
		"a long batch":                      "data: [" + strings.Repeat(" ", maxEvent) + resultOf("1") + "]\n\n",
		"a batch behind a comment":          "data: [\n: " + long + "\ndata: " + resultOf("1") + "]\n\n",
		"an answer with much behind it":     "data: " + resultOf("1") + "\n: " + long + "\n\n",
		"a told line longer than any event": audit.EventPrefix + long + long + "\n" + result,
	}
}

func TestNoAnswerInAStrangeStreamIsOverlooked(t *testing.T) {
	for name, stream := range strangeStreams() {
		for _, size := range []int{7, 1 << 10, 32 << 10} {
			passed, told, entries := passing(t, stream, size, nil)
			if strings.Contains(passed, strings.TrimSpace(audit.EventPrefix)) || strings.Contains(passed, "server") {
				t.Errorf("%s in pieces of %d: what is told passes", name, size)
			}
			tells := strings.Contains(stream, `"server"`)
			if tells != strings.Contains(told, `"server"`) || len(entries) != 1 {
				t.Errorf("%s in pieces of %d: %d entries, told %.100q", name, size, len(entries), told)
			}
			if without, _, _ := passing(t, stream, size, errors.New("disk full")); strings.Contains(without, `"result":{`) {
				t.Errorf("%s in pieces of %d: the answer passes without an entry", name, size)
			}
		}
	}
}

// passing returns what passes of a stream that answers one call, what is told in
// it and the entries, when writing them fails with err.
func passing(t *testing.T, stream string, size int, err error) (passed, told string, entries []audit.Entry) {
	t.Helper()
	sink := &fakeAudit{err: err}
	trails, failed := New(Options{Sink: sink, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	if failed != nil {
		t.Fatal(failed)
	}
	tr := &Request{log: trails, entry: audit.Entry{RequestID: "r"}, calls: 1}
	tr.messages = []jsonrpc.Request{{ID: json.RawMessage("1"), Method: "tools/call", Tool: "search"}}
	tr.left = append(tr.left, tr.messages...)
	var said, out strings.Builder
	e := &eventFilter{trail: tr, early: func() error { return tr.recordMissing(audit.Success, "") }, told: func(value string) error {
		said.WriteString(value + "\n")
		read, err := audit.ParseTrailer(value)
		if err != nil {
			return nil //nolint:nilerr // As audited does.
		}
		return tr.recordReported(read)
	}}
	buf, from := make([]byte, 32<<10), &pieces{stream, size}
	for {
		n, err := e.read(buf, from, func(eof error) error { return eof })
		out.Write(buf[:n])
		if err != nil {
			return out.String(), said.String(), sink.all()
		}
	}
}

// TestAnEventWhoseLineEndIsCutIsOne has LF come later than the CR before it.
func TestAnEventWhoseLineEndIsCutIsOne(t *testing.T) {
	e := &eventFilter{trail: &Request{calls: 1}}
	for _, piece := range []string{"data: {\"method\":\r", "\ndata: \"x\"}\r", "\n\r"} {
		if len(e.out) > 0 {
			t.Fatalf("before %q %q can go", piece, e.out)
		}
		e.in = append(e.in, piece...)
		if err := e.take(); err != nil {
			t.Fatal(err)
		}
	}
	if want := "data: {\"method\":\r\ndata: \"x\"}\r\n\r"; string(e.out) != want {
		t.Errorf("%q can go, want %q", e.out, want)
	}
}

// eventLines are the lines of a stream of events, with their ends.
var eventLines = regexp.MustCompile(`[^\r\n]*(\r\n|\r|\n)|[^\r\n]+$`)

// FuzzEvents cuts a stream into pieces: whatever they are, what passes and what
// is told are the same, and no answer passes before it has its entry.
func FuzzEvents(f *testing.F) {
	told := toldIn(called("web", "search", audit.Success))
	for _, stream := range []string{
		eventOf(`{"method":"x"}`) + told + eventOf(resultOf("1")), "data: a\r\n\r\n" + told + "data: b\r\r", ": ping\n\n" + audit.EventPrefix + "x\n\n", audit.EventPrefix, "data",
		byteOrderMark + told + "data: a\r\n\r\n", "data: a\r" + told + "\r\r\n", audit.EventPrefix + "x\r\ndata\r\n", "\ufeff\ufeffdata: a\n\n", "\xef\xbb",
	} {
		f.Add(stream, 1, true)
		f.Add(stream, 7, false)
	}
	f.Fuzz(func(t *testing.T, stream string, piece int, calls bool) {
		if piece < 1 || len(stream) > maxEvent {
			return
		}
		whole, wholeTold := runEvents(t, stream, len(stream)+1, calls)
		cut, cutTold := runEvents(t, stream, piece, calls)
		if whole != cut || wholeTold != cutTold {
			t.Errorf("in pieces of %d: %q and %q told, want %q and %q", piece, cut, cutTold, whole, wholeTold)
		}
		var want strings.Builder
		for _, line := range eventLines.FindAllString(strings.TrimPrefix(stream, byteOrderMark), -1) {
			if !strings.HasPrefix(line, audit.EventPrefix) {
				want.WriteString(line)
			}
		}
		if whole != want.String() {
			t.Errorf("%q passed, want %q", whole, want.String())
		}
	})
}
