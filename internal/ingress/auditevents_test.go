// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

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
	trails, err := newTrails(Deps{Audit: &fakeAudit{}, Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	tr := &trail{trails: trails, who: func() audit.Entry { return audit.Entry{} }}
	if calls {
		tr.messages = []rpcMessage{{ID: json.RawMessage("1"), Method: "tools/call", Tool: "search"}}
		tr.calls, tr.left = len(tr.messages), append([]rpcMessage(nil), tr.messages...)
	}
	var said strings.Builder
	e := &events{trail: tr, told: func(value string) error { said.WriteString(value + "\n"); return nil }, early: func() error { return nil }}
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
	tr := &trail{calls: 1}
	e := &events{trail: tr}
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
	e = &events{trail: &trail{}}
	e.in = []byte("data: hal")
	if err := e.take(); err != nil || string(e.out) != "data: hal" {
		t.Errorf("%q can go, %v", e.out, err)
	}
	e = &events{trail: &trail{}}
	e.in = []byte("data: x\n: hosted-b")
	if err := e.take(); err != nil || string(e.out) != "data: x\n" {
		t.Errorf("%q can go, %v", e.out, err)
	}
}
