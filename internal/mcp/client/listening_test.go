// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// listening is a server of sessions with a stream for what belongs to no request.
func listening(get func(*asked)) *server {
	return &server{version: "2025-11-25", session: "s", on: map[string]func(*asked){http.MethodGet: get}}
}

func TestWhatBelongsToNoRequestReachesTheReceiver(t *testing.T) {
	t.Parallel()
	type row struct {
		sent string
		want []string
	}
	const note, question = `notified notifications/message{"level":"info","data":"x"}`, `asked 1.50 elicitation/create{"a":1e400}`
	inBubbles(t, map[string]row{
		"in order":                {"data: " + logged + "\n\ndata: " + elicited + "\n\ndata: " + logged + "\n\n", []string{note, question, note}},
		"one in an array":         {"data: [" + logged + "]\n\n", []string{note}},
		"not several in an array": {"data: [" + logged + "," + logged + "]\n\ndata: " + logged + "\n\n", []string{note}},
		"besides what is no message": {
			"data: nonsense\n\ndata: []\n\ndata: [7]\n\nevent: ping\ndata: " + logged + "\n\ndata: " + logged + "\n\n", []string{note},
		},
		"besides answers to nothing": {`data: {"jsonrpc":"2.0","id":1,"result":{}}` + "\n\ndata: {}\n\ndata: " + logged + "\n\n", []string{note}},
	}, func(t *testing.T, tt row) {
		r := &receiver{}
		s := listening(func(a *asked) { a.events(tt.sent); a.silent() })
		session := s.connect(t, r)
		synctest.Wait()
		if diff := cmp.Diff(tt.want, r.all()); diff != "" || session.Err() != nil {
			t.Errorf("%v, messages (-want +got):\n%s", session.Err(), diff)
		}
	})
}

// TestAStreamOfNoRequestOutlastsTheAttempt to connect.
func TestAStreamOfNoRequestOutlastsTheAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, r := listening((*asked).stay), &receiver{}
		h := s.serve(t)
		ctx, cancel := context.WithCancel(t.Context())
		session := must.Value(h.Dial(ctx, options(r)))(t)
		defer session.Close()
		cancel()
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(s.when(http.MethodGet)); n != 1 || session.Err() != nil {
			t.Errorf("the stream was asked for %d times; the connection ended by %v", n, session.Err())
		}
	})
}

func TestAQuestionIsAnsweredByTheReceiver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{asked: func(session *client.Session, m rpc.Message) {
			go func() {
				_ = session.Answer(context.Background(), m.ID, nil, &jsonrpc.Error{Code: -32601, Message: "no such method"})
			}()
		}}
		s := listening(func(a *asked) { a.events("data: " + elicited + "\n\n"); a.silent() })
		s.connect(t, r)
		synctest.Wait()
		if diff := cmp.Diff([]string{`{"jsonrpc":"2.0","id":1.50,"error":{"code":-32601,"message":"no such method"}}`}, s.only("answer")); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	})
}

// TestAServerNeedNotHaveAStream connects to servers that refuse it. The request is not repeated.
func TestAServerNeedNotHaveAStream(t *testing.T) {
	t.Parallel()
	type row struct {
		get  func(*asked)
		wait time.Duration // how long the opening takes
	}
	inBubbles(t, map[string]row{
		"405":                         {saying(405, "", ""), 0},
		"404":                         {saying(404, "application/json", unknown), 0},
		"400 as an event stream":      {saying(400, "text/event-stream", ""), 0},
		"500 with a page":             {saying(500, "text/html", "<html>"), 0},
		"another media type":          {saying(200, "application/json", "{}"), 0},
		"no headers for five seconds": {(*asked).silent, 5 * time.Second},
	}, func(t *testing.T, tt row) {
		s := listening(tt.get)
		began := time.Now()
		session := s.connect(t, &receiver{})
		if took := time.Since(began); took != tt.wait {
			t.Errorf("the connection is open after %v", took)
		}
		must.Value(session.Call(t.Context(), client.Request{Method: methods.ListTools}))(t)
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(s.when(http.MethodGet)); n != 1 || session.Err() != nil {
			t.Errorf("the stream was asked for %d times, %v", n, session.Err())
		}
	})
}

func TestAStreamOfNoRequestIsOpenedAgainWhenItEnds(t *testing.T) {
	t.Parallel()
	type row struct {
		first func(*asked)
		want  []string // behind which events it is opened again
		after time.Duration
	}
	inBubbles(t, map[string]row{
		"without an id": {streaming("retry: 3000\ndata: " + logged + "\n\n"), []string{""}, 3 * time.Second},
		"with an id":    {streaming("id: e7\nretry: 3000\ndata: " + logged + "\n\n"), []string{"e7"}, 3 * time.Second},
		"broken off": {func(a *asked) {
			a.events("retry: 3000\nid: e8\ndata: " + logged + "\n\n")
			a.cut()
		}, []string{"e8"}, 3 * time.Second},
	}, func(t *testing.T, tt row) {
		s := listening(func(a *asked) {
			if a.before == 0 {
				tt.first(a)
				return
			}
			a.events("data: " + elicited + "\n\n")
			a.silent()
		})
		r := &receiver{}
		session := s.connect(t, r)
		time.Sleep(time.Hour)
		synctest.Wait()
		again := s.seen(func(a *asked) string {
			if a.name() != http.MethodGet || a.before == 0 {
				return ""
			}
			return "behind " + a.r.Header.Get("Last-Event-Id")
		})
		want := []string{"behind " + tt.want[0]}
		if diff := cmp.Diff(want, again); diff != "" || s.when(http.MethodGet)[1] != tt.after {
			t.Errorf("opened again at %v (-want +got):\n%s", s.when(http.MethodGet), diff)
		}
		if len(r.all()) != 2 || session.Err() != nil {
			t.Errorf("received %q, %v", r.all(), session.Err())
		}
	})
}

func TestAStreamOfNoRequestThatCannotBeOpenedAgainEndsTheConnection(t *testing.T) {
	t.Parallel()
	type row struct {
		again func(*asked)
		want  string
	}
	inBubbles(t, map[string]row{
		"a status":           {saying(404, "", ""), "its stream cannot be resumed: the server answered with the HTTP status 404 Not Found"},
		"a network":          {(*asked).cut, "its stream cannot be resumed: "},
		"a stream that ends": {streaming(""), "its stream ended 6 times without a new event"},
	}, func(t *testing.T, tt row) {
		s := listening(func(a *asked) {
			if a.before > 0 {
				tt.again(a)
				return
			}
			a.events("data: " + logged + "\n\n")
		})
		session := s.connect(t, &receiver{})
		<-session.Done()
		if err := session.Err(); err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, client.ErrClosed) {
			t.Errorf("it ended by %v", err)
		}
		if _, err := session.Call(t.Context(), client.Request{Method: methods.ListTools}); !errors.Is(err, client.ErrClosed) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("the next request gets %v", err)
		}
	})
}

// TestWhatIsInFlightFailsWithTheConnection ends a connection by its stream during a call.
func TestWhatIsInFlightFailsWithTheConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := listening(func(a *asked) {
			if a.before > 0 {
				a.say(404, "", "")
				return
			}
			a.events("")
		})
		s.on[methods.CallTool] = (*asked).silent
		session := s.connect(t, &receiver{})
		_, err := session.Call(t.Context(), client.Request{Method: methods.CallTool, Params: json.RawMessage("{}")})
		if !errors.Is(err, client.ErrClosed) || !strings.Contains(err.Error(), "cannot be resumed") {
			t.Errorf("error = %v", err)
		}
	})
}

// TestAStreamOfNoRequestThatBringsMessagesIsOpenedAgainForEver although its events have no ids.
func TestAStreamOfNoRequestThatBringsMessagesIsOpenedAgainForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := listening(streaming("data: " + logged + "\n\n"))
		r := &receiver{}
		session := s.connect(t, r)
		time.Sleep(time.Hour)
		if session.Err() != nil || len(r.all()) < 100 {
			t.Errorf("after %d messages the connection ended by %v", len(r.all()), session.Err())
		}
	})
}
