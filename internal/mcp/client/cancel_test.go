// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// begin sends a call in the background.
func begin(ctx context.Context, session *client.Session, o client.Observer) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := session.Call(ctx, client.Request{Method: methods.CallTool, Observer: o})
		ended <- err
	}()
	synctest.Wait()
	return ended
}

func TestTheServerIsToldThatACallIsCancelled(t *testing.T) {
	t.Parallel()
	type row struct {
		answer    func(*asked)
		limit     time.Duration // of the call, zero for one that is cancelled
		words     string
		want      error
		cancelled string
	}
	const told = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":`
	inBubbles(t, map[string]row{
		"before the answer begins":   {(*asked).silent, 0, "", context.Canceled, told + `{"reason":"context canceled","requestId":3}}`},
		"in its stream":              {(*asked).stay, 0, "", context.Canceled, told + `{"reason":"context canceled","requestId":3}}`},
		"in the words of its client": {(*asked).stay, 0, `{"reason":"enough"}`, context.Canceled, told + `{"reason":"enough"}}`},
		"a limit":                    {(*asked).silent, time.Minute, "", context.DeadlineExceeded, told + `{"reason":"context deadline exceeded","requestId":3}}`},
		"while its stream is resumed": {
			streaming("id: e1\nretry: 60000\n\n"), 30 * time.Second, "", context.DeadlineExceeded,
			told + `{"reason":"context deadline exceeded","requestId":3}}`,
		},
	}, func(t *testing.T, tt row) {
		gone := false
		s := &server{version: "2025-11-25", session: "s", on: map[string]func(*asked){methods.CallTool: func(a *asked) {
			tt.answer(a)
			gone = true
		}}}
		session := s.connectAlone(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		if tt.limit > 0 {
			limited, end := context.WithTimeout(ctx, tt.limit)
			defer end()
			ctx = limited
		}
		o := &observer{words: tt.words}
		ended := begin(ctx, session, o)
		if tt.limit == 0 {
			cancel(errors.New("a cause"))
		}
		if err := <-ended; !errors.Is(err, tt.want) {
			t.Errorf("error = %v", err)
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{tt.cancelled}, s.only(methods.Cancelled)); diff != "" || !gone {
			t.Errorf("the request ended at the server: %t; it was told (-want +got):\n%s", gone, diff)
		}
		if strings.Contains(strings.Join(o.all(), " "), "answered") {
			t.Errorf("the observer has %q", o.all())
		}
		if _, err := session.Call(t.Context(), client.Request{Method: methods.ListTools}); err != nil {
			t.Errorf("the next request: %v", err)
		}
	})
}

func TestAClosedConnectionEndsItsSessionOnce(t *testing.T) {
	t.Parallel()
	type row struct {
		version, session string
		want             []string
	}
	inBubbles(t, map[string]row{
		"a session":   {"2025-11-25", "s", []string{"DELETE protocol-version=2025-11-25 session-id=s"}},
		"no session":  {"2025-11-25", "", nil},
		"no sessions": {"2026-07-28", "", nil},
	}, func(t *testing.T, tt row) {
		s := &server{version: tt.version, session: tt.session}
		session := s.connect(t, &receiver{})
		opening := len(s.seen(headers))
		again := make(chan struct{})
		go func() {
			session.Close()
			select {
			case <-session.Done():
			default:
				t.Error("Close returns before the connection has ended")
			}
			close(again)
		}()
		session.Close()
		<-again
		session.Close()
		if diff := cmp.Diff(tt.want, s.seen(headers)[opening:], cmp.Transformer("nil", func(all []string) string { return strings.Join(all, "\n") })); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		<-session.Done()
		_, err := session.Call(t.Context(), client.Request{Method: methods.ListTools})
		for what, err := range map[string]error{
			"a request": err, "a notification": session.Notify(t.Context(), "notifications/x", nil),
			"an answer": session.Answer(t.Context(), []byte("1"), []byte("{}"), nil),
		} {
			if !errors.Is(err, client.ErrClosed) {
				t.Errorf("%s on it gets %v", what, err)
			}
		}
		if _, err := session.Listen(t.Context(), nil); !errors.Is(err, client.ErrClosed) {
			t.Errorf("Listen on it returns %v", err)
		}
		if session.Err() != nil {
			t.Errorf("it ended by %v", session.Err())
		}
	})
}

// TestCloseWaitsForWhatTheServerIsTold for a limited time, so that a session does not end before the
// cancellation of its calls.
func TestCloseWaitsForWhatTheServerIsTold(t *testing.T) {
	t.Parallel()
	type row struct {
		cancelled, deleted time.Duration // how long the server takes
		want               time.Duration
	}
	inBubbles(t, map[string]row{
		"a fast server":                     {0, 0, 0},
		"a slow server":                     {300 * time.Millisecond, time.Second, 1300 * time.Millisecond},
		"one that hears of no cancellation": {time.Minute, 0, 500 * time.Millisecond},
		"one that does not answer":          {0, time.Minute, 10 * time.Second},
	}, func(t *testing.T, tt row) {
		slow := func(d time.Duration) func(*asked) {
			return func(a *asked) {
				select {
				case <-time.After(d):
				case <-a.r.Context().Done():
				}
			}
		}
		s := &server{version: "2025-11-25", session: "s", on: map[string]func(*asked){
			methods.CallTool: (*asked).silent, methods.Cancelled: slow(tt.cancelled), http.MethodDelete: slow(tt.deleted),
		}}
		session := s.connectAlone(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancelled, inFlight := begin(ctx, session, &observer{}), begin(t.Context(), session, &observer{})
		cancel()
		if err := <-cancelled; !errors.Is(err, context.Canceled) {
			t.Errorf("the cancelled call gets %v", err)
		}
		began := time.Now()
		session.Close()
		if took := time.Since(began); took != tt.want {
			t.Errorf("it took %v, want %v", took, tt.want)
		}
		if err := <-inFlight; !errors.Is(err, client.ErrClosed) {
			t.Errorf("the call in flight gets %v", err)
		}
		told := s.only(methods.Cancelled)
		if len(told) != 2 || !strings.Contains(strings.Join(told, ""), `{"reason":"the connection to the server has ended","requestId":4}`) {
			t.Errorf("the server was told %q", told)
		}
		if at := s.when(http.MethodDelete); len(at) != 1 || at[0] < min(tt.cancelled, 500*time.Millisecond) {
			t.Errorf("the session was ended at %v", at)
		}
	})
}

// TestABrokenConnectionIsEndedAtTheServer, which keeps its session otherwise.
func TestABrokenConnectionIsEndedAtTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{version: "2025-11-25", session: "s", on: map[string]func(*asked){methods.CallTool: saying(401, "", "")}}
		session := s.connectAlone(t)
		if _, err := session.Call(t.Context(), client.Request{Method: methods.CallTool}); err == nil {
			t.Error("there is an answer")
		}
		<-session.Done()
		session.Close()
		if n := len(s.when(http.MethodDelete)); n != 1 {
			t.Errorf("its session was ended %d times", n)
		}
	})
}

// TestAConnectionIsUsedAgain after a stream that ends soon behind its answer, also where the call's client is
// gone by then. One that stays open is cut.
func TestAConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	type row struct {
		rest  time.Duration
		again bool
	}
	inBubbles(t, map[string]row{"soon": {200 * time.Millisecond, true}, "late": {time.Hour, false}}, func(t *testing.T, tt row) {
		s := &server{version: "2026-07-28", on: map[string]func(*asked){methods.CallTool: func(a *asked) {
			began := time.Now()
			a.events("data: " + success + "\n\n")
			select {
			case <-time.After(tt.rest):
			case <-a.r.Context().Done():
			}
			if took := time.Since(began); took != min(tt.rest, 250*time.Millisecond) {
				t.Errorf("the stream ended %v behind the answer", took)
			}
		}}}
		dials := 0
		session, err := s.dial(t, func(h *client.HTTP, _ *client.Options) {
			network := h.Client.Transport.(*http.Transport)
			network.DisableKeepAlives = false
			dial := network.DialContext
			network.DialContext = func(ctx context.Context, a, b string) (net.Conn, error) {
				dials++
				return dial(ctx, a, b)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			if _, err := session.Call(ctx, client.Request{Method: methods.CallTool}); err != nil {
				t.Error(err)
			}
			cancel()
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if again := dials == 1; again != tt.again {
			t.Errorf("%d connections were opened", dials)
		}
	})
}

// TestAnOpeningThatIsCancelledIsNotCancelledAtTheServer, which could begin a session for the notification.
func TestAnOpeningThatIsCancelledIsNotCancelledAtTheServer(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*asked){methods.Discover: (*asked).silent, methods.Initialize: (*asked).silent} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{version: "2025-11-25", on: map[string]func(*asked){name: answer}}
			h := s.serve(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := h.Dial(ctx, options(&receiver{})); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: error = %v", name, err)
			}
			synctest.Wait()
			if told := s.only(methods.Cancelled); len(told) > 0 {
				t.Errorf("%s: the server is told %q", name, told)
			}
		})
	}
}

// TestASessionThatBeginsLateIsEnded, since its client has left and nobody else knows it.
func TestASessionThatBeginsLateIsEnded(t *testing.T) {
	t.Parallel()
	type row struct {
		answer  time.Duration // how long the server takes
		deleted []string
	}
	inBubbles(t, map[string]row{
		"in time":  {69 * time.Second, []string{"DELETE session-id=s"}},
		"too late": {71 * time.Second, nil},
	}, func(t *testing.T, tt row) {
		s := &server{version: "2025-11-25", session: "s"}
		s.on = map[string]func(*asked){methods.Initialize: func(a *asked) {
			time.Sleep(tt.answer)
			s.answer(a)
		}}
		h := s.serve(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if _, err := h.Dial(ctx, options(&receiver{})); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("error = %v after %v", err, time.Since(began))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		deleted := s.seen(func(a *asked) string {
			if a.name() != http.MethodDelete {
				return ""
			}
			return headers(a)
		})
		if diff := cmp.Diff(tt.deleted, deleted); diff != "" {
			t.Errorf("ended (-want +got):\n%s", diff)
		}
	})
}

// TestACallWhoseCallerHasLeftIsNotSent to a server that could not know of it.
func TestACallWhoseCallerHasLeftIsNotSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{version: "2025-11-25", session: "s"}
		session := s.connectAlone(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		o := &observer{}
		if _, err := session.Call(ctx, client.Request{Method: methods.CallTool, Observer: o}); !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v", err)
		}
		synctest.Wait()
		if sent := append(s.only(methods.CallTool), s.only(methods.Cancelled)...); len(sent) > 0 || len(o.all()) > 0 {
			t.Errorf("the server gets %q, and the observer %q", sent, o.all())
		}
	})
}

// TestWhatTheServerIsToldOutlastsTheConnection, if it has begun before the connection closes.
func TestWhatTheServerIsToldOutlastsTheConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		heard := make(chan bool, 1)
		s := &server{version: "2025-11-25", session: "s", on: map[string]func(*asked){
			methods.CallTool: (*asked).silent, methods.Cancelled: func(a *asked) {
				select {
				case <-time.After(2 * time.Second):
					heard <- true
				case <-a.r.Context().Done():
					heard <- false
				}
			},
		}}
		session := s.connectAlone(t)
		ended := begin(t.Context(), session, &observer{})
		session.Close()
		if err := <-ended; !errors.Is(err, client.ErrClosed) || !<-heard {
			t.Errorf("error = %v, or the notification was cut off", err)
		}
	})
}
