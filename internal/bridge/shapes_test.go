// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// serverKinds are the servers, each with its transport and era.
var serverKinds = map[string]struct {
	kind bridgeconfig.Transport
	era  string
}{
	"legacy HTTP":     {era: "legacy"},
	"modern HTTP":     {era: "modern"},
	"HTTP+SSE":        {kind: bridgeconfig.SSE, era: "legacy"},
	"legacy program":  {kind: bridgeconfig.Stdio, era: "legacy"},
	"current program": {kind: bridgeconfig.Stdio, era: "modern"},
}

// shapeRig is a client and a server with a bridge between them.
type shapeRig struct {
	t      *testing.T
	server *mirror
	client *shapeClient
	prefix string // of names, where there are several servers
}

// forShapes runs a test for each client with each server, alone and beside another.
func forShapes(t *testing.T, run func(*shapeRig)) {
	for serverKind := range serverKinds {
		for clientKind, open := range clientKinds {
			for _, several := range []bool{false, true} {
				name := fmt.Sprintf("%s client, %s server, several=%v", clientKind, serverKind, several)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					of := serverKinds[serverKind]
					s := &shapeRig{t: t, server: &mirror{kind: of.kind, era: of.era}}
					servers := []bridgeconfig.Server{s.server.start(t)}
					if several {
						other := serveMCP(t, echoServer("two"), "legacy")
						t.Cleanup(other.Close)
						servers = append(servers, bridgeconfig.Server{Name: "two", URL: other.URL})
						s.prefix = "one_"
					}
					slow := fast
					slow.Interval = time.Hour
					r := newRig(t, slow, servers...)
					awaitLists(t, r.bridge)
					s.client = open(t, r)
					run(s)
				})
			}
		}
	}
}

// canonical returns JSON in one form: with sorted members, and numbers as they are spelled.
func canonical(t *testing.T, text string) string {
	t.Helper()
	if text == none {
		return none
	}
	var v any
	if err := jsondoc.DecodeExact([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return string(jsondoc.EncodeExact(v))
}

// without returns an object without members, and without members of its metadata. Metadata that
// has nothing left is left out too.
func without(text string, members, meta []string) string {
	if text == none || len(members)+len(meta) == 0 {
		return text
	}
	fields := fieldsOfText(text)
	for _, name := range members {
		delete(fields, name)
	}
	if raw, ok := fields["_meta"]; ok && len(meta) > 0 {
		left := fieldsOfText(string(raw))
		for _, name := range meta {
			delete(left, name)
		}
		if fields["_meta"] = json.RawMessage(textOfFields(left)); len(left) == 0 {
			delete(fields, "_meta")
		}
	}
	return textOfFields(fields)
}

// The metadata by which a request of 2026-07-28 describes its client: it has no place in the
// earlier versions, and the bridge adds it for a server that needs it.
var describing = []string{message.MetaProtocolVersion, message.MetaClientInfo, message.MetaClientCaps, message.MetaLogLevel}

// changesOfParams are the metadata that the bridge has to change in requests.
func (s *shapeRig) changesOfParams() []string {
	var changed []string
	if s.client.era != s.server.era {
		changed = append(changed, describing...)
	}
	if s.server.kind == bridgeconfig.Stdio {
		changed = append(changed, message.MetaHops) // A program has no headers.
	}
	if s.client.era == "modern" || s.server.kind == bridgeconfig.Stdio {
		changed = append(changed, message.MetaProgressToken) // Connections that clients share have tokens of their own.
	}
	return changed
}

// changesOfResults are the members and metadata that the bridge has to change in results: those
// that only 2026-07-28 has, of which a result must have some, and caching, which is for the user alone.
func (s *shapeRig) changesOfResults() (members, meta []string) {
	if s.client.era == "legacy" && s.server.era == "legacy" {
		return nil, nil
	}
	return []string{"resultType", "ttlMs", "cacheScope"}, []string{message.MetaServerInfo}
}

// params returns the parameters as the client of the test sends them.
func (s *shapeRig) params(text string) string {
	if s.client.era == "legacy" {
		return text
	}
	fields := fieldsOfText(text)
	meta := fieldsOfText(string(fields["_meta"]))
	meta[message.MetaProtocolVersion] = json.RawMessage(`"2026-07-28"`)
	meta[message.MetaClientCaps] = json.RawMessage(shapeCapabilities)
	meta[message.MetaLogLevel] = json.RawMessage(`"debug"`)
	fields["_meta"] = json.RawMessage(textOfFields(meta))
	return textOfFields(fields)
}

// named returns the parameters with the names that clients see.
func (s *shapeRig) named(text string) string {
	for _, name := range []string{"t", "p"} {
		text = strings.Replace(text, `"name":"`+name+`"`, `"name":"`+s.prefix+name+`"`, 1)
	}
	return text
}

func (s *shapeRig) compare(what, want, got string) {
	s.t.Helper()
	if want, got = canonical(s.t, want), canonical(s.t, got); want != got {
		s.t.Errorf("%s\n sent     %s\n received %s", what, want, got)
	}
}

// TestRequestsAndResultsKeepTheirShape sends each shape of a request, and has it answered with each
// shape of a result.
func TestRequestsAndResultsKeepTheirShape(t *testing.T) {
	t.Parallel()
	forShapes(t, func(s *shapeRig) {
		for method, all := range requestShapes {
			for i := range max(len(all), len(resultShapes[method])) {
				s.exchange(method, all[i%len(all)], resultShapes[method][i%len(resultShapes[method])])
			}
		}
		if s.prefix != "" {
			return // Lists of several servers are the bridge's own.
		}
		for method, all := range listedShapes {
			for i := range max(len(all), len(pages)) {
				s.exchange(method, pages[i%len(pages)], all[i%len(all)])
			}
		}
	})
}

// exchange has one request answered and compares both.
func (s *shapeRig) exchange(method, params, result string) {
	s.t.Helper()
	got := make(chan string, 100)
	s.server.use(func(_ *mirrorConn, m rpcText) string {
		if m.Method != method {
			return ""
		}
		got <- string(m.Params)
		return result
	})
	answer := s.client.send(method, s.params(s.named(params)))
	if answer.Result == nil {
		s.t.Errorf("%s %s with the result %s: %s", method, params, result, answer.Error)
		return
	}
	sent, changed := s.params(params), s.changesOfParams()
	if sent == none && (s.client.era != s.server.era || s.server.kind == bridgeconfig.Stdio) {
		sent = `{}` // The bridge adds metadata.
	}
	s.compare(method+" of the client", without(sent, nil, changed), without(next(s.t, got, method), nil, changed))
	members, meta := s.changesOfResults()
	s.compare("result of "+method, without(result, members, meta), without(string(answer.Result), members, meta))
}

// TestErrorsKeepTheirShape has calls answered with each shape of an error.
func TestErrorsKeepTheirShape(t *testing.T) {
	t.Parallel()
	forShapes(t, func(s *shapeRig) {
		for _, failure := range failures {
			s.server.use(func(_ *mirrorConn, m rpcText) string {
				if m.Method != "tools/call" {
					return ""
				}
				return "!" + failure
			})
			answer := s.client.send("tools/call", s.params(s.named(`{"name":"t"}`)))
			s.compare("error", failure, string(answer.Error))
		}
	})
}

// TestQuestionsKeepTheirShape has a server ask the client in each shape of a question, during a call,
// and the client answer in each shape.
func TestQuestionsKeepTheirShape(t *testing.T) {
	t.Parallel()
	forShapes(t, func(s *shapeRig) {
		for method, asked := range questionShapes {
			asked = slices.Clone(asked)
			if s.client.era == "modern" || s.server.era == "modern" {
				// Questions of 2026-07-28 always have parameters.
				asked = slices.DeleteFunc(asked, func(text string) bool { return text == none })
			}
			asked = slices.Compact(slices.Sorted(slices.Values(asked)))
			for round := range (len(replyShapes[method]) + len(asked) - 1) / len(asked) {
				s.ask(method, asked, round*len(asked))
			}
		}
	})
}

// ask has the server ask questions of one method in one call. The first is answered with the
// reply of that number, and so on.
func (s *shapeRig) ask(method string, asked []string, first int) {
	replyTo := func(i int) string { return replyShapes[method][(first+i)%len(replyShapes[method])] }
	index := map[string]int{}
	for i, params := range asked {
		index[canonical(s.t, params)] = i
	}
	s.client.reply = func(got string, params json.RawMessage) string {
		i, ok := index[canonical(s.t, string(params))]
		if !ok || got != method {
			s.t.Errorf("the client is asked %s %s, which no server asked", got, params)
		}
		return replyTo(i)
	}
	s.server.use(func(c *mirrorConn, m rpcText) string {
		switch {
		case m.Method != "tools/call":
			return ""
		case s.server.era == "legacy":
			var waiting sync.WaitGroup
			for i, params := range asked {
				waiting.Go(func() {
					answer := c.ask(s.t, method, params)
					if answer.Result == nil {
						s.t.Errorf("%s %s: %s", method, params, answer.Error)
						return
					}
					s.compare("answer to "+method, replyTo(i), string(answer.Result))
				})
			}
			waiting.Wait()
			return `{"content":[]}`
		}
		fields := fieldsOfText(string(m.Params))
		if fields["inputResponses"] == nil {
			return s.inputRequired(method, asked)
		}
		responses := fieldsOfText(string(fields["inputResponses"]))
		for i := range asked {
			s.compare("answer to "+method, replyTo(i), string(responses[fmt.Sprint(i)]))
		}
		s.compare("state", `"state"`, string(fields["requestState"]))
		return `{"content":[]}`
	})
	answer := s.client.send("tools/call", s.params(s.named(`{"name":"t"}`)))
	if answer.Result == nil {
		s.t.Errorf("%s: %s", method, answer.Error)
	}
}

// inputRequired returns the result by which a server of 2026-07-28 asks.
func (s *shapeRig) inputRequired(method string, asked []string) string {
	all := map[string]json.RawMessage{}
	for i, params := range asked {
		all[fmt.Sprint(i)] = json.RawMessage(`{"method":"` + method + `","params":` + params + `}`)
	}
	return `{"resultType":"input_required","requestState":"state","inputRequests":` + textOfFields(all) + `}`
}

// TestNotificationsKeepTheirShape has a server send each shape of a notification during a call.
func TestNotificationsKeepTheirShape(t *testing.T) {
	t.Parallel()
	forShapes(t, func(s *shapeRig) {
		for method, all := range during {
			if method == methods.ElicitationComplete && s.server.era == "modern" {
				continue
			}
			s.notify(method, all)
		}
	})
}

// notify has the server send notifications, and compares those that the client gets.
func (s *shapeRig) notify(method string, all []string) {
	const token = `9007199254740993`
	s.server.use(func(c *mirrorConn, m rpcText) string {
		if m.Method != "tools/call" {
			return ""
		}
		seen := fieldsOfText(string(fieldsOfText(string(m.Params))["_meta"]))["progressToken"]
		for _, params := range all {
			c.say(request("", method, strings.ReplaceAll(params, "%s", string(seen))))
		}
		return `{"content":[]}`
	})
	if answer := s.client.send("tools/call", s.params(s.named(`{"name":"t","_meta":{"progressToken":`+token+`}}`))); answer.Result == nil {
		s.t.Fatalf("%s: %s", method, answer.Error)
	}
	for _, params := range all {
		s.compare(method, strings.ReplaceAll(params, "%s", token), string(s.nextNote(method).Params))
	}
}

// TestNotificationsOutsideOfCallsKeepTheirShape has a server of the earlier versions send each shape
// of a notification that belongs to no call, and the client send those of its own.
func TestNotificationsOutsideOfCallsKeepTheirShape(t *testing.T) {
	t.Parallel()
	forShapes(t, func(s *shapeRig) {
		if s.client.era == "modern" || s.server.era == "modern" {
			return // There the notifications are the bridge's own, of what clients listen for.
		}
		heard := make(chan rpcText, 1000)
		s.server.use(func(_ *mirrorConn, m rpcText) string {
			if m.Method == methods.RootsChanged {
				heard <- m
			}
			return ""
		})
		for _, method := range []string{"logging/setLevel", "resources/subscribe"} {
			params := map[string]string{"logging/setLevel": `{"level":"debug"}`, "resources/subscribe": `{"uri":"x:y"}`}[method]
			if m := s.client.send(method, params); m.Result == nil {
				s.t.Fatalf("%s: %s", method, m.Error)
			}
		}
		s.client.send("resources/read", `{"uri":"x:y"}`) // The connection of the session is open.
		for method, all := range unasked {
			if strings.HasSuffix(method, "/list_changed") && (s.prefix != "" || s.server.kind == bridgeconfig.Stdio) {
				continue // The bridge announces the lists of several servers, and paces those of a shared connection.
			}
			s.notifyUnasked(method, all)
		}
		if s.server.kind == bridgeconfig.Stdio {
			return // A shared connection has no roots.
		}
		for _, params := range append([]string{none}, shape{base: `{}`}.all()...) {
			s.client.post(request("", "notifications/roots/list_changed", params), "", "", s.client.hear)
			s.compare("notification of the client", params, string(next(s.t, heard, "notification of the client").Params))
		}
	})
}

// notifyUnasked has the server send notifications on the connection of the session.
func (s *shapeRig) notifyUnasked(method string, all []string) {
	s.t.Helper()
	s.server.mu.Lock()
	conn := s.server.conns[len(s.server.conns)-1] // The one before is that of the bridge itself.
	s.server.mu.Unlock()
	for _, params := range all {
		conn.say(request("", method, params))
	}
	for _, params := range all {
		got := string(s.nextNote(method).Params)
		for strings.HasSuffix(method, "/list_changed") && got == `{}` && params != `{}` {
			got = string(s.nextNote(method).Params) // The bridge announced the list itself.
		}
		s.compare(method, params, got)
	}
}

// nextNote returns the client's next notification of a method. The bridge announces lists too, when
// it has read them.
func (s *shapeRig) nextNote(method string) rpcText {
	s.t.Helper()
	for {
		m := next(s.t, s.client.notes, method)
		if m.Method == method {
			return m
		}
		if !strings.HasSuffix(m.Method, "/list_changed") {
			s.t.Fatalf("%s came, want %s", m.Method, method)
		}
	}
}
