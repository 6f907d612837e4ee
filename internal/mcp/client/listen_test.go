// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"fmt"
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

const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

// watched is a server of 2026-07-28 that answers requests for notifications.
func watched(listen func(*asked)) *server {
	return &server{version: "2026-07-28", on: map[string]func(*asked){methods.Listen: listen}}
}

func TestNotificationsThatWereAskedForComeUntilTheServerIsToldToStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := false
		s := watched(func(a *asked) {
			a.events("data: " + changed + "\n\n")
			time.Sleep(time.Minute)
			a.events("data: " + changed + "\n\n")
			a.silent()
			gone = true
		})
		r := &receiver{}
		session := s.connect(t, r)
		stop := must.Value(session.Listen(t.Context(), map[string]any{"resourceSubscriptions": []string{"a:b"}}))(t)
		time.Sleep(time.Hour)
		const note = "notified notifications/tools/list_changed"
		if diff := cmp.Diff([]string{note, note}, r.all()); diff != "" {
			t.Errorf("notifications (-want +got):\n%s", diff)
		}
		if text := s.only(methods.Listen); len(text) != 1 || !strings.Contains(text[0], `"notifications":{"resourceSubscriptions":["a:b"]}`) {
			t.Errorf("it was asked for %q", text)
		}
		stop()
		synctest.Wait()
		want := []string{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"context canceled","requestId":2}}`}
		if diff := cmp.Diff(want, s.only(methods.Cancelled)); diff != "" || !gone {
			t.Errorf("the request ended at the server: %t; it was told (-want +got):\n%s", gone, diff)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(s.when(methods.Listen)); n != 1 {
			t.Errorf("it was asked %d times", n)
		}
	})
}

func TestNotificationsThatAreRefusedAreNotAskedForAgain(t *testing.T) {
	t.Parallel()
	inBubbles(t, map[string]func(*asked){
		"a status":                  saying(404, "", ""),
		"a status for a moment":     saying(502, "", ""),
		"a status and a JSON error": saying(400, "application/json", unknown),
		"a network":                 (*asked).cut,
	}, func(t *testing.T, listen func(*asked)) {
		s := watched(listen)
		session := s.connect(t, &receiver{})
		if stop, err := session.Listen(t.Context(), nil); err == nil || stop != nil {
			t.Error("they are not refused")
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(s.when(methods.Listen)); n != 1 || session.Err() != nil {
			t.Errorf("it was asked %d times; the connection ended by %v", n, session.Err())
		}
	})
}

// TestNotificationsAreNotAskedForAgainAfterAnError of the server.
func TestNotificationsAreNotAskedForAgainAfterAnError(t *testing.T) {
	t.Parallel()
	inBubbles(t, map[string]func(*asked){
		"an error in an event":  streaming("data: " + failure + "\n\n"),
		"an error and no event": saying(200, "application/json", unknown),
	}, func(t *testing.T, listen func(*asked)) {
		s := watched(listen)
		session := s.connect(t, &receiver{})
		if stop, err := session.Listen(t.Context(), nil); err == nil {
			defer stop()
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(s.when(methods.Listen)); n != 1 || session.Err() != nil {
			t.Errorf("it was asked %d times; the connection ended by %v", n, session.Err())
		}
	})
}

// TestNotificationsAreAskedForAgainAfterAPause when their stream breaks off, and longer ones while it is not
// open again.
func TestNotificationsAreAskedForAgainAfterAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := watched(func(a *asked) {
			switch a.before {
			case 0: // It ends.
				a.events("data: " + changed + "\n\n")
			case 1:
				a.result("{}")
			case 2:
				a.say(503, "", "")
			case 3: // It is open for long, and breaks off.
				a.events("data: " + changed + "\n\n")
				time.Sleep(time.Hour)
				a.cut()
			default:
				a.stay()
			}
		})
		r := &receiver{}
		session := s.connect(t, r)
		stop := must.Value(session.Listen(t.Context(), map[string]any{"toolsListChanged": true}))(t)
		defer stop()
		time.Sleep(3 * time.Hour)
		at := s.when(methods.Listen)
		if len(at) != 5 || len(r.all()) != 2 || session.Err() != nil {
			t.Fatalf("asked at %v, notified of %q, the connection ended by %v", at, r.all(), session.Err())
		}
		at[4] -= time.Hour // It was open.
		for i, least := range []time.Duration{time.Second, 1500 * time.Millisecond, 2250 * time.Millisecond, time.Second} {
			if wait := at[i+1] - at[i]; wait < least || wait >= 2*least {
				t.Errorf("pause %d is of %v, want %v to %v", i+1, wait, least, 2*least)
			}
		}
	})
}

func TestWaitingForTheStreamOfNotificationsEnds(t *testing.T) {
	t.Parallel()
	type row struct {
		end  func(cancel context.CancelCauseFunc, s *client.Session)
		want string
	}
	inBubbles(t, map[string]row{
		"with its caller":     {func(cancel context.CancelCauseFunc, _ *client.Session) { cancel(errors.New("enough")) }, "enough"},
		"with the connection": {func(_ context.CancelCauseFunc, s *client.Session) { s.Close() }, client.ErrClosed.Error()},
	}, func(t *testing.T, tt row) {
		s := watched((*asked).silent)
		session := s.connect(t, &receiver{})
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		ended := make(chan error)
		go func() {
			_, err := session.Listen(ctx, nil)
			ended <- err
		}()
		synctest.Wait()
		tt.end(cancel, session)
		if err := <-ended; fmt.Sprint(err) != tt.want {
			t.Errorf("error = %v", err)
		}
		synctest.Wait()
		if n := len(s.only(methods.Cancelled)); n != 1 {
			t.Errorf("the server was told %d times", n)
		}
	})
}

// TestNotificationsThatAreRefusedLaterAreAskedForNoMore by a status that is not of a moment.
func TestNotificationsThatAreRefusedLaterAreAskedForNoMore(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusNotFound, http.StatusForbidden} {
		synctest.Test(t, func(t *testing.T) {
			s := watched(func(a *asked) {
				if a.before > 0 {
					a.say(status, "", "")
					return
				}
				a.events("data: " + changed + "\n\n")
			})
			session := s.connect(t, &receiver{})
			stop := must.Value(session.Listen(t.Context(), map[string]any{"toolsListChanged": true}))(t)
			defer stop()
			time.Sleep(time.Hour)
			if at := s.when(methods.Listen); len(at) != 2 || session.Err() != nil {
				t.Errorf("%d: asked at %v, the connection ended by %v", status, at, session.Err())
			}
		})
	}
}
