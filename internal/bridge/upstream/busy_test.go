// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
)

// busyServer is a server with an empty list of tools that notes when it was asked, and refuses some
// requests.
type busyServer struct {
	modern bool
	refuse func(method string, before int) (status int, retryAfter, body string)

	mu    sync.Mutex
	began time.Time
	asked []string // "<method> <time since the beginning>"
	count map[string]int
}

// ServeHTTP implements http.Handler.
func (s *busyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := struct {
		ID     json.RawMessage
		Method string
	}{Method: r.Method}
	_ = json.NewDecoder(r.Body).Decode(&m)
	if r.Method == http.MethodDelete {
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, fmt.Sprint(m.Method, " ", time.Since(s.began)))
	before := s.count[m.Method]
	s.count[m.Method]++
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if status, after, body := s.refuse(m.Method, before); status != 0 {
		if strings.Contains(body, "detail") {
			w.Header().Set("Content-Type", "application/problem+json")
		}
		w.Header().Set("Retry-After", after)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return
	}
	s.answer(w, r, m.ID, m.Method)
}

func (s *busyServer) answer(w http.ResponseWriter, r *http.Request, id json.RawMessage, method string) {
	result := ""
	switch {
	case method == methods.Listen, method == http.MethodGet:
		w.Header().Set("Content-Type", "text/event-stream")
		if method == methods.Listen {
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"notifications\":{\"toolsListChanged\":true},\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%s}}}\n\n", id)
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	case method == methods.Discover && s.modern:
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"busy","version":"1"}}}`
	case method == methods.Discover:
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, id)
		return
	case method == methods.Initialize:
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"busy","version":"1"}}`
	case method == methods.ListTools:
		result = `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]}`
	default:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// log returns when the server was asked.
func (s *busyServer) log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// connectTo has a bridge connect to the server, as c says, until the test ends.
func connectTo(t *testing.T, s *busyServer, c bridgeconfig.Server) *Server {
	t.Helper()
	s.began, s.count = time.Now(), map[string]int{}
	c.Name = "busy"
	return run(t, c, s, nil)
}

const busyWords = `{"jsonrpc":"2.0","id":null,"error":{"code":-32050,"message":"30 requests a minute are enough"}}`

// TestAConnectionIsNotBegunAgainWhenItsServerIsBusyForAMoment refuses each request of an opening
// once. The server says by Retry-After when it is asked again, and is not asked before.
func TestAConnectionIsNotBegunAgainWhenItsServerIsBusyForAMoment(t *testing.T) {
	t.Parallel()
	for era, methods := range map[string][]string{
		"modern": {methods.Discover, methods.Listen, methods.ListTools},
		"legacy": {methods.Discover, methods.Initialize, methods.Initialized, http.MethodGet, methods.ListTools},
	} {
		for i, refused := range methods {
			for name, after := range map[string]func() string{
				"seconds": func() string { return "2" },
				"a date":  func() string { return time.Now().Add(2 * time.Second).UTC().Format(http.TimeFormat) },
			} {
				for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
					t.Run(fmt.Sprintf("%s, %s, %s, %d", era, refused, name, status), func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) {
							s := &busyServer{modern: era == "modern", refuse: func(method string, before int) (int, string, string) {
								if method != refused || before > 0 {
									return 0, "", ""
								}
								return status, after(), busyWords
							}}
							u := connectTo(t, s, bridgeconfig.Server{})
							if _, err := u.Shared(t.Context()); err != nil {
								t.Errorf("the server is not connected: %v", err)
							}
							var want []string
							for _, method := range methods[:i+1] {
								want = append(want, method+" 0s")
							}
							for _, method := range methods[i:] {
								want = append(want, method+" 2s")
							}
							if diff := cmp.Diff(want, s.log()); diff != "" {
								t.Errorf("requests (-want +got):\n%s", diff)
							}
						})
					})
				}
			}
		}
	}
}

// TestABusyServerIsAskedWhenItSaysSoAndItsUserReadsItsWords has a server name a time that is longer
// than a connection may take. Requests that need it do not have it asked before.
func TestABusyServerIsAskedWhenItSaysSoAndItsUserReadsItsWords(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a JSON-RPC error": busyWords,
		"a problem":        `{"title":"Too Many Requests","status":429,"detail":"30 requests a minute are enough"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &busyServer{modern: true, refuse: func(string, int) (int, string, string) {
					return http.StatusTooManyRequests, "20", body
				}}
				u := connectTo(t, s, bridgeconfig.Server{})
				_, err := u.Shared(t.Context())
				const words = `it answered HTTP 429 Too Many Requests and says "30 requests a minute are enough": try again in 20 s`
				if err == nil || !strings.Contains(err.Error(), words) {
					t.Errorf("a request gets %v", err)
				}
				if got := u.Availability.Report().Error; got != words {
					t.Errorf("the health says %q", got)
				}
				time.Sleep(25*time.Second - time.Since(s.began))
				for _, asked := range s.log() {
					if !strings.HasSuffix(asked, " 0s") && !strings.HasSuffix(asked, " 20s") {
						t.Errorf("it was asked for %s", asked)
					}
				}
				if last := s.log(); !strings.HasSuffix(last[len(last)-1], " 20s") {
					t.Errorf("it was asked last for %s", last[len(last)-1])
				}
			})
		})
	}
}

// TestAServersOwnTimeToConnect has a server that answers no question.
func TestAServersOwnTimeToConnect(t *testing.T) {
	t.Parallel()
	for _, kind := range []bridgeconfig.Transport{bridgeconfig.StreamableHTTP, bridgeconfig.SSE} {
		synctest.Test(t, func(t *testing.T) {
			hang := make(chan struct{})
			s := &busyServer{refuse: func(method string, _ int) (int, string, string) {
				if !strings.HasPrefix(method, "notifications/") { // The SDK waits for it when it gives a connection up.
					<-hang
				}
				return 0, "", ""
			}}
			u := connectTo(t, s, bridgeconfig.Server{Transport: kind, Timeouts: bridgeconfig.Timeouts{Connect: bridgeconfig.Duration(3 * time.Second)}})
			defer close(hang)
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if u.Starting() == nil {
				t.Errorf("over %s it was given up before its time", kind)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if got := u.Availability.Report().Error; got != "the server did not answer in time" {
				t.Errorf("over %s the health says %q", kind, got)
			}
		})
	}
}

func TestAServerIsNotListenedToWhereTheConfigurationSaysSo(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &busyServer{refuse: func(string, int) (int, string, string) { return 0, "", "" }}
			_, err := connectTo(t, s, bridgeconfig.Server{NoListening: silent}).Shared(t.Context())
			synctest.Wait()
			if listens := slices.Contains(s.log(), "GET 0s"); err != nil || listens == silent {
				t.Errorf("asked %q, and silent is %t: %v", s.log(), silent, err)
			}
		})
	}
}
