// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// headers describes a request by its method and the headers of the protocol.
func headers(a *asked) string {
	text := a.name()
	for _, name := range []string{"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id", "Last-Event-Id", "X-Own"} {
		if values := a.r.Header.Values(name); len(values) > 0 {
			text += " " + strings.ToLower(strings.TrimPrefix(name, "Mcp-")) + "=" + strings.Join(values, ",")
		}
	}
	return text
}

var (
	modernOpening = []string{"server/discover protocol-version=2026-07-28 method=server/discover"}
	legacyOpening = []string{
		modernOpening[0], "initialize", "notifications/initialized protocol-version=2025-11-25 session-id=s1",
		"GET protocol-version=2025-11-25 session-id=s1",
	}
	pinnedOpening = []string{
		"initialize", "notifications/initialized protocol-version=2025-06-18 session-id=s1",
		"GET protocol-version=2025-06-18 session-id=s1",
	}
)

const unsupported = `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32022,"message":"unsupported","data":{"requested":"x","supported":["2027-12-31","2025-06-18","2026-07-28"]}}}`

func TestAServerIsAskedForTheNewestVersionAndThenInTheWayOfTheVersionsBefore(t *testing.T) {
	t.Parallel()
	type row struct {
		version  string // of the options
		server   string // the version of the server
		discover func(*asked)
		want     []string
	}
	listed := func(supported string) func(*asked) {
		return func(a *asked) { a.result(strings.Replace(discovery, `"2026-07-28"`, supported, 1)) }
	}
	onlyLegacy := strings.NewReplacer(`"2026-07-28"`, `"2024-11-05"`, `"2027-12-31",`, "").Replace(unsupported)
	inBubbles(t, map[string]row{
		"a server of 2026-07-28":                  {"", "2026-07-28", nil, modernOpening},
		"a server that does not know the method":  {"", "2025-11-25", nil, legacyOpening},
		"another JSON-RPC error":                  {"", "2025-11-25", saying(200, "application/json", strings.Replace(unknown, "-32601", "-32600", 1)), legacyOpening},
		"400 without a body":                      {"", "2025-11-25", saying(400, "", ""), legacyOpening},
		"400 with a text":                         {"", "2025-11-25", saying(400, "text/plain", "Bad Request: Server not initialized"), legacyOpening},
		"400 with a JSON-RPC error":               {"", "2025-11-25", saying(400, "application/json", strings.Replace(unknown, "$ID", "null", 1)), legacyOpening},
		"404 without a body":                      {"", "2025-11-25", saying(404, "", ""), legacyOpening},
		"404 with a JSON-RPC error":               {"", "2025-11-25", saying(404, "application/json", unknown), legacyOpening},
		"405":                                     {"", "2025-11-25", saying(405, "text/plain", "Method Not Allowed"), legacyOpening},
		"500":                                     {"", "2025-11-25", saying(500, "text/html", "<html>"), legacyOpening},
		"202":                                     {"", "2025-11-25", saying(202, "", ""), legacyOpening},
		"an answer that is no description":        {"", "2025-11-25", func(a *asked) { a.result(`[]`) }, legacyOpening},
		"a description without a version":         {"", "2025-11-25", listed(""), legacyOpening},
		"a description of versions with sessions": {"", "2025-11-25", listed(`"2025-11-25"`), legacyOpening},
		"unsupported, and only by older versions": {"", "2025-11-25", saying(400, "application/json", onlyLegacy), legacyOpening},
		"unsupported, and nothing said":           {"", "2025-11-25", saying(400, "application/json", strings.Replace(onlyLegacy, `"data":{`, `"other":{`, 1)), legacyOpening},
		"unsupported, and another one of the list": {"2027-01-01", "2026-07-28", func(a *asked) {
			if a.before == 0 {
				a.say(400, "application/json", unsupported)
				return
			}
			a.result(discovery)
		}, []string{strings.Replace(modernOpening[0], "2026-07-28", "2027-01-01", 1), modernOpening[0]}},
		"unsupported again": {"2027-01-01", "2025-11-25", saying(200, "application/json", unsupported), append([]string{
			strings.Replace(modernOpening[0], "2026-07-28", "2027-01-01", 1),
		}, legacyOpening...)},
		"a version with sessions that is set": {"2025-06-18", "2025-06-18", nil, pinnedOpening},
	}, func(t *testing.T, tt row) {
		s := &server{version: tt.server, session: "s1", on: map[string]func(*asked){methods.Discover: tt.discover}}
		session := must.Value(s.dial(t, func(_ *client.HTTP, o *client.Options) { o.Version = tt.version }))(t)
		synctest.Wait()
		if diff := cmp.Diff(tt.want, s.seen(headers)); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		want := client.Server{
			Version: tt.server, Instructions: "Ask.", Info: &mcp.Implementation{Name: "s", Version: "1"},
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
		}
		if diff := cmp.Diff(want, session.Server, cmp.AllowUnexported(client.Server{})); diff != "" || session.Modern() != (tt.server == "2026-07-28") {
			t.Errorf("modern %t, server (-want +got):\n%s", session.Modern(), diff)
		}
	})
}

func TestAServerThatCannotBeOpenedIsAnError(t *testing.T) {
	t.Parallel()
	type row struct {
		on   map[string]func(*asked)
		want string
	}
	const refused = `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"not today"}}`
	inBubbles(t, map[string]row{
		"an unknown version": {
			map[string]func(*asked){methods.Initialize: func(a *asked) { a.result(`{"protocolVersion":"2019-01-01"}`) }},
			`the server wants protocol version "2019-01-01", which is not supported`,
		},
		"a refusal": {
			map[string]func(*asked){methods.Initialize: saying(200, "application/json", refused)},
			`{"code":-32000,"message":"not today"}`,
		},
		"a status": {
			map[string]func(*asked){methods.Initialize: saying(401, "", "")},
			"the server answered with the HTTP status 401 Unauthorized",
		},
		"a refusal of the second message": {
			map[string]func(*asked){methods.Initialized: saying(403, "", "")},
			"the server answered with the HTTP status 403 Forbidden",
		},
		"a stream that fails": {
			map[string]func(*asked){http.MethodGet: saying(502, "text/event-stream", "")},
			"the server answered with the HTTP status 502 Bad Gateway",
		},
	}, func(t *testing.T, tt row) {
		s := &server{version: "2025-11-25", session: "s1", on: tt.on}
		if _, err := s.dial(t, nil); said(err) != tt.want {
			t.Errorf("error = %v, want %s", err, tt.want)
		}
	})
}

func TestTheOpeningDescribesTheClient(t *testing.T) {
	t.Parallel()
	change := func(h *client.HTTP, o *client.Options) {
		h.Header = http.Header{"X-Own": {"mine"}}
		o.Capabilities = map[string]any{"roots": map[string]any{}}
		o.Meta, o.Watch = map[string]any{"traceparent": "00-1"}, true
	}
	meta := func(version string) map[string]any {
		return map[string]any{
			"traceparent": "00-1", mcp.MetaKeyProtocolVersion: version,
			mcp.MetaKeyClientInfo:         map[string]any{"name": "c", "version": "2"},
			mcp.MetaKeyClientCapabilities: map[string]any{"roots": map[string]any{}},
		}
	}
	inBubbles(t, map[string][]any{
		"2026-07-28": {
			map[string]any{"_meta": meta("2026-07-28")},
			map[string]any{"_meta": meta("2026-07-28"), "notifications": map[string]any{"toolsListChanged": true}},
		},
		"2025-11-25": {
			map[string]any{"_meta": meta("2026-07-28")},
			map[string]any{
				"protocolVersion": "2025-11-25", "clientInfo": map[string]any{"name": "c", "version": "2"},
				"capabilities": map[string]any{"roots": map[string]any{}}, "_meta": map[string]any{"traceparent": "00-1"},
			},
			map[string]any{},
		},
	}, func(t *testing.T, want []any) {
		version := strings.Split(t.Name(), "/")[1]
		s := &server{version: version}
		must.Value(s.dial(t, change))(t)
		synctest.Wait()
		var got []any
		for _, text := range s.seen(func(a *asked) string { return string(a.Params) }) {
			var params any
			must.Succeed(t, json.Unmarshal([]byte(text), &params))
			got = append(got, params)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("parameters (-want +got):\n%s", diff)
		}
		for _, line := range s.seen(headers) {
			if !strings.HasSuffix(line, " x-own=mine") {
				t.Errorf("%s has not the header of each request", line)
			}
		}
	})
}

// TestAServerNeedNotTellWhenItsListsChange opens connections whose watch is refused.
func TestAServerNeedNotTellWhenItsListsChange(t *testing.T) {
	t.Parallel()
	inBubbles(t, map[string]func(*asked){
		"a JSON-RPC error": saying(200, "application/json", unknown),
		"a status":         saying(404, "", ""),
		"busy":             saying(503, "", ""),
	}, func(t *testing.T, listen func(*asked)) {
		s := &server{version: "2026-07-28", on: map[string]func(*asked){methods.Listen: listen}}
		session := must.Value(s.dial(t, func(_ *client.HTTP, o *client.Options) { o.Watch = true }))(t)
		if _, err := session.Call(t.Context(), client.Request{Method: methods.ListTools}); err != nil {
			t.Error(err)
		}
		if len(s.only(methods.Listen)) != 1 {
			t.Errorf("requests = %q", s.seen(headers))
		}
	})
}

func TestTheAnswerToTheFirstRequestIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Replace(discovery, "{", `{"x":"`+strings.Repeat("x", 2000)+`",`, 1)
	tooLarge := `{"code":-32603,"message":"the server's answer is larger than 0 MiB","data":{"code":"answer_too_large"}}`
	inBubbles(t, map[string]func(*asked){
		"of a known length":  func(a *asked) { a.result(long) },
		"of no known length": func(a *asked) { a.flow("application/json", `{"jsonrpc":"2.0","id":$ID,"result":`+long+`}`) },
		"in an event stream": func(a *asked) { a.events(`data: {"jsonrpc":"2.0","id":$ID,"result":` + long + "}\n\n") },
	}, func(t *testing.T, answer func(*asked)) {
		s := &server{version: "2025-11-25", on: map[string]func(*asked){methods.Discover: answer, methods.Initialize: answer}}
		if _, err := s.dial(t, func(_ *client.HTTP, o *client.Options) { o.MaxIntroduction = 1000 }); said(err) != tooLarge {
			t.Errorf("error = %s", said(err))
		}
		s.on[methods.Initialize] = nil
		session := must.Value(s.dial(t, func(_ *client.HTTP, o *client.Options) { o.MaxIntroduction = 1000 }))(t)
		s.on[methods.ListTools] = func(a *asked) { a.result(long) }
		if got, err := session.Call(t.Context(), client.Request{Method: methods.ListTools}); string(got) != long {
			t.Errorf("a later answer is bounded, too: %v", err)
		}
	})
}

// TestARequestOfAnOpeningWaitsForABusyServer as long as the opening has time. Calls do not wait.
func TestARequestOfAnOpeningWaitsForABusyServer(t *testing.T) {
	t.Parallel()
	type row struct {
		after  string
		openBy time.Duration // zero for none
		want   []time.Duration
		failed bool
	}
	inBubbles(t, map[string]row{
		"seconds":                             {after: "2", want: []time.Duration{0, 2 * time.Second}},
		"as long as it may take":              {after: "29", want: []time.Duration{0, 29 * time.Second}},
		"longer than a request may wait":      {after: "31", want: []time.Duration{0}, failed: true},
		"longer than the opening has":         {after: "10", openBy: 9 * time.Second, want: []time.Duration{0}, failed: true},
		"a time in the opening's":             {after: "8", openBy: 9 * time.Second, want: []time.Duration{0, 8 * time.Second}},
		"longer than that, in a long opening": {after: "31", openBy: time.Hour, want: []time.Duration{0}, failed: true},
		"no time":                             {after: "soon", want: []time.Duration{0}, failed: true},
	}, func(t *testing.T, tt row) {
		busy := func(a *asked) {
			if a.before == 0 {
				a.w.Header().Set("Retry-After", tt.after)
				a.say(http.StatusTooManyRequests, "", "")
				return
			}
			a.result(strings.Replace(introduction, "%s", "2025-11-25", 1))
		}
		s := &server{version: "2025-11-25", on: map[string]func(*asked){methods.Initialize: busy, methods.CallTool: busy}}
		session, err := s.dial(t, func(_ *client.HTTP, o *client.Options) {
			o.Version = "2025-11-25"
			if tt.openBy > 0 {
				o.OpenBy = time.Now().Add(tt.openBy)
			}
		})
		if diff := cmp.Diff(tt.want, s.when(methods.Initialize)); diff != "" || (err != nil) != tt.failed {
			t.Errorf("error %v, asked (-want +got):\n%s", err, diff)
		}
		if err != nil {
			return
		}
		_, err = session.Call(t.Context(), client.Request{Method: methods.CallTool})
		if status, ok := errors.AsType[*client.StatusError](err); !ok || status.Status != http.StatusTooManyRequests || len(s.only(methods.CallTool)) != 1 {
			t.Errorf("a call gets %v after %d requests", err, len(s.only(methods.CallTool)))
		}
	})
}
