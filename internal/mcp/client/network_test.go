// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
)

func TestANetworkThatFailsFailsTheRequestAlone(t *testing.T) {
	t.Parallel()
	type row struct {
		answer   func(*asked)
		err      error  // nil for any
		text     string // the beginning of the error
		observed []string
	}
	sent := []string{"sending", "sent"}
	inBubbles(t, map[string]row{
		"before the answer": {(*asked).cut, io.EOF, `send "tools/call": `, sent[:1]},
		"in an answer of a known length": {func(a *asked) {
			a.w.Header().Set("Content-Length", "1000")
			a.flow("application/json", `{"jsonrpc":"2.0",`)
			a.cut()
		}, io.ErrUnexpectedEOF, "", sent},
		"in an answer of no known length": {func(a *asked) {
			a.flow("application/json", `{"jsonrpc":"2.0",`)
			a.cut()
		}, io.ErrUnexpectedEOF, "", sent},
		"in an event, which does not count": {func(a *asked) {
			a.events("data: " + success)
			a.cut()
		}, nil, "the server ended its answer before the result", sent},
		"in a large answer that is not kept": {func(a *asked) {
			a.w.Header().Set("Content-Length", fmt.Sprint(64<<20))
			a.flow("application/json", `{"jsonrpc":"2.0",`)
			a.cut()
		}, io.ErrUnexpectedEOF, "", sent},
	}, func(t *testing.T, tt row) {
		o := &observer{}
		_, _, err := calling(t, "2025-11-25", tt.answer, o)
		if err == nil || tt.err != nil && !errors.Is(err, tt.err) || !strings.HasPrefix(err.Error(), tt.text) {
			t.Errorf("error = %v", err)
		}
		if diff := cmp.Diff(tt.observed, o.all()); diff != "" {
			t.Errorf("the observer (-want +got):\n%s", diff)
		}
	})
}

// TestRequestsAtOnceGetTheirOwnAnswers over each transport, and the connection can be closed among them.
func TestRequestsAtOnceGetTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	inBubbles(t, map[string]func(t *testing.T) *client.Session{
		"JSON": func(t *testing.T) *client.Session {
			return (&server{version: "2025-11-25", session: "s", on: map[string]func(*asked){
				methods.CallTool: func(a *asked) { a.result(string(a.Params)) },
			}}).connect(t, &receiver{})
		},
		"event streams": func(t *testing.T) *client.Session {
			return (&server{version: "2026-07-28", on: map[string]func(*asked){methods.CallTool: func(a *asked) {
				a.events(`data: {"jsonrpc":"2.0","id":$ID,"result":` + string(a.Params) + "}\n\n")
			}}}).connect(t, &receiver{})
		},
		"one stream": func(t *testing.T) *client.Session {
			return (&program{version: "2026-07-28", on: map[string]func(*program, rpc.Message){
				methods.CallTool: func(p *program, m rpc.Message) { p.result(m, string(m.Params)) },
			}}).connect(t, &receiver{})
		},
	}, func(t *testing.T, connect func(t *testing.T) *client.Session) {
		s := connect(t)
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				params := fmt.Sprintf(`{"n":%d}`, i)
				got, err := s.Call(t.Context(), client.Request{Method: methods.CallTool, Params: json.RawMessage(params)})
				if string(got) != params && !errors.Is(err, client.ErrClosed) {
					t.Errorf("the request %s gets %s, %v", params, got, err)
				}
				if i == 40 {
					s.Close()
				}
			})
		}
		all.Wait()
	})
}

// TestAnOpeningThatWaitsForABusyServerEndsWithItsCaller.
func TestAnOpeningThatWaitsForABusyServerEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	inBubbles(t, map[string]string{"a request": methods.Initialize, "the stream": http.MethodGet}, func(t *testing.T, busy string) {
		s := &server{version: "2025-11-25", on: map[string]func(*asked){busy: func(a *asked) {
			a.w.Header().Set("Retry-After", "4")
			a.say(http.StatusServiceUnavailable, "", "")
		}}}
		h, began := s.serve(t), time.Now()
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("enough")) })
		_, err := h.Dial(ctx, options(&receiver{}))
		if err == nil || time.Since(began) != time.Second || len(s.when(busy)) != 1 {
			t.Errorf("error = %v after %v, asked at %v", err, time.Since(began), s.when(busy))
		}
	})
}

// TestAStreamIsOpenedWhenABusyServerSaysSo, though this is later than a stream that is not refused must begin.
func TestAStreamIsOpenedWhenABusyServerSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := listening(func(a *asked) {
			if a.before == 0 {
				a.w.Header().Set("Retry-After", "20")
				a.say(http.StatusServiceUnavailable, "", "")
				return
			}
			a.events("data: " + logged + "\n\n")
			a.silent()
		})
		r := &receiver{}
		s.connect(t, r)
		time.Sleep(time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([]time.Duration{0, 20 * time.Second}, s.when(http.MethodGet)); diff != "" || len(r.all()) != 1 {
			t.Errorf("%q on a stream that was asked for (-want +got):\n%s", r.all(), diff)
		}
	})
}
