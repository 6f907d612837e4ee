// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// asked adds to a header what an ingress says that takes what is told out of
// event streams.
func asked(header map[string]string) map[string]string {
	if header == nil {
		header = map[string]string{}
	}
	header[audit.TrailerName] = audit.InStreams
	return header
}

// toldBefore returns the calls that a stream tells of before the line that has
// text.
func toldBefore(t *testing.T, stream, text string) []audit.Call {
	t.Helper()
	before, _, ok := strings.Cut(stream, text)
	if !ok {
		t.Fatalf("%q is not in %q", text, stream)
	}
	return toldIn(t, before)
}

func toldIn(t *testing.T, stream string) (calls []audit.Call) {
	t.Helper()
	for line := range strings.Lines(stream) {
		value, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), audit.EventPrefix)
		if !ok {
			continue
		}
		told, err := audit.ParseTrailer(value)
		if err != nil {
			t.Fatalf("%v: %s", err, value)
		}
		calls = append(calls, told.Calls...)
	}
	return calls
}

func expectOne(t *testing.T, calls []audit.Call, tool string) {
	t.Helper()
	if len(calls) != 1 || calls[0].Tool != tool || calls[0].Server != "one" || calls[0].Status != audit.Success || calls[0].ID == "" {
		t.Errorf("told of %+v, want one call of %s", calls, tool)
	}
}

func TestAStreamTellsOfACallBeforeItsAnswer(t *testing.T) {
	t.Parallel()
	s := &script{answer: same(done)}
	server := s.serve(t)
	r := newPolicyRig(t, Options{}, mcpserver.Config{Servers: []mcpserver.Server{server}})
	awaitLists(t, r.bridge)
	for name := range eraNames {
		t.Run(name, func(t *testing.T) {
			header, body := modernHeader(methods.CallTool, "t"), modernBody(7, methods.CallTool, `"name":"t","arguments":{"a":"canary"},`)
			if name == "legacy" {
				header, body = r.session(t), `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"a":"canary"}}}`
			}
			answer, trailer := r.post(t, asked(header), body)
			expectOne(t, toldBefore(t, answer, `"id":7`), "t")
			if len(toldIn(t, answer)) != 1 || trailer != nil || strings.Contains(answer, "canary") {
				t.Errorf("the trailer has %+v, the stream is %s", trailer, answer)
			}
		})
	}
}

func TestTheOldTransportTellsOfACallBeforeItsAnswer(t *testing.T) {
	t.Parallel()
	s := &script{answer: same(done)}
	r := newPolicyRig(t, Options{}, mcpserver.Config{Servers: []mcpserver.Server{s.serve(t)}})
	awaitLists(t, r.bridge)
	req := must.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, r.sseURL(), nil))(t)
	req.Header.Set(audit.TrailerName, audit.InStreams)
	resp := must.Value(r.http.Do(req))(t)
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	until := func(text string) (read string) {
		for !strings.Contains(read, text) {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("%v after %q", err, read)
			}
			read += line
		}
		return read
	}
	_, query, _ := strings.Cut(until("sessionid="), "?")
	post := func(body string) {
		t.Helper()
		resp, _ := r.do(t, "POST", r.sseURL()+"?"+strings.TrimSpace(query), body, asked(nil))
		if resp.StatusCode != http.StatusAccepted || resp.Header.Get(audit.TrailerName) != audit.Later {
			t.Errorf("%d, header %v", resp.StatusCode, resp.Header)
		}
	}
	post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	if told := toldIn(t, until(`"id":1`)); told != nil {
		t.Errorf("told of %+v", told)
	}
	post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for id := 2; id < 4; id++ {
		post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"}}`, id))
		expectOne(t, toldIn(t, until(fmt.Sprintf(`"id":%d`, id))), "t")
	}
}

// TestAnAnswerThatIsFetchedLaterIsToldOf has a client leave while its call runs,
// and come back for the answer.
func TestAnAnswerThatIsFetchedLaterIsToldOf(t *testing.T) {
	t.Parallel()
	server, began, release := hanging(t)
	t.Cleanup(release)
	r := newRig(t, fast, server)
	header := asked(r.session(t))
	ctx, leave := context.WithCancel(t.Context())
	resp := must.Value(r.http.Do(r.newPost(ctx, t, toolCall(9, "hang"), header)))(t)
	lines, first := bufio.NewReader(resp.Body), ""
	for !strings.Contains(first, "id: ") {
		first = must.Value(lines.ReadString('\n'))(t)
	}
	<-began
	leave()
	_ = resp.Body.Close()
	eventually(t, "the bridge notices that the client has left", func() bool { return r.bridge.audit.InProgress() == 0 })
	release()
	header["Last-Event-Id"] = idOf(t, first+"\n")
	_, rest := r.do(t, "GET", r.url, "", header)
	expectOne(t, toldBefore(t, rest, `"id":9`), "hang")
}
