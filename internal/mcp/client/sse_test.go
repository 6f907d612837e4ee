// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/eventstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// sseServer is a server over HTTP+SSE.
type sseServer struct {
	server

	// first is what its stream begins with.
	first string
	// says is what is written to the stream for each call, in which $ID stands for its id.
	says string
	out  chan string
	end  chan struct{}
}

// dial opens a connection to the server until the test ends.
func (s *sseServer) dial(t *testing.T, r *receiver) (*client.Session, error) {
	t.Helper()
	s.out, s.end = make(chan string, 100), make(chan struct{})
	post := func(text string) func(*asked) {
		return func(a *asked) {
			a.w.WriteHeader(http.StatusAccepted)
			s.out <- strings.ReplaceAll(text, "$ID", string(a.ID))
		}
	}
	own := s.on
	s.on = map[string]func(*asked){
		http.MethodGet: s.stream, methods.Discover: saying(400, "", ""), methods.CallTool: post(s.says),
		methods.Initialize: post(`data: {"jsonrpc":"2.0","id":$ID,"result":` + fmt.Sprintf(introduction, "2024-11-05") + "}\n\n"),
	}
	maps.Copy(s.on, own)
	h := s.serve(t)
	dial := client.SSE{URL: "http://server/a/sse?x=1", Client: h.Client, Header: http.Header{"X-Own": {"mine"}}}.Dial
	session, err := client.Dialer(dial).Dial(t.Context(), options(r))
	if err == nil {
		t.Cleanup(session.Close)
	}
	return session, err
}

// stream is the stream for all messages.
func (s *sseServer) stream(a *asked) {
	a.events(s.first)
	for {
		select {
		case text := <-s.out:
			a.events(text)
		case <-s.end:
			return
		case <-a.r.Context().Done():
			return
		}
	}
}

const endpoint = "event: endpoint\ndata: /messages?session=1\n\n"

func TestMessagesGoWhereTheStreamSays(t *testing.T) {
	t.Parallel()
	inBubbles(t, map[string]string{
		"/messages?session=1":     "/messages?session=1",
		"messages":                "/a/messages",
		"http://server/elsewhere": "/elsewhere",
	}, func(t *testing.T, want string) {
		address := strings.SplitN(t.Name(), "/", 2)[1]
		s := &sseServer{first: "event: endpoint\ndata: " + address + "\n\n", says: "data: " + success + "\n\n"}
		session := must.Value(s.dial(t, &receiver{}))(t)
		got, err := session.Call(t.Context(), client.Request{Method: methods.CallTool, Header: http.Header{"X-Call": {"own"}}})
		if err != nil || string(got) != result {
			t.Errorf("result = %s, %v", got, err)
		}
		lines := s.seen(func(a *asked) string {
			return fmt.Sprint(a.name(), " ", a.r.URL, " ", a.r.Header.Get("X-Own"), a.r.Header.Get("X-Call"), " ", a.r.Header.Get("Content-Type"))
		})
		all := []string{"GET /a/sse?x=1 mine "}
		for _, name := range []string{methods.Discover, methods.Initialize, methods.Initialized} {
			all = append(all, name+" "+want+" mine application/json")
		}
		if diff := cmp.Diff(append(all, methods.CallTool+" "+want+" mineown application/json"), lines); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
}

func TestAStreamThatDoesNotSayWhereMessagesGoIsRefused(t *testing.T) {
	t.Parallel()
	type row struct {
		get  func(*asked)
		want string
	}
	const words = "the server's stream does not say where messages go: "
	inBubbles(t, map[string]row{
		"another first event": {streaming("data: {}\n\n"), words + `its first event is "" and not "endpoint"`},
		"no event":            {streaming(""), words + "EOF"},
		"no address":          {streaming("event: endpoint\ndata: http://[\n\n"), words + `parse "http://[": missing ']' in host`},
		"a status":            {refusing(503, "", "later").answer, "the server answered with the HTTP status 503 Service Unavailable"},
		"404":                 {saying(404, "", ""), "the server answered with the HTTP status 404 Not Found"},
	}, func(t *testing.T, tt row) {
		s := &sseServer{server: server{on: map[string]func(*asked){http.MethodGet: tt.get}}}
		if _, err := s.dial(t, &receiver{}); fmt.Sprint(err) != tt.want || errors.Is(err, client.ErrSessionMissing) {
			t.Errorf("error = %v", err)
		}
	})
}

func TestWaitingForTheFirstEventEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	inBubbles(t, map[string]func(*asked){"no headers": (*asked).silent, "no event": (*asked).stay}, func(t *testing.T, get func(*asked)) {
		s := &server{on: map[string]func(*asked){http.MethodGet: get}}
		h := s.serve(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := (client.SSE{URL: h.URL, Client: h.Client}).Dial(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v", err)
		}
	})
}

// TestTheStreamOutlastsTheAttempt to connect.
func TestTheStreamOutlastsTheAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sseServer{first: endpoint}
		s.out = make(chan string, 1)
		s.on = map[string]func(*asked){http.MethodGet: s.stream}
		h := s.serve(t)
		ctx, cancel := context.WithCancel(t.Context())
		stream := must.Value((client.SSE{URL: h.URL, Client: h.Client}).Dial(ctx))(t)
		cancel()
		synctest.Wait()
		s.out <- "data: " + logged + "\n\n"
		if m, err := stream.Read(); err != nil || m.Method != methods.LogMessage {
			t.Errorf("the stream says %+v, %v", m, err)
		}
		must.Succeed(t, stream.Close())
		if _, err := stream.Read(); err == nil {
			t.Error("a closed stream says something")
		}
	})
}

func TestWhatTheStreamSaysIsRead(t *testing.T) {
	t.Parallel()
	type row struct {
		says string
		err  string // empty for the result
		want []string
	}
	const note = `notified notifications/message{"level":"info","data":"x"}`
	inBubbles(t, map[string]row{
		"a note before the answer":         {"event: message\ndata: " + logged + "\n\nevent: message\ndata: " + success + "\n\n", "", []string{note}},
		"an array":                         {"data: [" + logged + "," + success + "," + logged + "]\n\n", "", []string{note, note}},
		"comments and events without data": {": ping\n\nevent: ping\n\ndata: " + success + "\n\n", "", nil},
		"an empty array":                   {"data: []\n\n", invalid("it is an empty array"), nil},
		"an array with something else":     {"data: [" + logged + ",7]\n\n", invalid("it is an array with a member that is no object"), []string{note}},
		"an answer that is too large": {
			`data: {"jsonrpc":"2.0","id":$ID,"result":"` + strings.Repeat("x", eventstream.MaxMessage) + `"}` + "\n\n",
			`{"code":-32603,"message":"the server's answer is larger than 16 MiB","data":{"code":"answer_too_large"}}`, nil,
		},
		"an invalid answer": {`data: {"jsonrpc":"2.0","id":$ID}` + "\n\n", invalid("it has neither a result nor an error"), nil},
	}, func(t *testing.T, tt row) {
		r := &receiver{}
		s := &sseServer{first: endpoint, says: tt.says}
		session := must.Value(s.dial(t, r))(t)
		got, err := session.Call(t.Context(), client.Request{Method: methods.CallTool})
		if said(err) != tt.err || err == nil && string(got) != result {
			t.Errorf("result = %s, %v", got, err)
		}
		synctest.Wait()
		if diff := cmp.Diff(tt.want, r.all()); diff != "" || session.Err() != nil {
			t.Errorf("the connection ended by %v; the receiver (-want +got):\n%s", session.Err(), diff)
		}
	})
}

func TestTheEndOfTheStreamEndsTheConnection(t *testing.T) {
	t.Parallel()
	type row struct {
		says string
		want error // nil for any
	}
	inBubbles(t, map[string]row{
		"by the server":             {"", io.EOF},
		"by an event of no message": {"data: nonsense\n\n", nil},
	}, func(t *testing.T, tt row) {
		s := &sseServer{first: endpoint, says: tt.says}
		session := must.Value(s.dial(t, &receiver{}))(t)
		time.AfterFunc(time.Second, func() { close(s.end) })
		_, err := session.Call(t.Context(), client.Request{Method: methods.CallTool})
		if !errors.Is(err, client.ErrClosed) || tt.want != nil && !errors.Is(err, tt.want) || session.Err() == nil {
			t.Errorf("error = %v, %v", err, session.Err())
		}
	})
}

// TestAStatusFailsTheMessageAlone, and says what it does over streamable HTTP.
func TestAStatusFailsTheMessageAlone(t *testing.T) {
	t.Parallel()
	type row struct {
		answer  func(*asked)
		want    string
		missing bool
	}
	const words = `send "tools/call": the server answered with the HTTP status `
	inBubbles(t, map[string]row{
		"404":              {saying(404, "", ""), words + "404 Not Found", true},
		"400":              {saying(400, "text/plain", "no"), words + "400 Bad Request", false},
		"503":              {refusing(503, "", "later").answer, words + "503 Service Unavailable", false},
		"a JSON-RPC error": {saying(400, "application/json", failure), `send "tools/call": no`, false},
		"a network":        {(*asked).cut, `send "tools/call": Post "http://server/messages?session=1": EOF`, false},
	}, func(t *testing.T, tt row) {
		s := &sseServer{first: endpoint, server: server{on: map[string]func(*asked){methods.CallTool: tt.answer}}}
		session := must.Value(s.dial(t, &receiver{}))(t)
		o := &observer{}
		_, err := session.Call(t.Context(), client.Request{Method: methods.CallTool, Observer: o})
		if fmt.Sprint(err) != tt.want || errors.Is(err, client.ErrSessionMissing) != tt.missing || session.Err() != nil {
			t.Errorf("error = %v, %v", err, session.Err())
		}
		want := []string{"sending"}
		if tt.missing {
			want = append(want, "refused")
		}
		if diff := cmp.Diff(want, o.all()); diff != "" {
			t.Errorf("the observer (-want +got):\n%s", diff)
		}
	})
}

// TestEventsOfOtherNamesArePassedOver on the stream for all messages.
func TestEventsOfOtherNamesArePassedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sseServer{first: endpoint, says: "event: ping\ndata: {}\n\nevent: ping\ndata: now\n\nevent: message\ndata: " + success + "\n\n"}
		session := must.Value(s.dial(t, &receiver{}))(t)
		if got, err := session.Call(t.Context(), client.Request{Method: methods.CallTool}); err != nil || string(got) != result {
			t.Errorf("result = %s, %v", got, err)
		}
	})
}
