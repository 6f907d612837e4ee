// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
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

// quiet has a program answer a method later, or never.
var quiet = map[string]func(*program, rpc.Message){methods.CallTool: nil}

func TestAProgramIsOpenedInItsVersion(t *testing.T) {
	t.Parallel()
	type row struct {
		version string
		on      map[string]func(*program, rpc.Message)
		want    []string
		took    time.Duration
	}
	legacy := []string{methods.Discover, methods.Initialize, methods.Initialized}
	inBubbles(t, map[string]row{
		"2026-07-28": {"2026-07-28", nil, []string{methods.Discover}, 0},
		"2025-11-25": {"2025-11-25", nil, legacy, 0},
		"one that does not answer what it does not know": {
			"2025-06-18", map[string]func(*program, rpc.Message){methods.Discover: nil}, legacy, 10 * time.Second,
		},
		"one that answers it too late": {"2025-06-18", map[string]func(*program, rpc.Message){
			methods.Discover: nil,
			methods.Initialize: func(p *program, m rpc.Message) {
				p.say("%s", strings.Replace(unknown, "$ID", "1", 1))
				p.result(m, fmt.Sprintf(introduction, p.version))
			},
		}, legacy, 10 * time.Second},
	}, func(t *testing.T, tt row) {
		p := &program{version: tt.version, on: tt.on}
		began := time.Now()
		s := must.Value(p.dial(t, &receiver{}, func(o *client.Options) { o.Silence = 10 * time.Second }))(t)
		if diff := cmp.Diff(tt.want, p.methods()); diff != "" || s.Version != tt.version || time.Since(began) != tt.took {
			t.Errorf("version %s after %v, requests (-want +got):\n%s", s.Version, time.Since(began), diff)
		}
	})
}

func TestAProgramThatCannotBeOpenedIsEnded(t *testing.T) {
	t.Parallel()
	type row struct {
		p    *program
		want string
	}
	inBubbles(t, map[string]row{
		"no answer in time":              {&program{version: "2025-11-25", on: map[string]func(*program, rpc.Message){methods.Initialize: nil}}, context.DeadlineExceeded.Error()},
		"no answer to the first request": {&program{on: map[string]func(*program, rpc.Message){methods.Discover: nil}}, context.DeadlineExceeded.Error()},
		"an end": {&program{on: map[string]func(*program, rpc.Message){
			methods.Discover: func(p *program, _ rpc.Message) { p.end(errors.New("exit status 1")) },
		}}, "exit status 1"},
		"a stream that takes nothing": {&program{broken: errors.New("broken pipe")}, `send "initialize": broken pipe`},
		"an unknown version":          {&program{version: "1"}, `the server wants protocol version "1", which is not supported`},
	}, func(t *testing.T, tt row) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := client.Dialer(tt.p.start).Dial(ctx, options(&receiver{}))
		if fmt.Sprint(err) != tt.want || !tt.p.closed() {
			t.Errorf("error = %v; closed: %t", err, tt.p.closed())
		}
	})
	failed := errors.New("no such file")
	if _, err := client.Dialer(func(context.Context) (client.Stream, error) { return nil, failed }).Dial(t.Context(), client.Options{}); !errors.Is(err, failed) {
		t.Errorf("error = %v", err)
	}
}

func TestTheFirstAnswerOfAProgramIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &program{version: "2025-11-25", on: map[string]func(*program, rpc.Message){methods.Initialize: func(p *program, m rpc.Message) {
			p.result(m, `{"instructions":"`+strings.Repeat("x", 1000)+`"}`)
		}}}
		_, err := p.dial(t, &receiver{}, func(o *client.Options) { o.MaxIntroduction = 1000 })
		if said(err) != `{"code":-32603,"message":"the server's answer is too large","data":{"code":"answer_too_large"}}` {
			t.Errorf("error = %s", said(err))
		}
	})
}

// ended is what becomes of a call.
type ended struct {
	result json.RawMessage
	err    error
}

// beginAt sends a call to a program in the background.
func beginAt(ctx context.Context, s *client.Session, o client.Observer) <-chan ended {
	done := make(chan ended, 1)
	go func() {
		result, err := s.Call(ctx, client.Request{Method: methods.CallTool, Observer: o})
		done <- ended{result, err}
	}()
	synctest.Wait()
	return done
}

func TestAnAnswerBelongsToTheRequestOfItsID(t *testing.T) {
	t.Parallel()
	type row struct {
		say  []string // when the requests 2 and 3 wait
		want [2]string
	}
	const nothing = "nothing"
	valid := func(id, n string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":` + n + `}` }
	inBubbles(t, map[string]row{
		"out of order":                    {[]string{valid("3", "33"), valid("2", "22")}, [2]string{"22", "33"}},
		"a number written otherwise":      {[]string{valid("3.0", "33"), valid("2e0", "22")}, [2]string{"22", "33"}},
		"an error":                        {[]string{strings.Replace(failure, "$ID", "2", 1)}, [2]string{`{"code":-32000,"message":"no","data":{"n":12345678901234567890}}`, nothing}},
		"twice":                           {[]string{valid("3", "33"), valid("3", "44")}, [2]string{nothing, "33"}},
		"an id as a text":                 {[]string{valid(`"3"`, "33")}, [2]string{nothing, invalid("its id is not that of the request")}},
		"an invalid answer":               {[]string{`{"jsonrpc":"2.0","id":3}`}, [2]string{nothing, invalid("it has neither a result nor an error")}},
		"an error that is none":           {[]string{`{"jsonrpc":"2.0","id":3,"error":7}`}, [2]string{nothing, invalid("its error is no object with a code and a message")}},
		"an unknown id while two wait":    {[]string{valid("99", "1"), valid("0", "1"), valid("3.5", "1"), valid(`"x"`, "1"), valid("null", "1")}, [2]string{nothing, nothing}},
		"an unknown id while one waits":   {[]string{valid("3", "33"), valid("99", "1")}, [2]string{invalid("its id is not that of the request"), "33"}},
		"a text while one waits":          {[]string{valid("3", "33"), valid(`"x"`, "1")}, [2]string{invalid("its id is not that of the request"), "33"}},
		"no id while one waits":           {[]string{valid("3", "33"), `{"jsonrpc":"2.0","result":{}}`}, [2]string{invalid("it has no id"), "33"}},
		"an id of before while one waits": {[]string{valid("3", "33"), valid("1", "1"), valid("3", "1")}, [2]string{nothing, "33"}},
	}, func(t *testing.T, tt row) {
		p := &program{version: "2026-07-28", on: quiet}
		s := p.connect(t, &receiver{})
		second, third := beginAt(t.Context(), s, &observer{}), beginAt(t.Context(), s, &observer{})
		for _, text := range tt.say {
			p.say("%s", text)
		}
		synctest.Wait()
		var got [2]string
		for i, done := range []<-chan ended{second, third} {
			select {
			case e := <-done:
				got[i] = string(e.result) + said(e.err)
			default:
				got[i] = nothing
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || s.Err() != nil {
			t.Errorf("the connection ended by %v; answers (-want +got):\n%s", s.Err(), diff)
		}
	})
}

// TestTheLateAnswerToACancelledRequestIsNobodys and is not taken for a misaddressed one.
func TestTheLateAnswerToACancelledRequestIsNobodys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &program{version: "2026-07-28", on: quiet}
		s := p.connect(t, &receiver{})
		ctx, cancel := context.WithCancel(t.Context())
		cancelled, waits := beginAt(ctx, s, &observer{words: `{"requestId":2,"reason":"enough"}`}), beginAt(t.Context(), s, nil)
		cancel()
		if e := <-cancelled; !errors.Is(e.err, context.Canceled) {
			t.Errorf("error = %v", e.err)
		}
		synctest.Wait()
		lines := p.all()
		if want := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"enough"}}`; lines[len(lines)-1] != want {
			t.Errorf("the program gets %s", lines[len(lines)-1])
		}
		p.say(`{"jsonrpc":"2.0","id":2,"result":{}}`)
		p.say(`{"jsonrpc":"2.0","id":3,"result":33}`)
		if e := <-waits; e.err != nil || string(e.result) != "33" {
			t.Errorf("the other request gets %s, %v", e.result, e.err)
		}
	})
}

// TestAnObserverHasTheAnswerBeforeTheNextMessageIsRead, so that what a client gets keeps its order.
func TestAnObserverHasTheAnswerBeforeTheNextMessageIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{}
		p := &program{version: "2026-07-28", on: quiet}
		s := p.connect(t, r)
		for _, refuses := range []error{nil, errors.New("no room")} {
			o := &observer{name: "call", refuses: refuses, answered: func(ctx context.Context) {
				time.Sleep(time.Minute)
				r.add("answered, %v", ctx.Err())
			}}
			done := beginAt(t.Context(), s, o)
			for _, text := range []string{progress, elicited, strings.Replace(success, "$ID", fmt.Sprint(len(p.all())), 1), logged} {
				p.say("%s", text)
			}
			if e := <-done; !errors.Is(e.err, refuses) || e.err == nil && string(e.result) != result {
				t.Errorf("result = %s, %v", e.result, e.err)
			}
			synctest.Wait()
			if diff := cmp.Diff([]string{"sending", "sent", "answered " + result}, o.all()); diff != "" {
				t.Errorf("the observer (-want +got):\n%s", diff)
			}
		}
		once := []string{
			`notified notifications/progress{"progressToken":"hb-1","progress":0.5}`, `asked 1.50 elicitation/create{"a":1e400}`,
			"answered, <nil>", `notified notifications/message{"level":"info","data":"x"}`,
		}
		if diff := cmp.Diff(slices.Concat(once, once), r.all()); diff != "" {
			t.Errorf("the receiver (-want +got):\n%s", diff)
		}
	})
}

func TestTheEndOfAStreamFailsItsCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		exit := errors.New("exit status 1")
		p := &program{version: "2025-11-25", on: quiet}
		s := p.connect(t, &receiver{})
		first, second := beginAt(t.Context(), s, &observer{}), beginAt(t.Context(), s, nil)
		p.end(exit)
		<-s.Done()
		_, err := s.Call(t.Context(), client.Request{Method: methods.ListTools})
		for _, err := range []error{(<-first).err, (<-second).err, err} {
			if !errors.Is(err, client.ErrClosed) || !errors.Is(err, exit) || err.Error() != "exit status 1" {
				t.Errorf("error = %v", err)
			}
		}
		if err := s.Notify(t.Context(), "notifications/x", nil); !errors.Is(err, client.ErrClosed) {
			t.Errorf("a notification gets %v", err)
		}
		if !errors.Is(s.Err(), exit) {
			t.Errorf("it ended by %v", s.Err())
		}
		s.Close()
		if !p.closed() || slices.Contains(p.methods(), methods.Cancelled) {
			t.Errorf("closed: %t, messages %q", p.closed(), p.methods())
		}
	})
}

// TestAnAnswerCountsThoughTheStreamEndsBehindIt, as often as it takes to see both orders.
func TestAnAnswerCountsThoughTheStreamEndsBehindIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			p := &program{version: "2026-07-28", on: map[string]func(*program, rpc.Message){methods.CallTool: func(p *program, m rpc.Message) {
				p.result(m, "1")
				p.end(io.EOF)
				synctest.Wait()
			}}}
			s := p.connect(t, &receiver{})
			o := &observer{}
			got, err := s.Call(t.Context(), client.Request{Method: methods.CallTool, Observer: o})
			if string(got) != "1" || err != nil {
				t.Fatalf("result = %s, %v; the observer has %q", got, err, o.all())
			}
		}
	})
}

func TestAClosedConnectionToAProgramCancelsItsCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &program{version: "2025-11-25", on: quiet}
		s := p.connect(t, &receiver{})
		call := beginAt(t.Context(), s, &observer{})
		s.Close()
		if e := <-call; !errors.Is(e.err, client.ErrClosed) {
			t.Errorf("error = %v", e.err)
		}
		lines := p.all()
		want := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"the connection to the server has ended","requestId":3}}`
		if lines[len(lines)-1] != want || !p.closed() || s.Err() != nil {
			t.Errorf("the program gets %s; closed: %t; it ended by %v", lines[len(lines)-1], p.closed(), s.Err())
		}
	})
}

func TestAProgramReadsNotificationsAndAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &program{version: "2026-07-28"}
		s := p.connect(t, &receiver{})
		must.Succeed(t, s.Notify(t.Context(), "notifications/x", json.RawMessage("{}")))
		must.Succeed(t, s.Answer(t.Context(), json.RawMessage(`"a"`), nil, &jsonrpc.Error{Code: 1, Message: "m"}))
		want := []string{`{"jsonrpc":"2.0","method":"notifications/x","params":{}}`, `{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"m"}}`}
		if diff := cmp.Diff(want, p.all()[1:]); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
		p.broken = io.ErrClosedPipe
		if _, err := s.Call(t.Context(), client.Request{Method: methods.CallTool}); !errors.Is(err, io.ErrClosedPipe) || s.Err() != nil {
			t.Errorf("error = %v, the connection ended by %v", err, s.Err())
		}
	})
}
