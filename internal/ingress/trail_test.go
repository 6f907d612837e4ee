// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/ingress/callaudit"
)

// callOf is the call of a tool, with an argument whose value is in no entry.
func callOf(id, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":{"q":"canary"}}}`, id, tool)
}

// resultOf is the answer to it.
func resultOf(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, id)
}

// eventOf is an event of a stream that holds message.
func eventOf(message string) string { return "event: message\ndata: " + message + "\n\n" }

// toldIn is the comment by which a bridge tells of calls.
func toldIn(calls ...audit.Call) string {
	return audit.EventPrefix + audit.EncodeTrailer(calls) + "\n"
}

// answers is a bridge whose answer is that.
func answers(contentType, body string, trailers ...string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(rw, body)
		_ = http.NewResponseController(rw).Flush()
		rw.Header()[http.TrailerPrefix+audit.TrailerName] = trailers
	}
}

// outline is what a test says of an entry.
type outline struct {
	Tool, Server string
	Status       audit.Status
	ErrorType    string
	ReportedBy   audit.Reporter
}

func outlines(entries []audit.Entry) []outline {
	var all []outline
	for _, e := range entries {
		all = append(all, outline{e.Tool, e.Server, e.Status, e.ErrorType, e.ReportedBy})
	}
	return all
}

func byBridge(server, tool string, status audit.Status) outline {
	return outline{tool, server, status, "", audit.Bridge}
}

func byIngress(tool string, status audit.Status, errorType string) outline {
	return outline{tool, "", status, errorType, audit.Ingress}
}

const (
	isJSON   = "application/json"
	isEvents = "text/event-stream"
)

func TestEachAnsweredToolCallHasOneEntry(t *testing.T) {
	search, fetch := called("web", "search", audit.Success), called("web", "fetch", audit.ToolError)
	batch := "[" + callOf("1", "search") + "," + callOf("2", "fetch") + `,{"jsonrpc":"2.0","method":"notifications/x"}]`
	both := "[" + resultOf("1") + "," + resultOf("2") + "]"
	tests := map[string]struct {
		request     string
		contentType string
		answer      string
		trailer     []string
		passes      string // what the client gets, where it is not the answer
		want        []outline
	}{
		"the bridge tells in the trailer": {callOf("1", "s_search"), isJSON, resultOf("1"), []string{audit.EncodeTrailer([]audit.Call{search})}, "",
			[]outline{byBridge("web", "search", audit.Success)}},
		"one call that became several": {callOf("1", "mcp"), isJSON, resultOf("1"), []string{audit.EncodeTrailer([]audit.Call{search, fetch})}, "",
			[]outline{byBridge("web", "search", audit.Success), byBridge("web", "fetch", audit.ToolError)}},
		"the bridge tells nothing":           {callOf("1", "search"), isJSON, resultOf("1"), nil, "", []outline{byIngress("search", audit.Success, "")}},
		"nor of an error":                    {callOf("1", "search"), isJSON, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"canary"}}`, nil, "", []outline{byIngress("search", audit.ProtocolError, "-32602")}},
		"nor of a tool's error":              {callOf("1", "search"), isJSON, `{"id":1,"result":{"isError":true}}` + "\n", nil, "", []outline{byIngress("search", audit.ToolError, "")}},
		"nor of a question":                  {callOf("1", "search"), isJSON, `{"id":1,"result":{"resultType":"input_required"}}`, nil, "", []outline{byIngress("search", audit.InputRequired, "")}},
		"what it tells is no trailer":        {callOf("1", "search"), isJSON, resultOf("1"), []string{"canary"}, "", []outline{byIngress("search", audit.Success, "")}},
		"it tells twice":                     {callOf("1", "search"), isJSON, resultOf("1"), []string{audit.EncodeTrailer([]audit.Call{search}), audit.EncodeTrailer([]audit.Call{fetch})}, "", []outline{byIngress("search", audit.Success, "")}},
		"an answer that is no JSON-RPC":      {callOf("1", "search"), "text/plain", "canary\n\n", nil, "", []outline{byIngress("search", audit.Success, "")}},
		"white space without end":            {callOf("1", "search"), isJSON, resultOf("1") + strings.Repeat("\n", 1000), nil, "", []outline{byIngress("search", audit.Success, "")}},
		"a long answer":                      {callOf("1", "search"), isJSON, `{"id":1,"result":{"x":"` + strings.Repeat("y", 1<<20) + `"}}`, []string{audit.EncodeTrailer([]audit.Call{search})}, "", []outline{byBridge("web", "search", audit.Success)}},
		"a batch of which the bridge tells":  {batch, isJSON, both, []string{audit.EncodeTrailer([]audit.Call{fetch, search})}, "", []outline{byBridge("web", "fetch", audit.ToolError), byBridge("web", "search", audit.Success)}},
		"and one of which it tells the half": {batch, isJSON, both, []string{audit.EncodeTrailer([]audit.Call{search})}, "", []outline{byBridge("web", "search", audit.Success), byIngress("fetch", audit.Success, "")}},
		"something else than a tool":         {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, isJSON, resultOf("1"), nil, "", nil},
		"a notification that names a tool":   {`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"search"}}`, isJSON, "{}", nil, "", nil},
		"a stream in which the bridge tells": {callOf("1", "s_search"), isEvents, eventOf(`{"method":"x"}`) + toldIn(search) + eventOf(resultOf("1")), nil,
			eventOf(`{"method":"x"}`) + eventOf(resultOf("1")), []outline{byBridge("web", "search", audit.Success)}},
		"a stream at whose end it tells, too late": {callOf("1", "search"), isEvents, eventOf(resultOf("1")), []string{audit.EncodeTrailer([]audit.Call{search})}, "",
			[]outline{byIngress("search", audit.Success, "")}},
		"a stream in which it tells nothing": {callOf("1", "search"), isEvents, eventOf(`{"id":1,"result":{"isError":true}}`), nil, "", []outline{byIngress("search", audit.ToolError, "")}},
		"a stream in which it tells nonsense": {callOf("1", "search"), isEvents, audit.EventPrefix + "canary\n" + eventOf(resultOf("1")), nil, eventOf(resultOf("1")),
			[]outline{byIngress("search", audit.Success, "")}},
		"a stream with the answers to a batch": {batch, isEvents, toldIn(fetch) + eventOf(resultOf("2")) + eventOf(resultOf("1")), nil, eventOf(resultOf("2")) + eventOf(resultOf("1")),
			[]outline{byBridge("web", "fetch", audit.ToolError), byIngress("search", audit.Success, "")}},
		"a stream with an answer on several lines": {callOf("1", "search"), isEvents, "data: {\"id\":1,\ndata: \"error\":{\"code\":5}}\n\n", nil, "", []outline{byIngress("search", audit.ProtocolError, "5")}},
		"a stream with old line ends":              {callOf("1", "search"), isEvents, "data: " + resultOf("1") + "\r\r", nil, "", []outline{byIngress("search", audit.Success, "")}},
		"a stream whose last event has no end":     {callOf("1", "search"), isEvents, "data: " + resultOf("1"), nil, "", []outline{byIngress("search", audit.Success, "")}},
		"a stream with a long answer":              {callOf("1", "search"), isEvents, eventOf(`{"id":1,"result":{"x":"` + strings.Repeat("y", 1<<20) + `"}}`), nil, "", []outline{byIngress("search", audit.Success, "")}},
		"a stream that ends without an answer":     {callOf("1", "search"), isEvents, eventOf(`{"method":"x"}`), nil, "", []outline{byIngress("search", audit.UpstreamError, "no_answer")}},
		"a batch whose ids are equal":              {"[" + callOf("1", "search") + `,{"id":1,"method":"tools/list"}]`, isEvents, eventOf(resultOf("1")), nil, "", []outline{byIngress("search", audit.Success, "")}},
		"a content type in other letters":          {callOf("1", "search"), "Text/Event-Stream; charset=utf-8", "\ufeff" + toldIn(search) + eventOf(resultOf("1")), nil, eventOf(resultOf("1")), []outline{byBridge("web", "search", audit.Success)}},
		"a stream with the answer to another request": {"[" + callOf("1", "search") + `,{"id":2,"method":"tools/list"}]`, isEvents, eventOf(resultOf("2")) + eventOf(resultOf("1")), nil, "",
			[]outline{byIngress("search", audit.Success, "")}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, alice := oneUser(t, defaults(), answers(tt.contentType, tt.answer, tt.trailer...))
			passes := tt.answer
			if tt.passes != "" {
				passes = tt.passes
			}
			if got := w.do(w.request("POST", "/u/alice/mcp", alice, tt.request)); got.status != 200 || got.body != passes {
				t.Errorf("%d %.200q, want %.200q", got.status, got.body, passes)
			}
			// Entries for what has no answer are written when the request ends.
			eventually(t, func() bool { return len(w.audit.all()) >= len(tt.want) })
			if diff := cmp.Diff(tt.want, outlines(w.audit.all())); diff != "" {
				t.Error(diff)
			}
			if all := fmt.Sprintf("%+v", w.audit.all()); strings.Contains(all, "canary") {
				t.Errorf("an entry holds a value: %s", all)
			}
		})
	}
}

// TestAStreamWhoseLengthWasSaidTells has the bridge tell in a stream that is so short that
// its HTTP server says how long it is.
func TestAStreamWhoseLengthWasSaidTells(t *testing.T) {
	search := called("web", "search", audit.Success)
	w, alice := oneUser(t, defaults(), sized(isEvents, toldIn(search)+eventOf(resultOf("1"))))
	if got := w.do(w.request("POST", "/u/alice/mcp", alice, callOf("1", "s_search"))); got.status != http.StatusOK || got.body != eventOf(resultOf("1")) {
		t.Errorf("%d %q", got.status, got.body)
	}
	if diff := cmp.Diff([]outline{byBridge("web", "search", audit.Success)}, outlines(w.audit.all())); diff != "" {
		t.Error(diff)
	}
}

// TestNoAnswerIsCompleteWithoutItsEntry lets no entry be written: then nobody
// may have got an answer that can be used.
func TestNoAnswerIsCompleteWithoutItsEntry(t *testing.T) {
	search := called("web", "search", audit.Success)
	trailer := audit.EncodeTrailer([]audit.Call{search})
	long := `{"id":1,"result":{"x":"` + strings.Repeat("y", 1<<20) + `"}}`
	tests := map[string]http.HandlerFunc{
		"JSON":                        answers(isJSON, resultOf("1")),
		"JSON and a trailer":          answers(isJSON, resultOf("1"), trailer),
		"JSON and a line feed":        answers(isJSON, resultOf("1")+"\n"),
		"long JSON":                   answers(isJSON, long+"\n"),
		"long JSON and a trailer":     answers(isJSON, long, trailer),
		"JSON and much white space":   answers(isJSON, resultOf("1")+strings.Repeat(" ", 1<<20)),
		"an event":                    answers(isEvents, eventOf(resultOf("1"))),
		"an event of which was told":  answers(isEvents, toldIn(search)+eventOf(resultOf("1"))),
		"an event without end":        answers(isEvents, "data: "+resultOf("1")),
		"a long event":                answers(isEvents, eventOf(long)),
		"an event and a trailer":      answers(isEvents, eventOf(resultOf("1")), trailer),
		"a batch as an event":         answers(isEvents, eventOf("["+resultOf("1")+"]")),
		"JSON whose length was said":  sized(isJSON, resultOf("1")),
		"an event whose length was":   sized(isEvents, eventOf(resultOf("1"))),
		"an event with escaped names": answers(isEvents, eventOf(`{"id":1,"re\u0073ult":{}}`)),
	}
	for name, bridge := range tests {
		for _, http2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, HTTP/2 %v", name, http2), func(t *testing.T) {
				w, alice := oneUser(t, defaults(), bridge)
				if http2 {
					w.useHTTP2()
				}
				w.audit.fail(errors.New("disk full"))
				res, err := w.client.Do(w.request("POST", "/u/alice/mcp", alice, callOf("1", "search")))
				if err != nil {
					return // Broken off before the header.
				}
				body, err := io.ReadAll(res.Body)
				res.Body.Close()
				if res.StatusCode == http.StatusServiceUnavailable && strings.Contains(string(body), "audit_unavailable") {
					return
				}
				if err == nil || strings.HasSuffix(strings.TrimSpace(string(body)), "}") || strings.HasSuffix(strings.TrimSpace(string(body)), "]") {
					t.Errorf("%d, error %v, ends with %.60q", res.StatusCode, err, body[max(0, len(body)-60):])
				}
			})
		}
	}
}

// sized is a bridge that says how long its answer is.
func sized(contentType, body string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", contentType)
		rw.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = io.WriteString(rw, body)
	}
}

func TestCallsAreRefusedWhileNoEntryCanBeWritten(t *testing.T) {
	arrived := make(chan string, 8)
	w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- string(body)
		answers(isJSON, resultOf("1"))(rw, r)
	})
	call := func(body string) reply { return w.do(w.request("POST", "/u/alice/mcp", alice, body)) }
	w.audit.fail(errors.New("disk full"))
	first := call(callOf("1", "search")) // Nothing is known yet: it arrives.
	<-arrived
	second := call(callOf("2", "search"))
	for _, got := range []reply{first, second} {
		if got.status != 503 || !strings.Contains(got.body, "audit_unavailable") || got.header.Get("Retry-After") == "" {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	if len(arrived) != 0 {
		t.Errorf("%s reached the bridge", <-arrived)
	}
	if got := call(`{"id":3,"method":"tools/list"}`); got.status != 200 {
		t.Errorf("what needs no entry: %d %s", got.status, got.body)
	}
	<-arrived
	if w.metric("audit_failing") != 1 || w.metric("audit_failures_total") < 2 {
		t.Errorf("failing %v, failures %v", w.metric("audit_failing"), w.metric("audit_failures_total"))
	}
	w.audit.fail(nil)
	if got := call(callOf("4", "search")); got.status != 503 {
		t.Errorf("the first one afterwards: %d %s", got.status, got.body)
	}
	if got := call(callOf("5", "search")); got.status != 200 {
		t.Errorf("the next one: %d %s", got.status, got.body)
	}
	want := []outline{byIngress("search", audit.UpstreamError, "audit_unavailable"), byIngress("search", audit.Success, "")}
	if diff := cmp.Diff(want, outlines(w.audit.all())); diff != "" {
		t.Error(diff)
	}
	if log := w.logs.String(); strings.Count(log, "cannot be written") != 1 || strings.Count(log, "can be written again") != 1 || w.metric("audit_failing") != 0 {
		t.Errorf("log: %s", log)
	}
}

func TestRefusedAndBrokenCallsHaveTheirEntry(t *testing.T) {
	t.Run("a bridge that is suspended", func(t *testing.T) {
		w, alice := oneUser(t, defaults(), answers(isJSON, "{}"))
		w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = v1alpha1.StateSuspended })
		w.do(w.request("POST", "/u/alice/mcp", alice, "["+callOf("1", "a")+","+callOf("2", "b")+"]"))
		want := []outline{byIngress("a", audit.UpstreamError, "bridge_suspended"), byIngress("b", audit.UpstreamError, "bridge_suspended")}
		if diff := cmp.Diff(want, outlines(w.audit.all())); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a bridge that breaks off", func(t *testing.T) {
		w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", isJSON)
			_, _ = io.WriteString(rw, resultOf("1"))
			_ = http.NewResponseController(rw).Flush()
			panic(http.ErrAbortHandler)
		})
		got := w.do(w.request("POST", "/u/alice/mcp", alice, callOf("1", "search")))
		want := []outline{byIngress("search", audit.UpstreamError, "bridge_failed")}
		if diff := cmp.Diff(want, outlines(w.audit.all())); diff != "" || got.status != 502 {
			t.Errorf("%d %s %s", got.status, got.body, diff)
		}
	})
	t.Run("one that breaks off behind the answer", func(t *testing.T) {
		w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", isEvents)
			_, _ = io.WriteString(rw, eventOf(resultOf("1")))
			_ = http.NewResponseController(rw).Flush()
			panic(http.ErrAbortHandler)
		})
		res, err := w.client.Do(w.request("POST", "/u/alice/mcp", alice, callOf("1", "search")))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(res.Body)
		res.Body.Close()
		eventually(t, func() bool { return strings.Contains(w.logs.String(), `"aborted":true`) })
		if diff := cmp.Diff([]outline{byIngress("search", audit.Success, "")}, outlines(w.audit.all())); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a client that leaves", func(t *testing.T) {
		w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", isEvents)
			_, _ = io.WriteString(rw, eventOf(`{"method":"progress"}`))
			_ = http.NewResponseController(rw).Flush()
			<-r.Context().Done()
		})
		res, err := w.client.Do(w.request("POST", "/u/alice/mcp", alice, callOf("1", "search")))
		if err != nil {
			t.Fatal(err)
		}
		// The progress comes before there is an answer.
		lines := bufio.NewScanner(res.Body)
		for range 2 {
			lines.Scan()
		}
		if !strings.Contains(lines.Text(), "progress") {
			t.Fatalf("%q, %v", lines.Text(), lines.Err())
		}
		res.Body.Close()
		eventually(t, func() bool { return len(w.audit.all()) == 1 })
		if diff := cmp.Diff([]outline{byIngress("search", audit.Cancelled, "client_left")}, outlines(w.audit.all())); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAnEntrySaysWhoCalled(t *testing.T) {
	told := called("web", "search", audit.Success)
	told.ID = "call-1"
	w, alice := oneUser(t, defaults(), answers(isJSON, resultOf("1"), audit.EncodeTrailer([]audit.Call{told})))
	r := w.request("POST", "/u/alice/mcp", alice, callOf("1", "search"))
	r.Header.Set("Mcp-Session-Id", "the-session")
	r.Header.Set("User-Agent", "agent/1 é"+strings.Repeat("x", 500))
	r.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	got := w.do(r)
	all := w.audit.all()
	if len(all) != 1 {
		t.Fatalf("%d entries", len(all))
	}
	e := all[0]
	if e.UserID != "alice" || e.Principal.Kind != audit.KindUserKey || !strings.Contains(alice, "_"+e.Principal.ID+"_") || e.Time.IsZero() {
		t.Errorf("entry = %+v", e)
	}
	if e.ID != audit.EntryID("alice", "call-1") || e.RequestID != got.header.Get("X-Request-Id") {
		t.Errorf("id %q, request id %q", e.ID, e.RequestID)
	}
	if e.TraceID != "0af7651916cd43dd8448eb211c80319c" || len(e.UserAgent) != 128 || !strings.HasPrefix(e.UserAgent, "agent/1 _") {
		t.Errorf("trace %q, user agent %q", e.TraceID, e.UserAgent)
	}
	if e.SessionHash == "" || e.SourceIPHash == "" || strings.Contains(fmt.Sprint(e), "the-session") || strings.Contains(fmt.Sprint(e), "127.0.0.1") {
		t.Errorf("entry = %+v", e)
	}
}

func TestAnswersThatTakeAnotherWayHaveTheirEntry(t *testing.T) {
	search := called("web", "search", audit.Success)
	posted := make(chan struct{})
	w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get(audit.TrailerName) != audit.InStreams {
			t.Errorf("the bridge is not asked to tell in streams: %v", r.Header)
		}
		switch {
		case r.Header.Get(audit.PostName) == audit.PostDone:
			close(posted)
		case r.Method == http.MethodPost:
			rw.Header().Set(audit.TrailerName, audit.Later)
			rw.WriteHeader(http.StatusAccepted)
			_ = http.NewResponseController(rw).Flush()
			rw.Header().Set(http.TrailerPrefix+audit.TrailerName, audit.EncodeTrailer([]audit.Call{search}))
		default:
			rw.Header().Set("Content-Type", isEvents)
			_, _ = io.WriteString(rw, "event: endpoint\ndata: /u/alice/sse?sessionid=s.1\n\n")
			_ = http.NewResponseController(rw).Flush()
			<-posted
			_, _ = io.WriteString(rw, eventOf(resultOf("1")))
		}
	})
	stream, err := w.client.Do(w.request("GET", "/u/alice/sse", alice, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if got := w.do(w.request("POST", "/u/alice/sse?sessionid=s.1", alice, callOf("1", "search"))); got.status != http.StatusAccepted || got.header.Get(audit.TrailerName) != "" {
		t.Errorf("%d %v", got.status, got.header)
	}
	body, err := io.ReadAll(stream.Body)
	if want := "event: endpoint\ndata: /u/alice/sse?sessionid=s.1\n\n" + eventOf(resultOf("1")); err != nil || string(body) != want {
		t.Errorf("%q, error %v", body, err)
	}
	if diff := cmp.Diff([]outline{byBridge("web", "search", audit.Success)}, outlines(w.audit.all())); diff != "" {
		t.Error(diff)
	}
}

// TestABridgeThatSaysNothingOfLater has a bridge that reports no call.
func TestABridgeThatSaysNothingOfLater(t *testing.T) {
	w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusAccepted) })
	w.do(w.request("POST", "/u/alice/sse?sessionid=s.1", alice, callOf("1", "search")))
	eventually(t, func() bool { return len(w.audit.all()) > 0 })
	if diff := cmp.Diff([]outline{byIngress("search", audit.Success, "")}, outlines(w.audit.all())); diff != "" {
		t.Error(diff)
	}
}

// TestOnlyAMessageOfHTTPAndSSEIsAnsweredLater has bridges say so elsewhere.
func TestOnlyAMessageOfHTTPAndSSEIsAnsweredLater(t *testing.T) {
	for name, tt := range map[string]struct {
		path        string
		status      int
		contentType string
		body        string
		want        int // entries
		passes      bool
	}{
		"a stream":               {"/mcp", 200, isEvents, eventOf(resultOf("1")), 1, true},
		"a whole answer":         {"/mcp", 200, isJSON, resultOf("1"), 1, true},
		"an accepted message":    {"/mcp", 202, isJSON, resultOf("1"), 1, true},
		"HTTP+SSE that answers":  {"/sse?sessionid=s.1", 200, isJSON, resultOf("1"), 1, true},
		"HTTP+SSE, and a stream": {"/sse?sessionid=s.1", 202, isEvents, eventOf(resultOf("1")), 1, false},
		"HTTP+SSE, and a body":   {"/sse?sessionid=s.1", 202, isJSON, resultOf("1"), 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", tt.contentType)
				rw.Header().Set(audit.TrailerName, audit.Later)
				rw.WriteHeader(tt.status)
				_, _ = io.WriteString(rw, tt.body)
			})
			got := w.do(w.request("POST", "/u/alice"+tt.path, alice, callOf("1", "search")))
			if got.status != tt.status || tt.passes != (got.body == tt.body) || !tt.passes && got.body != "" {
				t.Errorf("%d %q", got.status, got.body)
			}
			eventually(t, func() bool { return w.metric("requests_in_flight") == 0 })
			if n := len(w.audit.all()); n != tt.want {
				t.Errorf("%d entries, want %d", n, tt.want)
			}
		})
	}
}

// TestABridgeCannotHaveEntriesWrittenWithoutEnd has one tell of calls that nobody
// made.
func TestABridgeCannotHaveEntriesWrittenWithoutEnd(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		search := called("web", "search", audit.Success)
		flood := strings.Repeat(toldIn(slices.Repeat([]audit.Call{search}, 50)...), 20)
		w, alice := oneUser(t, defaults(), answers(isEvents, flood+eventOf(resultOf("1"))))
		listen := w.request("GET", "/u/alice/mcp", alice, "")
		listen.Header.Set("Mcp-Session-Id", "s")
		if got := w.do(listen); got.status != 200 || got.body != eventOf(resultOf("1")) {
			t.Errorf("%d %.100q", got.status, got.body)
		}
		if n := len(w.audit.all()); n != callaudit.UnrequestedBurst {
			t.Errorf("%d entries, want %d", n, callaudit.UnrequestedBurst)
		}
		if n := w.metric("audit_told_ignored_total"); n != 1000-callaudit.UnrequestedBurst {
			t.Errorf("%v were ignored", n)
		}
		before := len(w.audit.all())
		if got := w.do(w.request("POST", "/u/alice/mcp", alice, callOf("1", "search"))); got.status != 200 {
			t.Errorf("%d %.100q", got.status, got.body)
		}
		if n := len(w.audit.all()) - before; n != callaudit.ToldPerCall {
			t.Errorf("%d entries of one call, want %d", n, callaudit.ToldPerCall)
		}
	})
}

func TestAnOutputThatTakesNothingHoldsNoCall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, alice := oneUser(t, defaults(), answers(isJSON, resultOf("1")))
		w.server.router.auditor.calls.Timeout = 50 * time.Millisecond
		release := make(chan struct{})
		w.audit.before = func(audit.Entry) { <-release }
		for range 3 { // Only the first has a write begun.
			if got := w.do(w.request("POST", "/u/alice/mcp", alice, callOf("1", "search"))); got.status != 503 || !strings.Contains(got.body, "audit_unavailable") {
				t.Errorf("%d %s", got.status, got.body)
			}
		}
		if n := w.server.router.auditor.calls.Stuck(); n != 1 || w.metric("audit_failing") != 1 {
			t.Errorf("%d writes are under way, failing %v", n, w.metric("audit_failing"))
		}
		close(release)
		eventually(t, func() bool {
			return w.do(w.request("POST", "/u/alice/mcp", alice, callOf("2", "search"))).status == 200
		})
		if w.metric("audit_failing") != 0 {
			t.Error("it is still failing")
		}
	})
}

func TestASinkThatPanicsWritesNothing(t *testing.T) {
	w, alice := oneUser(t, defaults(), answers(isJSON, resultOf("1")))
	w.audit.before = func(audit.Entry) { panic("broken") }
	if got := w.do(w.request("POST", "/u/alice/mcp", alice, callOf("1", "search"))); got.status != 503 || !strings.Contains(got.body, "audit_unavailable") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestEveryEntryNamesTheBridgeThatItsUserHad(t *testing.T) {
	w, tokens, key := loginWorld(t)
	token := tokens.add("mine", "alice", "/u/alice/mcp", nil)
	for what, r := range map[string]*http.Request{
		"a call by a key":        w.request("POST", "/u/alice/mcp", key, toolCall),
		"a call by a token":      w.request("POST", "/u/alice/mcp", token, toolCall),
		"a refusal":              w.request("POST", "/u/bob/mcp", key, toolCall),
		"an act of their own":    w.request("POST", "/u/alice/keys", key, `{}`),
		"an administrator's act": w.request("GET", keysOfAlice, adminKey, ""),
	} {
		before := len(w.audit.all())
		got := w.do(r)
		if entries := w.audit.all()[before:]; len(entries) != 1 || entries[0].UserID != "alice" || entries[0].BridgeUID != "uid-alice" {
			t.Errorf("%s, %d: the entries are %+v", what, got.status, entries)
		}
	}
}
