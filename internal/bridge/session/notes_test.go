// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// slowServers take a notification of a client when the test lets them.
type slowServers struct {
	Host
	lets chan struct{}

	mu   sync.Mutex
	seen []string
}

func newSlowServers(t *testing.T) *slowServers {
	t.Helper()
	s := &slowServers{lets: make(chan struct{})}
	s.Host = Host{Life: t.Context(), Calls: &Calls{}, Signing: NewSigning(bridgeconfig.Config{UserID: "alice"})}
	s.Host.Answer = func(ctx context.Context, in *Session, q *message.Request) (mcp.Result, error) {
		switch q.Method {
		case methods.RootsChanged:
			s.see("a notification begins")
			select {
			case <-s.lets:
				s.see("a notification ends")
			case <-ctx.Done():
				s.see("a notification is cut off")
			}
			return nil, nil
		case methods.CallTool:
			if ctx.Err() != nil {
				s.see("a cancelled call")
				return nil, ctx.Err()
			}
			s.see("a call")
			return message.EmptyResult(), nil
		case methods.Ping:
			s.see("a ping")
		}
		return in.Answer(ctx, q)
	}
	return s
}

func (s *slowServers) see(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, what)
}

// saw checks what the servers have seen since the last time.
func (s *slowServers) saw(t *testing.T, when string, want ...string) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(want, s.seen); diff != "" {
		t.Errorf("%s (-want +got):\n%s", when, diff)
	}
	s.seen = nil
}

// overEachTransport runs a test with a client that has begun a session. say sends a message, and returns before its answer.
func overEachTransport(t *testing.T, run func(t *testing.T, s *slowServers, say func(text string))) {
	t.Helper()
	const initialize = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`
	post := func(t *testing.T, h http.Handler, url, body string, header http.Header) *httptest.ResponseRecorder {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"*/*"}, message.HeaderSessionID: header[message.HeaderSessionID]}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for name, open := range map[string]func(t *testing.T, s *slowServers) (say func(string), end func()){
		"stdio": func(t *testing.T, s *slowServers) (func(string), func()) {
			t.Helper()
			in, client := io.Pipe()
			served := make(chan error, 1)
			go func() { served <- s.ServeStdio(t.Context(), in, unclosed{io.Discard}) }()
			return func(text string) { must.Value(io.WriteString(client, text+"\n"))(t) }, func() {
				_ = client.Close()
				must.Succeed(t, <-served)
			}
		},
		"streamable HTTP": func(t *testing.T, s *slowServers) (func(string), func()) {
			t.Helper()
			store, header := NewStore(s.Host), http.Header{}
			return func(text string) {
					sent := make(chan struct{})
					go func() {
						defer close(sent)
						if w := post(t, store, "/mcp", text, header); w.Header().Get(message.HeaderSessionID) != "" {
							header = http.Header{message.HeaderSessionID: w.Header()[message.HeaderSessionID]}
						}
					}()
					synctest.Wait()
				}, func() {
					store.close(store.open[header.Get(message.HeaderSessionID)])
				}
		},
		"HTTP+SSE": func(t *testing.T, s *slowServers) (func(string), func()) {
			t.Helper()
			ctx, leave := context.WithCancel(t.Context())
			h, w, ended := NewSSE(s.Host), httptest.NewRecorder(), make(chan struct{})
			go func() {
				defer close(ended)
				h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/sse", nil))
			}()
			synctest.Wait()
			_, address, _ := strings.Cut(w.Body.String(), "data: ")
			return func(text string) {
					if w := post(t, h, strings.TrimSpace(address), text, nil); w.Code != http.StatusAccepted {
						t.Errorf("%s is answered with %d", text, w.Code)
					}
				}, func() {
					leave()
					<-ended
				}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSlowServers(t)
				say, end := open(t, s)
				say(initialize)
				synctest.Wait()
				run(t, s, say)
				end()
			})
		})
	}
}

const rootsChanged = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"_meta":{"n":%d}}}`

// TestNotificationsAreNotOvertaken by those behind them, or by requests. What a request says may mean nothing to a server
// that has not the notification before it.
func TestNotificationsAreNotOvertaken(t *testing.T) {
	t.Parallel()
	overEachTransport(t, func(t *testing.T, s *slowServers, say func(string)) {
		say(fmt.Sprintf(rootsChanged, 1))
		say(fmt.Sprintf(rootsChanged, 2))
		say(toolCall("1", "t"))
		s.saw(t, "at first", "a notification begins")
		s.lets <- struct{}{}
		s.saw(t, "after the first notification", "a notification ends", "a notification begins")
		s.lets <- struct{}{}
		s.saw(t, "after the second one", "a notification ends", "a call")
		say(toolCall("2", "t"))
		s.saw(t, "afterwards", "a call")
	})
}

// TestNotificationsHoldUpNothingForLong has a server not take one.
func TestNotificationsHoldUpNothingForLong(t *testing.T) {
	t.Parallel()
	overEachTransport(t, func(t *testing.T, s *slowServers, say func(string)) {
		for n := range 3 {
			say(fmt.Sprintf(rootsChanged, n))
		}
		say(toolCall("1", "t"))
		time.Sleep(noteTimeout - time.Millisecond)
		s.saw(t, "at first", "a notification begins")
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		s.mu.Lock()
		text := strings.Join(s.seen, ", ")
		s.mu.Unlock()
		for _, want := range []string{"a notification is cut off", "a notification begins", "a call"} {
			if !strings.Contains(text, want) {
				t.Errorf("then the servers saw %s", text)
			}
		}
	})
}

// TestARequestBehindANotificationCanBeCancelled while it waits. It ends the wait.
func TestARequestBehindANotificationCanBeCancelled(t *testing.T) {
	t.Parallel()
	overEachTransport(t, func(t *testing.T, s *slowServers, say func(string)) {
		say(fmt.Sprintf(rootsChanged, 1))
		say(toolCall("1", "t"))
		s.saw(t, "at first", "a notification begins")
		say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		s.saw(t, "then", "a cancelled call")
		s.lets <- struct{}{}
		s.saw(t, "at the end", "a notification ends")
	})
}

// TestOnlyWhatServersHearIsQueued: progress is for nobody, and a ping for the bridge alone.
func TestOnlyWhatServersHearIsQueued(t *testing.T) {
	t.Parallel()
	overEachTransport(t, func(t *testing.T, s *slowServers, say func(string)) {
		for n := range 2 * maxNotes {
			say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`, n))
		}
		say(fmt.Sprintf(rootsChanged, 0))
		s.saw(t, "behind much progress", "a notification begins")
		say(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
		s.saw(t, "while a notification is in progress", "a ping")
		close(s.lets)
		s.saw(t, "at the end", "a notification ends")
	})
}

// TestAClientCannotPileUpNotifications while a server takes none. Those that say the same are one.
func TestAClientCannotPileUpNotifications(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		number func(n int) int
		want   int
	}{
		"the same one":   {func(int) int { return 0 }, 2},
		"different ones": {func(n int) int { return n }, 1 + maxNotes},
		"two in turns":   {func(n int) int { return n % 2 }, 3},
	} {
		overEachTransport(t, func(t *testing.T, s *slowServers, say func(string)) {
			for n := range 500 {
				say(fmt.Sprintf(rootsChanged, tt.number(n)))
			}
			synctest.Wait()
			close(s.lets)
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			if got := len(s.seen) / 2; got != tt.want {
				t.Errorf("%s: the servers saw %d notifications, want %d", name, got, tt.want)
			}
		})
	}
}
