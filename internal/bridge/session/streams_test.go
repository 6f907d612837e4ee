// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/pipes"
)

// TestALostAnswerIsToldOfAtOnce restarts the bridge while it waits for a server.
// The client cannot get the answer any more, and must not wait for it.
func TestALostAnswerIsToldOfAtOnce(t *testing.T) {
	t.Parallel()
	for name, requestID := range map[string]string{"a number": "42", "a text": `"call-é"`} {
		t.Run("to a request whose id is "+name, func(t *testing.T) {
			t.Parallel()
			h, began, _ := newHanging(t)
			header := h.session(t)
			_, events := h.events(t, "POST", toolCall(requestID, "hang"), header)
			header["Last-Event-Id"] = idOf(t, next(t, events, "first event"))
			next(t, began, "call")
			h.move(t)
			resp, body := h.do(t, "GET", h.url, "", header)
			if resp.StatusCode != http.StatusOK || !strings.Contains(body, `"id":`+requestID+`,`) || !strings.Contains(body, "answer_lost") {
				t.Errorf("the rest of the stream is %d %s", resp.StatusCode, body)
			}
			header["Last-Event-Id"] = idOf(t, body)
			if resp, _ := h.do(t, "GET", h.url, "", header); resp.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("what comes after it is answered with %d, want that there is no such stream", resp.StatusCode)
			}
			delete(header, "Last-Event-Id")
			if resp, body := h.do(t, "POST", h.url, `{"jsonrpc":"2.0","id":43,"method":"tools/list"}`, header); resp.StatusCode != http.StatusOK {
				t.Errorf("the session does not go on: %d %s", resp.StatusCode, body)
			}
		})
	}
}

// TestAClientHearsThatItsAnswerIsLost is the same for the SDK's client, whose session goes on.
func TestAClientHearsThatItsAnswerIsLost(t *testing.T) {
	t.Parallel()
	h, began, _ := newHanging(t)
	client := must.Value(mcp.NewClient(&mcp.Implementation{Name: "test-client", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: h.url, HTTPClient: h.http}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}))(t)
	defer client.Close()
	failed := make(chan error, 1)
	go func() {
		_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "hang"})
		failed <- err
	}()
	next(t, began, "call")
	h.move(t)
	if err := next(t, failed, "end of the call"); err == nil || !strings.Contains(err.Error(), "the answer is lost") {
		t.Errorf("error = %v, want that the answer is lost", err)
	}
	must.Value(client.ListTools(t.Context(), nil))(t)
}

// TestACallCanBeResumed breaks the connection once the stream has begun, and goes on from its first
// event.
func TestACallCanBeResumed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"at once", "after another request", "after its answer"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, began, release := newHanging(t)
			header := h.session(t)
			_, events := h.events(t, "POST", toolCall("7", "hang"), header)
			header["Last-Event-Id"] = idOf(t, next(t, events, "first event"))
			next(t, began, "call")
			switch name {
			case "after another request":
				h.do(t, "POST", h.url, pingBody, header)
			case "after its answer":
				release()
				for range events { // Until the answer is there.
				}
			}
			h.front.CloseClientConnections()
			rest := make(chan string, 1)
			go func() {
				_, body := h.do(t, "GET", h.url, "", header)
				rest <- body
			}()
			release()
			got := next(t, rest, "rest of the stream")
			if !strings.Contains(got, `"id":7,"result"`) || !strings.Contains(got, "done") || !strings.Contains(got, "\nid: ") {
				t.Errorf("the rest of the stream is %q", got)
			}
			header["Last-Event-Id"] = strings.Replace(header["Last-Event-Id"], "_0", "_x", 1)
			if resp, body := h.do(t, "GET", h.url, "", header); !strings.Contains(body, "answer_lost") {
				t.Errorf("an event that never was is answered with %d %s", resp.StatusCode, body)
			}
		})
	}
}

// TestALostAnswerIsSentAgain asks for what comes after the first event of a call
// that has ended, and then has many calls of the session cross.
func TestALostAnswerIsSentAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t,
		tool{"plain", func(context.Context, *call) (string, error) { return "hello", nil }},
		tool{"log", func(ctx context.Context, c *call) (string, error) {
			return "hello", c.log(ctx, "a")
		}},
	)
	header := h.listens(t)
	for _, tool := range []string{"plain", "log"} {
		delete(header, "Last-Event-Id")
		_, first := h.do(t, "POST", h.url, toolCall("7", tool), header)
		header["Last-Event-Id"] = idOf(t, first)
		_, again := h.do(t, "GET", h.url, "", header)
		_, after, _ := strings.Cut(first, "\n\n")
		if again != after || !strings.Contains(after, `"id":7,"result"`) || strings.Count(after, "data: ") != map[string]int{"plain": 1, "log": 2}[tool] {
			t.Errorf("%s: what came after the first event is %q, and again %q", tool, after, again)
		}
	}
	delete(header, "Last-Event-Id")
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for n := range 30 {
				id, tool := fmt.Sprint(worker*1000+n), []string{"plain", "log", "none"}[(worker+n)%3]
				if _, answer := h.do(t, "POST", h.url, toolCall(id, tool), header); !strings.Contains(answer, `"id":`+id+`,`) || strings.Count(answer, `"id":`) != 1 {
					t.Errorf("call %s of %s is answered with %.200s", id, tool, answer)
				}
			}
		})
	}
	all.Wait()
}

// newChatty starts a house whose tool says the given amount of what belongs to no request.
func newChatty(t *testing.T, size int) *house {
	t.Helper()
	return newHouse(t, tool{"say", func(_ context.Context, c *call) (string, error) {
		return "said", c.log(t.Context(), strings.Repeat("x", size)+string(c.Params.(*mcp.CallToolParamsRaw).Arguments))
	}})
}

// say has the session's server say something with the number in it.
func (h *house) say(t *testing.T, header map[string]string, n int) {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"say","arguments":{"n":%d}}}`, 100+n, n)
	if resp, answer := h.do(t, "POST", h.url, body, header); resp.StatusCode != http.StatusOK || !strings.Contains(answer, `"said"`) {
		t.Errorf("the call is answered with %d %s", resp.StatusCode, answer)
	}
}

// listens has the session's client hear what its servers log.
func (h *house) listens(t *testing.T) map[string]string {
	t.Helper()
	header := h.session(t)
	h.do(t, "POST", h.url, setLevel, header)
	return header
}

const setLevel = `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}`

// awaitSaid waits for what the server said with the number.
func awaitSaid(t *testing.T, events <-chan string, n int) {
	t.Helper()
	for !strings.Contains(next(t, events, fmt.Sprintf("message %d", n)), fmt.Sprintf(`{\"n\":%d}`, n)) {
	}
}

// TestTheNewestStreamTakesOver opens a session's stream again while the one
// before is open, as for a bridge that has not heard yet that it is not.
func TestTheNewestStreamTakesOver(t *testing.T) {
	t.Parallel()
	h := newChatty(t, 1)
	header := h.listens(t)
	resp, former := h.events(t, "GET", "", header)
	if resp.Header.Get("X-Accel-Buffering") != "no" {
		t.Error("a session's stream without X-Accel-Buffering: no")
	}
	next(t, former, "beginning of the stream")
	for n := range 3 {
		resp, events := h.events(t, "GET", "", header)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("the stream is answered with %d", resp.StatusCode)
		}
		for range former { // Until it has ended.
		}
		h.say(t, header, n)
		awaitSaid(t, events, n)
		former = events
	}
}

// TestOneOfManyStreamsIsLeft opens a session's stream many times at once.
func TestOneOfManyStreamsIsLeft(t *testing.T) {
	t.Parallel()
	h := newChatty(t, 1)
	header := h.listens(t)
	var all sync.WaitGroup
	heards := make(chan bool, 20)
	for range cap(heards) {
		all.Go(func() {
			resp, events := h.events(t, "GET", "", header)
			if resp.StatusCode != http.StatusOK {
				t.Errorf("the stream is answered with %d", resp.StatusCode)
			}
			go func() {
				found := false
				for event := range events {
					if found = strings.Contains(event, `{\"n\":7}`); found {
						break
					}
				}
				heards <- found
			}()
		})
	}
	all.Wait()
	h.say(t, header, 7)
	count := 0
	for range cap(heards) {
		if next(t, heards, "end of a stream, or the message") {
			count++
		}
	}
	if count != 1 {
		t.Errorf("%d streams had the message, want one", count)
	}
}

// TestAnAnswerGoesToTheNewestStream asks for the rest of an answer while its
// POST, and another request for it, are open.
func TestAnAnswerGoesToTheNewestStream(t *testing.T) {
	t.Parallel()
	h, began, release := newHanging(t)
	defer release()
	header := h.session(t)
	_, former := h.events(t, "POST", toolCall("42", "hang"), header)
	header["Last-Event-Id"] = idOf(t, next(t, former, "first event"))
	next(t, began, "call")
	for range 2 {
		resp, events := h.events(t, "GET", "", header)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("the stream is answered with %d", resp.StatusCode)
		}
		for event := range former {
			if strings.Contains(event, "data: {") {
				t.Errorf("the one before ends with %s", event)
			}
		}
		former = events
	}
	release()
	if answer := next(t, former, "answer"); !strings.Contains(answer, `"id":42`) || !strings.Contains(answer, "done") {
		t.Errorf("answer = %s", answer)
	}
}

// TestAStreamIsTakenFromWhoReadsNothing opens a session's stream again while the
// bridge writes to a client that is gone without a word.
func TestAStreamIsTakenFromWhoReadsNothing(t *testing.T) {
	t.Parallel()
	h := newChatty(t, 1<<10)
	header := h.listens(t)
	listener := pipes.New()
	front := &http.Server{Handler: h.front.Config.Handler}
	go func() { _ = front.Serve(listener) }()
	defer front.Close()
	conn := must.Value(listener.Dial(t.Context(), "", ""))(t)
	must.Value(fmt.Fprintf(conn, "GET /mcp HTTP/1.1\r\nHost: bridge\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\nMcp-Protocol-Version: 2025-11-25\r\n\r\n", header["Mcp-Session-Id"]))(t)
	read := func(text string) {
		for got := []byte{}; !bytes.HasSuffix(got, []byte(text)); {
			got = append(got, 0)
			must.Value(conn.Read(got[len(got)-1:]))(t)
		}
	}
	read(": ok\n\n")
	_, call := h.events(t, "POST", toolCall("1", "say"), header)
	read("event: message\n") // The rest of the event waits for a reader.
	resp, events := h.events(t, "GET", "", header)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the stream is answered with %d", resp.StatusCode)
	}
	for range call { // Until its answer is there.
	}
	h.say(t, header, 7)
	awaitSaid(t, events, 7)
}

// TestAnAnswerThatIsTooLargeToKeepTakesNoOthersPlace asks for an answer of another session again, and for its own.
func TestAnAnswerThatIsTooLargeToKeepTakesNoOthersPlace(t *testing.T) {
	t.Parallel()
	h := newHouse(t,
		tool{"plain", func(context.Context, *call) (string, error) { return "hello", nil }},
		tool{"huge", func(context.Context, *call) (string, error) { return strings.Repeat("x", ReplayBytes), nil }})
	a, b := h.session(t), h.session(t)
	_, small := h.do(t, "POST", h.url, toolCall("7", "plain"), a)
	_, large := h.do(t, "POST", h.url, toolCall("8", "huge"), b)
	a["Last-Event-Id"], b["Last-Event-Id"] = idOf(t, small), idOf(t, large)
	if _, again := h.do(t, "GET", h.url, "", a); !strings.Contains(again, "hello") {
		t.Errorf("the small answer is gone: %s", again)
	}
	if _, again := h.do(t, "GET", h.url, "", b); !strings.Contains(again, "answer_lost") {
		t.Errorf("the large answer is %.200s", again)
	}
}

// TestASessionEndsThoughItsClientDoesNotRead has a client read the beginning of an answer alone, and end the session.
// It takes YieldTimeout: a bubble's clock stands while a goroutine waits for a mutex.
func TestASessionEndsThoughItsClientDoesNotRead(t *testing.T) {
	t.Parallel()
	h := newHouse(t, tool{"big", func(context.Context, *call) (string, error) { return strings.Repeat("x", 1<<20), nil }})
	header := h.session(t)
	listener := pipes.New()
	front := &http.Server{Handler: h.front.Config.Handler}
	go func() { _ = front.Serve(listener) }()
	defer front.Close()
	client := &http.Client{Transport: &http.Transport{DialContext: listener.Dial, DisableKeepAlives: true}}
	req := must.Value(http.NewRequestWithContext(t.Context(), "POST", "http://bridge/mcp", strings.NewReader(toolCall("2", "big"))))(t)
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {header["Mcp-Session-Id"]}}
	resp := must.Value(client.Do(req))(t)
	defer resp.Body.Close()
	must.Value(resp.Body.Read(make([]byte, 1)))(t)
	if resp, _ := h.do(t, "DELETE", h.url, "", header); resp.StatusCode != http.StatusNoContent {
		t.Errorf("DELETE is answered with %d", resp.StatusCode)
	}
}

// TestAStreamIsOpenedWhoseBeginningIsGone opens it without naming an event, and
// by one that is not kept any more.
func TestAStreamIsOpenedWhoseBeginningIsGone(t *testing.T) {
	t.Parallel()
	h := newChatty(t, 1<<20)
	header := h.listens(t)
	_, events := h.events(t, "GET", "", header)
	next(t, events, "beginning of the stream")
	h.say(t, header, 0)
	first := idOf(t, next(t, events, "first message"))
	const more = 2 * ReplayBytes >> 20
	for n := range more {
		h.say(t, header, n+1)
		awaitSaid(t, events, n+1)
	}
	for _, last := range []string{"", first} {
		if last != "" {
			header["Last-Event-Id"] = last
		}
		resp, events := h.events(t, "GET", "", header)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("after %q the stream is answered with %d", last, resp.StatusCode)
		}
		awaitSaid(t, events, more)
	}
}

// TestAStreamOfMessagesGoesOnAfterARestart asks the new process for what comes after an event of the
// former one, which had more events.
func TestAStreamOfMessagesGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	h := newChatty(t, 1)
	header := h.listens(t)
	_, events := h.events(t, "GET", "", header)
	next(t, events, "beginning of the stream")
	last := ""
	for n := range 5 {
		h.say(t, header, n)
		last = idOf(t, next(t, events, "message"))
	}
	h.move(t)
	h.do(t, "POST", h.url, setLevel, header) // A restored session has none.
	h.say(t, header, 10)
	h.say(t, header, 11)
	for _, after := range []string{"", last} {
		if after != "" {
			header["Last-Event-Id"] = after
		}
		_, events := h.events(t, "GET", "", header)
		awaitSaid(t, events, 10)
		awaitSaid(t, events, 11)
		h.front.CloseClientConnections()
	}
}

// TestACallCanBeCancelled cancels a call as soon as its server has it. Its request ends, nothing
// answers it, and the rest of its stream is gone: some clients ask for it for ever where they get
// neither an answer nor a refusal.
func TestACallCanBeCancelled(t *testing.T) {
	t.Parallel()
	h, began, _ := newHanging(t)
	header := h.session(t)
	for _, id := range []string{`7`, `9007199254740993`, `"a\/b"`} { // The SDK would round the second.
		delete(header, "Last-Event-Id")
		resp, events := h.events(t, "POST", toolCall(id, "hang"), header)
		next(t, began, "call")
		h.do(t, "POST", h.url, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`, header)
		for event := range events {
			if strings.Contains(event, `"id":`) || resp.StatusCode != http.StatusOK {
				t.Errorf("call %s ends with %d %s, want no answer", id, resp.StatusCode, event)
			}
			header["Last-Event-Id"] = idOf(t, event)
		}
		if resp, answer := h.do(t, "GET", h.url, "", header); resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("the rest of call %s is %d %s, want none", id, resp.StatusCode, answer)
		}
	}
}

// TestAnIDInUseIsRefused calls with the id of a call that is in progress, and again and again once
// its answer has arrived.
func TestAnIDInUseIsRefused(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]string{
		"the same call":           toolCall("7", "hang"),
		"a call with more fields": strings.TrimSuffix(toolCall("7", "hang"), "}") + `,"x":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, began, release := newHanging(t)
			header := h.session(t)
			_, events := h.events(t, "POST", toolCall("7", "hang"), header)
			next(t, began, "call")
			if resp, body := h.do(t, "POST", h.url, second, header); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "duplicate in-flight request ID 7") {
				t.Errorf("the second is answered with %d %s", resp.StatusCode, body)
			}
			release()
			got := ""
			for event := range events {
				got += event
			}
			for n := range 100 {
				if !strings.Contains(got, `"id":7,"result"`) {
					t.Fatalf("call %d is answered with %s", n, got)
				}
				_, got = h.do(t, "POST", h.url, second, header)
				next(t, began, "call")
			}
		})
	}
}

// awaitMessage returns the id of the next message on a stream with the method,
// in JSON, and its parameters.
func awaitMessage(t *testing.T, events <-chan string, method string) (id, params string) {
	t.Helper()
	for {
		event, ok := <-events
		if !ok {
			t.Fatalf("the stream ends without %s", method)
		}
		_, data, _ := strings.Cut(event, "data: ")
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal([]byte(data), &m) == nil && m.Method == method {
			return string(m.ID), string(m.Params)
		}
	}
}

// TestAQuestionIsAskedAgainUntilItIsAnswered resumes the stream of a call that asks twice. A client would show the
// dialog again that its user has answered.
func TestAQuestionIsAskedAgainUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	h := newHouse(t, tool{"ask", func(ctx context.Context, c *call) (string, error) {
		for _, text := range []string{"first?", "second?"} {
			if _, err := c.Send(ctx, methods.Elicit, &mcp.ElicitParams{Message: text}); err != nil {
				return "", err
			}
		}
		return "done", nil
	}})
	header := h.session(t)
	_, events := h.events(t, "POST", toolCall("7", "ask"), header)
	header["Last-Event-Id"] = idOf(t, next(t, events, "first event"))
	resumed := func() <-chan string {
		_, events := h.events(t, "GET", "", header)
		return events
	}
	answer := func(body string) {
		t.Helper()
		bare := map[string]string{"Mcp-Session-Id": header["Mcp-Session-Id"], "Mcp-Protocol-Version": header["Mcp-Protocol-Version"]}
		if resp, text := h.do(t, "POST", h.url, body, bare); resp.StatusCode != http.StatusAccepted {
			t.Errorf("%s is answered with %d %s", body, resp.StatusCode, text)
		}
	}
	id, _ := awaitMessage(t, events, methods.Elicit)
	if again, params := awaitMessage(t, resumed(), methods.Elicit); again != id || !strings.Contains(params, "first?") {
		t.Errorf("the question %s is asked again as %s %s", id, again, params)
	}
	answer(`{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"decline"}}`)
	events = resumed()
	second, params := awaitMessage(t, events, methods.Elicit)
	if !strings.Contains(params, "second?") {
		t.Fatalf("the question that was answered is asked again: %s", params)
	}
	answer(`{"jsonrpc":"2.0","id":` + second + `,"error":{"code":-1,"message":"no"}}`)
	for range events { // Until the call has ended.
	}
	if _, rest := h.do(t, "GET", h.url, "", header); strings.Contains(rest, methods.Elicit) || !strings.Contains(rest, `"id":7,"error"`) {
		t.Errorf("the rest of the stream is %s", rest)
	}
}

// TestAQuestionThatWasAnsweredIsNoRestOfACall cancels a call that has asked, and has the client ask for the rest of it.
func TestAQuestionThatWasAnsweredIsNoRestOfACall(t *testing.T) {
	t.Parallel()
	h := newHouse(t, tool{"ask", func(ctx context.Context, c *call) (string, error) {
		_, _ = c.Send(ctx, methods.Elicit, &mcp.ElicitParams{Message: "sure?"})
		<-ctx.Done()
		return "", ctx.Err()
	}})
	header := h.session(t)
	_, events := h.events(t, "POST", toolCall("7", "ask"), header)
	first := idOf(t, next(t, events, "first event"))
	id, _ := awaitMessage(t, events, methods.Elicit)
	h.do(t, "POST", h.url, `{"jsonrpc":"2.0","id":`+id+`,"result":{"action":"decline"}}`, header)
	h.do(t, "POST", h.url, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, header)
	for range events { // Until the call has ended.
	}
	header["Last-Event-Id"] = first
	if resp, rest := h.do(t, "GET", h.url, "", header); resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("the rest of the call is %d %s, want none", resp.StatusCode, rest)
	}
}

// TestAnInvalidAnswerEndsItsQuestion over each transport of HTTP. A call would wait for ever, since its client has said
// what it had to say.
func TestAnInvalidAnswerEndsItsQuestion(t *testing.T) {
	t.Parallel()
	h := newHouse(t, tool{"ask", func(ctx context.Context, c *call) (string, error) {
		_, err := c.Send(ctx, methods.Elicit, &mcp.ElicitParams{Message: "sure?"})
		return "", err
	}})
	refused := func(address, body string, header map[string]string) {
		t.Helper()
		if resp, text := h.do(t, "POST", address, body, header); resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, "it has neither a result nor an error") {
			t.Errorf("the answer is answered with %d %s", resp.StatusCode, text)
		}
	}
	header := h.session(t)
	_, streamable := h.events(t, "POST", toolCall("7", "ask"), header)
	id, _ := awaitMessage(t, streamable, methods.Elicit)
	refused(h.url, `{"jsonrpc":"2.0","id":`+id+`}`, header)
	_, sse, address := h.openSSE(t)
	h.do(t, "POST", address, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{}}}`, nil)
	next(t, sse, "answer to initialize")
	h.do(t, "POST", address, toolCall("7", "ask"), nil)
	id, _ = awaitMessage(t, sse, methods.Elicit)
	refused(address, `{"jsonrpc":"2.0","id":`+id+`}`, nil)
	for name, events := range map[string]<-chan string{"streamable HTTP": streamable, "HTTP+SSE": sse} {
		if answer := next(t, events, "end of the call over "+name); !strings.Contains(answer, `"id":7,"error"`) {
			t.Errorf("over %s the call ends with %s", name, answer)
		}
	}
}

// TestAnAnswerIsNotTakenForThatToAnotherQuestion has a user answer a dialog after
// the bridge has restarted and asked something else.
func TestAnAnswerIsNotTakenForThatToAnotherQuestion(t *testing.T) {
	t.Parallel()
	withdrawn, heard := make(chan context.CancelFunc, 4), make(chan struct{})
	h := newHouse(t, tool{"ask", func(ctx context.Context, c *call) (string, error) {
		asking, cancel := context.WithCancel(ctx)
		defer cancel()
		withdrawn <- cancel
		answer, err := c.Send(asking, methods.Elicit, &mcp.ElicitParams{Message: "sure?"})
		if err != nil {
			if ctx.Err() == nil && asking.Err() != nil {
				<-heard // What comes after the result nobody would get.
			}
			return "", err
		}
		return string(must.Value(message.RawAnswer(answer))(t)), nil
	}})
	header := h.session(t)
	answer := func(id, name string) {
		t.Helper()
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":%q}}}`, id, name)
		if resp, _ := h.do(t, "POST", h.url, body, header); resp.StatusCode != http.StatusAccepted {
			t.Errorf("the answer to %s is answered with %d", id, resp.StatusCode)
		}
	}
	ask := func(id string) <-chan string {
		_, events := h.events(t, "POST", toolCall(id, "ask"), header)
		return events
	}
	before, _ := awaitMessage(t, ask("2"), "elicitation/create")
	h.move(t)
	events := ask("3")
	after, _ := awaitMessage(t, events, "elicitation/create")
	for _, id := range []string{before, "1", `"1"`, `"-1"`, strings.Replace(after, "-1", "-x", 1)} {
		answer(id, "old")
	}
	answer(after, "new")
	if result := next(t, events, "result"); !strings.Contains(result, `\"new\"`) {
		t.Errorf("the call is answered with %s", result)
	}

	for len(withdrawn) > 0 {
		<-withdrawn
	}
	events = ask("4")
	asked, _ := awaitMessage(t, events, "elicitation/create")
	next(t, withdrawn, "question")()
	defer close(heard)
	if _, params := awaitMessage(t, events, "notifications/cancelled"); !strings.Contains(params, `"requestId":`+asked) {
		t.Errorf("%s is withdrawn with %s", asked, params)
	}
}
