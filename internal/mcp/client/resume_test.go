// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// breaking is a server whose event stream for a call ends before the answer. get answers the requests that
// resume it.
func breaking(first string, get func(*asked)) *server {
	return &server{version: "2025-11-25", session: "s", on: map[string]func(*asked){
		methods.CallTool: streaming(first), http.MethodGet: get,
	}}
}

// connectAlone is connect without a stream for what belongs to no request.
func (s *server) connectAlone(t *testing.T) *client.Session {
	t.Helper()
	return must.Value(s.dial(t, func(h *client.HTTP, _ *client.Options) { h.NoListening = true }))(t)
}

// answerOfCall is an event with the answer to the first request behind an opening.
const answerOfCall = `data: {"jsonrpc":"2.0","id":3,"result":{"late":true}}` + "\n\n"

func TestAStreamThatBreaksOffIsResumedBehindItsLastEvent(t *testing.T) {
	t.Parallel()
	type row struct {
		first string
		get   func(*asked)
		want  []string
	}
	const pause = "retry: 1500\n\n"
	inBubbles(t, map[string]row{
		"at once": {pause + "id: e1\ndata: " + progress + "\n\n", streaming(answerOfCall), []string{"e1"}},
		"an id without data, later by another one": {pause + "id: e1\n\n", func(a *asked) {
			if a.before == 0 {
				a.events("id: e2\ndata: " + logged + "\n\n")
				return
			}
			a.events(answerOfCall)
		}, []string{"e1", "e2"}},
		"a network that fails": {pause + "id: e1\n\n", func(a *asked) {
			if a.before < 4 {
				a.cut()
			}
			a.events(answerOfCall)
		}, []string{"e1", "e1", "e1", "e1", "e1"}},
		"a stream that does not begin": {pause + "id: e1\n\n", func(a *asked) {
			if a.before == 0 {
				a.silent()
				return
			}
			a.events(answerOfCall)
		}, []string{"e1", "e1"}},
		"five times without an event, and again after one": {pause + "id: e1\n\n", func(a *asked) {
			switch a.before {
			case 4:
				a.events("id: e2\n\n")
			case 9:
				a.events(answerOfCall)
			default:
				a.events("")
			}
		}, []string{"e1", "e1", "e1", "e1", "e1", "e2", "e2", "e2", "e2", "e2"}},
	}, func(t *testing.T, tt row) {
		s := breaking(tt.first, tt.get)
		o := &observer{takes: methods.Progress}
		got, err := s.connectAlone(t).Call(t.Context(), client.Request{Method: methods.CallTool, Observer: o})
		if err != nil || string(got) != `{"late":true}` {
			t.Errorf("result = %s, %v", got, err)
		}
		if diff := cmp.Diff(tt.want, s.only(http.MethodGet)); diff != "" {
			t.Errorf("resumed behind (-want +got):\n%s", diff)
		}
		if first := s.when(http.MethodGet)[0]; first != 1500*time.Millisecond {
			t.Errorf("resumed after %v, which is not the pause that the server asked for", first)
		}
		if lines := o.all(); lines[len(lines)-1] != `answered {"late":true}` {
			t.Errorf("the observer has %q", lines)
		}
		if got := s.seen(headers)[4]; !strings.Contains(got, "protocol-version=2025-11-25 session-id=s") {
			t.Errorf("it is resumed with %s", got)
		}
	})
}

func TestAStreamThatEndsWithoutAnAnswerFailsItsRequestAlone(t *testing.T) {
	t.Parallel()
	type row struct {
		first    string
		get      func(*asked)
		want     string
		closed   bool
		attempts int
	}
	inBubbles(t, map[string]row{
		"without ids":                {"data: " + logged + "\n\n", nil, "the server ended its answer before the result", false, 0},
		"without anything":           {"", nil, "the server ended its answer before the result", false, 0},
		"six times without an event": {"id: e1\n\n", streaming(""), "its stream ended 6 times without a new event", true, 6},
		"the same id again and again": {
			"id: e1\n\n", streaming("id: e1\n\n"), "its stream ended 6 times without a new event", true, 6,
		},
		"a status in place of the stream": {
			"id: e1\n\n", saying(404, "", ""), "its stream cannot be resumed: the server answered with the HTTP status 404 Not Found", true, 1,
		},
		"a network that keeps failing": {"id: e1\n\n", (*asked).cut, "its stream cannot be resumed: ", true, 5},
	}, func(t *testing.T, tt row) {
		s := breaking(tt.first, tt.get)
		session := s.connectAlone(t)
		o := &observer{}
		_, err := session.Call(t.Context(), client.Request{Method: methods.CallTool, Observer: o})
		if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, client.ErrClosed) != tt.closed {
			t.Errorf("error = %v", err)
		}
		if n := len(s.when(http.MethodGet)); n != tt.attempts {
			t.Errorf("it was resumed %d times", n)
		}
		if diff := cmp.Diff([]string{"sending", "sent"}, o.all()); diff != "" {
			t.Errorf("the observer (-want +got):\n%s", diff)
		}
		if _, err := session.Call(t.Context(), client.Request{Method: methods.ListTools}); err != nil {
			t.Errorf("the next request: %v", err)
		}
	})
}

// TestAnAttemptToResumeWaitsLongerEachTime between one and two times a second, which grows by half.
func TestAnAttemptToResumeWaitsLongerEachTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := breaking("id: e1\n\n", (*asked).cut)
		session := s.connectAlone(t)
		if _, err := session.Call(t.Context(), client.Request{Method: methods.CallTool}); err == nil {
			t.Error("there is an answer")
		}
		before, least := time.Duration(0), time.Second
		for i, at := range s.when(http.MethodGet) {
			if wait := at - before; wait < least || wait >= 2*least {
				t.Errorf("attempt %d comes after %v, want %v to %v", i+1, wait, least, 2*least)
			}
			before, least = at, least*3/2
		}
	})
}

// TestACallThatIsCancelledDoesNotWaitToResume ends calls between two streams.
func TestACallThatIsCancelledDoesNotWaitToResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := breaking("retry: 60000\nid: e1\n\n", streaming(answerOfCall))
		session := s.connectAlone(t)
		ended := make(chan error)
		go func() {
			_, err := session.Call(t.Context(), client.Request{Method: methods.CallTool})
			ended <- err
		}()
		synctest.Wait()
		session.Close()
		if err := <-ended; !errors.Is(err, client.ErrClosed) || len(s.when(http.MethodGet)) != 0 {
			t.Errorf("error = %v, %q", err, s.seen(headers))
		}
	})
}
