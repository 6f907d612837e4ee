// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// invalidAnswers are answers that no request of JSON-RPC can have, of which %s is the id, with what
// the client is told.
var invalidAnswers = map[string]struct{ format, says string }{
	"another id":            {`{"jsonrpc":"2.0","id":4711,"result":{"content":[]}}`, "its id is not that of the request"},
	"the id as a text":      {`{"jsonrpc":"2.0","id":"%s","result":{"content":[]}}`, "its id is not that of the request"},
	"a null id":             {`{"jsonrpc":"2.0","id":null,"result":{"content":[]}}`, "it has no id"},
	"no id":                 {`{"jsonrpc":"2.0","result":{"content":[]}}`, "it has no id"},
	"an old version":        {`{"jsonrpc":"1.0","id":%s,"result":{"content":[]}}`, `its "jsonrpc" is not "2.0"`},
	"a version to come":     {`{"jsonrpc":"3","id":%s,"result":{"content":[]}}`, `its "jsonrpc" is not "2.0"`},
	"no version":            {`{"id":%s,"result":{"content":[]}}`, `it has no "jsonrpc"`},
	"a result and an error": {`{"jsonrpc":"2.0","id":%s,"result":{"content":[]},"error":{"code":1,"message":"m"}}`, "it has both a result and an error"},
	"a result twice":        {`{"jsonrpc":"2.0","id":%s,"result":{"content":[]},"result":{"content":[]}}`, `it has the member "result" twice`},
	"a result twice and an error": {
		`{"jsonrpc":"2.0","id":%s,"result":{},"result":{},"error":{"code":1,"message":"m"}}`, `it has the member "result" twice`,
	},
	"neither of them": {`{"jsonrpc":"2.0","id":%s}`, "it has neither a result nor an error"},
	"an id twice":     {`{"jsonrpc":"2.0","id":%s,"id":4711,"result":{"content":[]}}`, `it has the member "id" twice`},
}

// answeringWays serve a server that answers a call with the format in its argument.
var answeringWays = map[string]func(t *testing.T) bridgeconfig.Server{
	"JSON": func(t *testing.T) bridgeconfig.Server { return answeringHTTP(t, "application/json", "%s", false) },
	"an event stream": func(t *testing.T) bridgeconfig.Server {
		return answeringHTTP(t, "text/event-stream", "data: %s\n\n", false)
	},
	"an event stream that stays open": func(t *testing.T) bridgeconfig.Server {
		return answeringHTTP(t, "text/event-stream", "data: %s\n\n", true)
	},
	"an event that the end of the stream ends": func(t *testing.T) bridgeconfig.Server {
		return answeringHTTP(t, "text/event-stream", "data: %s\n", false)
	},
	"an event whose line does not end": func(t *testing.T) bridgeconfig.Server {
		return answeringHTTP(t, "text/event-stream", "data: %s", false)
	},
	"HTTP+SSE": func(t *testing.T) bridgeconfig.Server {
		s := &dialogue{endpoint: "/messages", answer: func(m received, say func(string, ...any)) {
			if m.Method == methods.CallTool {
				say("%s", strings.ReplaceAll(m.Params.Arguments.Format, "%s", string(m.ID)))
			}
		}}
		return s.serve(t, bridgeconfig.SSE)
	},
}

func answeringHTTP(t *testing.T, mediaType, frame string, stay bool) bridgeconfig.Server {
	s := &script{answer: func(w http.ResponseWriter, r *http.Request, m sentMessage, _ int) string {
		var p struct{ Arguments struct{ Format string } }
		_ = json.Unmarshal(m.Params, &p)
		w.Header().Set("Content-Type", mediaType)
		_, _ = fmt.Fprintf(w, frame, strings.ReplaceAll(p.Arguments.Format, "%s", string(m.ID)))
		_ = http.NewResponseController(w).Flush()
		if stay {
			<-r.Context().Done()
		}
		return ""
	}}
	return s.serve(t)
}

// TestAnInvalidAnswerFailsItsCallAtOnce has servers answer in ways that JSON-RPC does not have. The
// call fails in words that say why, its slot is free, and the next one works. What programs answer
// is tested in package stdio.
func TestAnInvalidAnswerFailsItsCallAtOnce(t *testing.T) {
	t.Parallel()
	slow := fast
	slow.Interval = time.Hour
	for way, serve := range answeringWays {
		for clientEra := range eraNames {
			t.Run(way+", "+clientEra+" client", func(t *testing.T) {
				t.Parallel()
				r := newRig(t, slow, serve(t))
				awaitLists(t, r.bridge)
				header := modernHeader("tools/call", "t")
				if clientEra == "legacy" {
					header = r.session(t)
				}
				call := func(format string) map[string]json.RawMessage {
					return answerOf(t, r.callRaw(t, header, `"name":"t","arguments":{"format":`+message.Quote(format)+`}`))
				}
				for name, tt := range invalidAnswers {
					var failure struct {
						Code    int
						Message string
						Data    struct{ Code string }
					}
					answer := call(tt.format)
					_ = json.Unmarshal(answer["error"], &failure)
					if failure.Code != -32603 || failure.Data.Code != rpc.CodeAnswerInvalid || !strings.HasSuffix(failure.Message, tt.says) {
						t.Errorf("%s: the answer is %s %s, want %q", name, answer["result"], answer["error"], tt.says)
					}
				}
				for _, good := range []string{
					`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`,
					`{"jsonrpc":"2.0","id":%s,"result":{"content":[]},"error":null,"x-future":1}`,
					`{"jsonrpc":"2.0","id":%s,"Method":"x","result":{"content":[]}}`,
				} {
					if answer := call(good); answer["result"] == nil {
						t.Errorf("%s is answered with %s", good, answer["error"])
					}
				}
				wait.Until(t, "nothing is in progress", func() bool { return r.bridge.Health().Busy == 0 })
			})
		}
	}
}

// TestACancelledCallHasNoAnswer cancels a call on each connection to clients. Its server is told, in
// the client's words, and the client gets no answer to it, but one to the next request.
func TestACancelledCallHasNoAnswer(t *testing.T) {
	t.Parallel()
	for serverKind := range serverKinds {
		for clientKind, open := range clientKinds {
			if clientKind == "modern HTTP" {
				continue // Such a client closes the request.
			}
			t.Run(clientKind+" client, "+serverKind+" server", func(t *testing.T) {
				t.Parallel()
				began, told := make(chan bool, 1), make(chan rpcText, 1)
				of := serverKinds[serverKind]
				server := &mirror{kind: of.kind, era: of.era}
				server.handle = func(_ *mirrorConn, m rpcText) string {
					switch m.Method {
					case "tools/call":
						began <- true
						<-t.Context().Done()
					case "notifications/cancelled":
						if strings.Contains(string(m.Params), "enough") { // Streams on which the bridge listens are cancelled too.
							told <- m
						}
					}
					return ""
				}
				slow := fast
				slow.Interval = time.Hour
				r := newRig(t, slow, server.start(t))
				awaitLists(t, r.bridge)
				c := open(t, r)
				c.mu.Lock()
				answered := make(chan rpcText, 1)
				c.waiting["77"] = answered
				c.mu.Unlock()
				s := &shapeRig{t: t, server: server, client: c}
				ended := make(chan bool)
				go func() {
					defer close(ended)
					c.post(request("77", "tools/call", s.params(`{"name":"t"}`)), "tools/call", "t", c.hear)
				}()
				next(t, began, "call")
				c.post(request("", "notifications/cancelled", `{"requestId":77,"reason":"<enough>","x-future":1.0}`), "", "", c.hear)
				next(t, ended, "end of the request")
				if of.era == "legacy" || of.kind == bridgeconfig.Stdio {
					m := next(t, told, "cancellation")
					fields := fieldsOfText(string(m.Params))
					delete(fields, "requestId")
					s.compare("cancellation", `{"reason":"<enough>","x-future":1.0}`, textOfFields(fields))
				}
				if m := c.send("tools/list", s.params(`{}`)); m.Result == nil {
					t.Errorf("the next request is answered with %s", m.Error)
				}
				wait.Until(t, "nothing is in progress", func() bool { return r.bridge.Drain(canceled(t)) == 0 })
				select {
				case m := <-answered:
					t.Errorf("the cancelled call is answered with %s %s", m.Result, m.Error)
				default:
				}
			})
		}
	}
}

// TestACancelledQuestionHasNoAnswer has a server cancel its question while the client thinks. The
// client is told, and the server gets no answer, though the client gives one.
func TestACancelledQuestionHasNoAnswer(t *testing.T) {
	t.Parallel()
	for serverKind, of := range serverKinds {
		if of.era == "modern" {
			continue
		}
		for clientKind, open := range clientKinds {
			if strings.HasPrefix(clientKind, "modern") {
				continue // Such a client is asked by a result.
			}
			t.Run(clientKind+" client, "+serverKind+" server", func(t *testing.T) {
				t.Parallel()
				asked, told := make(chan bool, 1), make(chan bool)
				server := &mirror{kind: of.kind, era: of.era}
				answered := make(chan rpcText, 1)
				server.handle = func(c *mirrorConn, m rpcText) string {
					if m.Method != "tools/call" {
						return ""
					}
					server.mu.Lock()
					server.waiting[`"q"`] = answered
					server.mu.Unlock()
					c.say(request(`"q"`, "elicitation/create", `{"message":"m","requestedSchema":{"type":"object","properties":{}}}`))
					<-asked
					c.say(request("", "notifications/cancelled", `{"requestId":"q","reason":"enough","x-future":1.0}`))
					<-told
					return `{"content":[]}`
				}
				slow := fast
				slow.Interval = time.Hour
				r := newRig(t, slow, server.start(t))
				awaitLists(t, r.bridge)
				c := open(t, r)
				c.reply = func(string, json.RawMessage) string {
					asked <- true
					for m := range c.notes {
						if m.Method != "notifications/cancelled" {
							continue
						}
						fields := fieldsOfText(string(m.Params))
						delete(fields, "requestId")
						if got := textOfFields(fields); got != `{"reason":"enough","x-future":1.0}` {
							t.Errorf("the client is told %s", got)
						}
						break
					}
					close(told)
					return `{"action":"accept"}`
				}
				if m := c.send("tools/call", `{"name":"t"}`); m.Result == nil {
					t.Errorf("the call is answered with %s", m.Error)
				}
				if m := c.send("prompts/list", `{}`); m.Result == nil { // Whatever comes before it has come.
					t.Errorf("the next request is answered with %s", m.Error)
				}
				select {
				case m := <-answered:
					t.Errorf("the question is answered with %s %s", m.Result, m.Error)
				default:
				}
			})
		}
	}
}
