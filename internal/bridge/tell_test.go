// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
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
	r := newPolicyRig(t, Options{}, bridgeconfig.Config{Servers: []bridgeconfig.Server{server}})
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
	r := newPolicyRig(t, Options{}, bridgeconfig.Config{Servers: []bridgeconfig.Server{s.serve(t)}})
	awaitLists(t, r.bridge)
	c := r.openSSE(t)
	for id := 2; id < 4; id++ {
		if resp := c.post(id, toolCall(id, "t"), ""); resp.Header.Get(audit.TrailerName) != audit.Later {
			t.Errorf("header %v", resp.Header)
		}
		expectOne(t, toldIn(t, c.until(fmt.Sprintf(`"id":%d`, id))), "t")
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
	header["Last-Event-Id"] = firstID(t, resp)
	<-began
	leave()
	_ = resp.Body.Close()
	wait.Until(t, "the bridge notices that the client has left", func() bool { return r.bridge.audit.InProgress() == 0 })
	release()
	_, rest := r.do(t, "GET", r.url, "", header)
	expectOne(t, toldBefore(t, rest, `"id":9`), "hang")
}
