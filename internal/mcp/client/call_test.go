// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/eventstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const (
	progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"hb-1","progress":0.5}}`
	logged   = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`
	elicited = `{"jsonrpc":"2.0","id":1.50,"method":"elicitation/create","params":{"a":1e400}}`
	success  = `{"jsonrpc":"2.0","id":$ID,"result":{"n":12345678901234567890,"a":"\u00e4"}}`
	result   = `{"n":12345678901234567890,"a":"\u00e4"}`
	failure  = `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"no","data":{"n":12345678901234567890}}}`
)

// calling sends a call to a server of sessions that answers it so, and returns what comes of it. The
// connection must outlast it.
func calling(t *testing.T, version string, answer func(*asked), o *observer) (result json.RawMessage, outside []string, err error) {
	t.Helper()
	r := &receiver{}
	s := &server{version: version, session: "s", on: map[string]func(*asked){methods.CallTool: answer, http.MethodGet: saying(405, "", "")}}
	session := s.connect(t, r)
	result, err = session.Call(t.Context(), client.Request{Method: methods.CallTool, Observer: o})
	if got, err := session.Call(t.Context(), client.Request{Method: methods.ListTools}); string(got) != "{}" {
		t.Errorf("the next request gets %s, %v", got, err)
	}
	return result, r.all(), err
}

func TestAnAnswerAndWhatComesBeforeItArriveInOrderAsTheyWereSent(t *testing.T) {
	t.Parallel()
	type row struct {
		answer   func(*asked)
		result   string
		err      string
		observed []string // besides the sending
		outside  []string
	}
	answered, failed := "answered "+result, `{"code":-32000,"message":"no","data":{"n":12345678901234567890}}`
	inBubbles(t, map[string]row{
		"JSON": {saying(200, "application/json", success), result, "", []string{answered}, nil},
		"JSON of a charset, and of no known length": {
			func(a *asked) { a.flow("application/json; charset=utf-8", success) }, result, "", []string{answered}, nil,
		},
		"an error in JSON": {saying(200, "application/json", failure), "", failed, []string{"answered "}, nil},
		"an event":         {streaming("event: message\ndata: " + success + "\n\n"), result, "", []string{answered}, nil},
		"an event that the end of its stream ends": {streaming("data: " + success), result, "", []string{answered}, nil},
		"an error in an event":                     {streaming("data: " + failure + "\n\n"), "", failed, []string{"answered "}, nil},
		"notifications and questions before it": {
			streaming("data: " + progress + "\n\ndata: " + logged + "\n\ndata: " + elicited + "\n\ndata: " + progress + "\n\ndata: " + success + "\n\n"),
			result, "",
			[]string{
				`notified notifications/progress{"progressToken":"hb-1","progress":0.5}`,
				`notified notifications/progress{"progressToken":"hb-1","progress":0.5}`, answered,
			},
			[]string{
				`call notified notifications/message{"level":"info","data":"x"}`, `call asked 1.50 elicitation/create{"a":1e400}`,
			},
		},
		"events of other names, without data and behind the answer": {
			streaming("event: ping\ndata: {}\n\nid: 3\ndata:\n\n: comment\n\ndata: " + success + "\n\ndata: " + logged + "\n\n"),
			result, "", []string{answered}, nil,
		},
		"an id that is the same number":      {saying(200, "application/json", strings.Replace(success, "$ID", "$ID.0", 1)), result, "", []string{answered}, nil},
		"a null error beside it":             {saying(200, "application/json", strings.Replace(success, `"result"`, `"error":null,"result"`, 1)), result, "", []string{answered}, nil},
		"members that nobody knows":          {saying(200, "application/json", strings.Replace(success, `"id"`, `"Method":"x","id"`, 1)), result, "", []string{answered}, nil},
		"an error that is none":              {saying(200, "application/json", `{"jsonrpc":"2.0","id":$ID,"error":"no"}`), "", invalid("its error is no object with a code and a message"), []string{"answered "}, nil},
		"a stream that stays open behind it": {func(a *asked) { a.events("data: " + success + "\n\n"); a.silent() }, result, "", []string{answered}, nil},
	}, func(t *testing.T, tt row) {
		o := &observer{name: "call", takes: methods.Progress}
		got, outside, err := calling(t, "2025-11-25", tt.answer, o)
		if string(got) != tt.result || said(err) != tt.err {
			t.Errorf("result = %s, %s, want %s, %s", got, said(err), tt.result, tt.err)
		}
		if diff := cmp.Diff(append([]string{"sending", "sent"}, tt.observed...), o.all()); diff != "" {
			t.Errorf("the observer (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(tt.outside, outside); diff != "" {
			t.Errorf("the receiver (-want +got):\n%s", diff)
		}
	})
}

func TestAnInvalidAnswerFailsItsRequestAlone(t *testing.T) {
	t.Parallel()
	table := map[string]func(*testing.T){}
	for body, fault := range map[string]string{
		`{"jsonrpc":"2.0","id":"$ID","result":{}}`:                               "its id is not that of the request",
		`{"jsonrpc":"2.0","id":99,"result":{}}`:                                  "its id is not that of the request",
		`{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"m"}}`:             "its id is not that of the request",
		`{"jsonrpc":"2.0","result":{}}`:                                          "it has no id",
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`:           "it has no id",
		`{"id":$ID,"result":{}}`:                                                 `it has no "jsonrpc"`,
		`{"jsonrpc":"1.0","id":$ID,"result":{}}`:                                 `its "jsonrpc" is not "2.0"`,
		`{"jsonrpc":"2.0","id":$ID,"result":{},"error":{"code":1,"message":""}}`: "it has both a result and an error",
		`{"jsonrpc":"2.0","id":$ID}`:                                             "it has neither a result nor an error",
		`{"jsonrpc":"2.0","id":$ID,"error":null}`:                                "it has neither a result nor an error",
		`{"jsonrpc":"2.0","id":$ID,"result":{},"result":{}}`:                     `it has the member "result" twice`,
		`{"jsonrpc":"2.0","id":$ID,"id":$ID,"result":{}}`:                        `it has the member "id" twice`,
		`7`:           "it is no JSON object",
		`nonsense`:    "it is no JSON object",
		`{"jsonrpc":`: "it is no JSON object",
		`{} {}`:       "it is no JSON object",
	} {
		table[strings.ReplaceAll(body, "/", "")] = func(t *testing.T) {
			for name, answer := range map[string]func(*asked){
				"JSON":     saying(200, "application/json", body),
				"an event": streaming("data: " + body + "\n\n"),
			} {
				o := &observer{}
				if got, _, err := calling(t, "2025-11-25", answer, o); said(err) != invalid(fault) || got != nil {
					t.Errorf("%s: result = %s, %s", name, got, said(err))
				}
				if diff := cmp.Diff([]string{"sending", "sent"}, o.all()); diff != "" {
					t.Errorf("the observer (-want +got):\n%s", diff)
				}
			}
		}
	}
	for body, answer := range map[string]struct {
		answer func(*asked)
		fault  string
	}{
		"a request":       {saying(200, "application/json", `{"jsonrpc":"2.0","id":$ID,"method":"ping"}`), "it is a request"},
		"a notification":  {saying(200, "application/json", progress), "it is a request"},
		"no body":         {saying(200, "application/json", ""), "it is no JSON object"},
		"202":             {saying(202, "", ""), `it is of the media type ""`},
		"a page":          {saying(200, "text/html; charset=utf-8", success), `it is of the media type "text/html"`},
		"no media type":   {saying(200, "a b", success), `it is of the media type ""`},
		"notes in a list": {saying(200, "application/json", "["+progress+"]"), "it is an array without an answer"},
	} {
		table[body] = func(t *testing.T) {
			if got, _, err := calling(t, "2025-03-26", answer.answer, &observer{}); said(err) != invalid(answer.fault) || got != nil {
				t.Errorf("result = %s, %s", got, said(err))
			}
		}
	}
	inBubbles(t, table, func(t *testing.T, run func(*testing.T)) { run(t) })
}

// TestAnAnswerInAnArrayIsRead where it is one message, or the version has batches; in other versions an
// array of several fails in words that help.
func TestAnAnswerInAnArrayIsRead(t *testing.T) {
	t.Parallel()
	type row struct {
		version, sent string
		err           string // the beginning of the fault, empty for none
		notes         int
	}
	inBubbles(t, map[string]row{
		"one message":                    {"2025-03-26", "[" + success + "]", "", 0},
		"one message of a later version": {"2025-06-18", " [" + success + "]", "", 0},
		"a note before it":               {"2025-03-26", "[" + logged + "," + success + "]", "", 1},
		"notes around it":                {"2025-03-26", "[" + logged + "," + success + "," + logged + "]", "", 2},
		"an answer behind it":            {"2025-03-26", "[" + success + `,{"jsonrpc":"2.0","id":99,"result":{}}]`, "", 0},
		"another answer before it":       {"2025-03-26", `[{"jsonrpc":"2.0","id":99,"result":{}},` + success + "]", "its id is not that of the request", 0},
		"several of a later version":     {"2025-06-18", "[" + logged + "," + success + "]", "it is an array of 2 messages, which version 2025-06-18 of the protocol does not have: send each by itself", 0},
		"no object":                      {"2025-03-26", "[7," + success + "]", "it is an array with a member that is no object", 0},
		"nothing":                        {"2025-03-26", "[]", "it is an empty array", 0},
		"no whole array":                 {"2025-03-26", "[" + success, "it is no JSON object", 0},
	}, func(t *testing.T, tt row) {
		for name, answer := range map[string]func(*asked){
			"JSON":     saying(200, "application/json", tt.sent),
			"an event": streaming("id: 1\ndata: " + tt.sent + "\n\n"),
		} {
			got, outside, err := calling(t, tt.version, answer, &observer{})
			want, wantErr := result, ""
			if tt.err != "" {
				want, wantErr = "", invalid(tt.err)
			}
			if string(got) != want || said(err) != wantErr || len(outside) != tt.notes {
				t.Errorf("%s: %s, %s, and %q beside it", name, got, said(err), outside)
			}
		}
	})
}

func TestAnAnswerThatIsTooLargeEndsItsRequestAlone(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", eventstream.MaxMessage)
	const refused = `{"code":-32603,"message":"the server's answer is larger than 16 MiB","data":{"code":"answer_too_large"}}`
	type row struct {
		answer func(*asked)
		err    string
	}
	message := `{"jsonrpc":"2.0","result":"` + large + `","id":$ID}`
	inBubbles(t, map[string]row{
		"of a known length":    {saying(200, "application/json", message), refused},
		"of no known length":   {func(a *asked) { a.flow("application/json", message) }, refused},
		"in an event":          {streaming("data: " + message + "\n\n"), refused},
		"what is no answer":    {func(a *asked) { a.flow("application/json", large+"x") }, "the server's answer is larger than 16 MiB"},
		"what is no answer, 2": {saying(200, "application/json", large+"x"), "the server's answer is larger than 16 MiB"},
	}, func(t *testing.T, tt row) {
		if got, _, err := calling(t, "2025-11-25", tt.answer, &observer{}); said(err) != tt.err || got != nil {
			t.Errorf("%.100q, %.300s", got, said(err))
		}
	})
	t.Run("as large as it may be", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			room := eventstream.MaxMessage - len(strings.Replace(message, large, "", 1)) + len("$ID") - len("3")
			fits := strings.Replace(message, large, large[:room], 1)
			if got, _, err := calling(t, "2025-11-25", saying(200, "application/json", fits), &observer{}); err != nil || len(got) < len(fits)-100 {
				t.Errorf("%.100q, %.300s", got, said(err))
			}
		})
	})
}

// TestAnAnswerForWhichThereIsNoMemoryIsReplaced by the error of its room.
func TestAnAnswerForWhichThereIsNoMemoryIsReplaced(t *testing.T) {
	t.Parallel()
	large := `{"jsonrpc":"2.0","id":$ID,"result":"` + strings.Repeat("x", 200<<10) + `"}`
	inBubbles(t, map[string]func(*asked){
		"of a known length":  saying(200, "application/json", large),
		"of no known length": func(a *asked) { a.flow("application/json", large) },
		"in an event":        streaming("data: " + large + "\n\n"),
	}, func(t *testing.T, answer func(*asked)) {
		s := &server{version: "2026-07-28", on: map[string]func(*asked){methods.CallTool: answer}}
		ended := 0
		session := must.Value(s.dial(t, func(_ *client.HTTP, o *client.Options) {
			o.Room = func(_ context.Context, of client.Observer, _ io.Closer) (eventstream.Room, func()) {
				if of == nil {
					return room{}, func() { ended++ }
				}
				return room{errors.New("no memory")}, func() { ended++ }
			}
		}))(t)
		_, err := session.Call(t.Context(), client.Request{Method: methods.CallTool, Observer: &observer{}})
		if said(err) != `{"code":-32603,"message":"no memory","data":{"code":"busy"}}` || ended != 2 {
			t.Errorf("error = %.300s after %d rooms", said(err), ended)
		}
	})
}

// TestAResultThatItsObserverDoesNotTakeFails with the observer's error. An error of the server stays.
func TestAResultThatItsObserverDoesNotTakeFails(t *testing.T) {
	t.Parallel()
	type row struct{ answer, want string }
	inBubbles(t, map[string]row{"a result": {success, "no room"}, "an error": {failure, `{"code":-32000,"message":"no","data":{"n":12345678901234567890}}`}},
		func(t *testing.T, tt row) {
			o := &observer{refuses: errors.New("no room"), answered: func(ctx context.Context) {
				if ctx.Err() != nil {
					t.Error("the observer gets a context that has ended")
				}
			}}
			for _, answer := range []func(*asked){saying(200, "application/json", tt.answer), streaming("data: " + tt.answer + "\n\n")} {
				if _, _, err := calling(t, "2025-11-25", answer, o); said(err) != tt.want {
					t.Errorf("error = %v", err)
				}
			}
		})
}

func TestARequestHasTheHeadersOfItsVersion(t *testing.T) {
	t.Parallel()
	inBubbles(t, map[string][]string{
		"2026-07-28": {
			"tools/call protocol-version=2026-07-28 method=tools/call name=t", "resources/read protocol-version=2026-07-28 method=resources/read name=a:b",
			"prompts/get protocol-version=2026-07-28 method=prompts/get name=p x-own=own", "tools/list protocol-version=2026-07-28 method=tools/list",
			"notifications/example protocol-version=2026-07-28 method=notifications/example", "answer protocol-version=2026-07-28",
		},
		"2025-06-18": {
			"tools/call protocol-version=2025-06-18 session-id=s", "resources/read protocol-version=2025-06-18 session-id=s",
			"prompts/get protocol-version=2025-06-18 session-id=s x-own=own", "tools/list protocol-version=2025-06-18 session-id=s",
			"notifications/example protocol-version=2025-06-18 session-id=s", "answer protocol-version=2025-06-18 session-id=s",
		},
	}, func(t *testing.T, want []string) {
		version := strings.Split(t.Name(), "/")[1]
		s := &server{version: version, session: "s"}
		session := must.Value(s.dial(t, func(h *client.HTTP, _ *client.Options) { h.NoListening = true }))(t)
		opening := len(s.seen(headers))
		for _, q := range []client.Request{
			{Method: methods.CallTool, Params: json.RawMessage(`{"arguments":{"name":"x"},"name":"t"}`)},
			{Method: methods.ReadResource, Params: json.RawMessage(`{"uri":"a:b"}`)},
			{Method: methods.GetPrompt, Params: json.RawMessage(`{"name":"\u0070"}`), Header: http.Header{"X-Own": {"own"}}},
			{Method: methods.ListTools},
		} {
			must.Value(session.Call(t.Context(), q))(t)
		}
		must.Succeed(t, session.Notify(t.Context(), "notifications/example", json.RawMessage(`{"a":1}`)))
		must.Succeed(t, session.Answer(t.Context(), json.RawMessage("1.50"), json.RawMessage(`{"b":1}`), nil))
		got := s.seen(headers)[opening:]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		texts := append(s.only("notifications/example"), s.only("answer")...)
		if diff := cmp.Diff([]string{`{"jsonrpc":"2.0","method":"notifications/example","params":{"a":1}}`, `{"jsonrpc":"2.0","id":1.50,"result":{"b":1}}`}, texts); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
	})
}
