// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/graceful"
	"github.com/hostedbridge/hostedbridge/internal/ingress/inflight"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// script is a bridge that sends what it is told, as events of one stream per
// method, and tells when its client is gone. A PUT cannot reach it.
type script struct {
	send map[string]chan string
	gone chan string
}

func newScript() *script {
	return &script{send: map[string]chan string{"GET": make(chan string), "POST": make(chan string)}, gone: make(chan string, 8)}
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case piece, more := <-s.send[r.Method]:
			if !more {
				return
			}
			_, _ = io.WriteString(w, piece)
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			s.gone <- r.Method
			return
		}
	}
}

// stream is an open answer of events.
type stream struct {
	t     testing.TB
	lines *bufio.Reader
	body  io.Closer
}

func (w *world) stream(method, path, key string) *stream {
	w.t.Helper()
	body := map[string]string{"POST": toolCall}[method]
	res, err := w.client.Do(w.request(method, path, key, body))
	if err != nil {
		w.t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || res.Header.Get("X-Accel-Buffering") != "no" {
		w.t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	w.t.Cleanup(func() { _ = res.Body.Close() })
	return &stream{w.t, bufio.NewReader(res.Body), res.Body}
}

// expect reads exactly the text.
func (s *stream) expect(text string) {
	s.t.Helper()
	got := make([]byte, len(text))
	n, err := io.ReadFull(s.lines, got)
	if string(got[:n]) != text {
		s.t.Fatalf("got %q, %v, want %q", got[:n], err, text)
	}
}

// skipKeepAlives reads the comments that come before an event.
func (s *stream) skipKeepAlives() {
	s.t.Helper()
	for {
		next, err := s.lines.Peek(1)
		if err != nil {
			s.t.Fatal(err)
		}
		if next[0] != inflight.KeepAliveComment[0] {
			return
		}
		s.expect(inflight.KeepAliveComment)
	}
}

// rest reads to the end, which is one that its sender made.
func (s *stream) rest() string {
	s.t.Helper()
	b, err := io.ReadAll(s.lines)
	if err != nil {
		s.t.Errorf("the stream broke off: %v", err)
	}
	return string(b)
}

// protocols runs the test in bubbles over both versions of HTTP.
func protocols(t *testing.T, test func(t *testing.T, use func(*world))) {
	for name, use := range map[string]func(*world){"HTTP/1.1": func(*world) {}, "HTTP/2": (*world).useHTTP2} {
		t.Run(name, func(t *testing.T) { inBubble(t, func(t *testing.T) { test(t, use) }) })
	}
}

func TestSilentStreamsAreKeptAliveBetweenEventsOnly(t *testing.T) {
	protocols(t, func(t *testing.T, use func(*world)) {
		config := defaults()
		// A stream is silent for longer than a client may be.
		config.KeepAlive, config.WriteTimeout = time.Millisecond, 400*time.Millisecond
		bridge := newScript()
		w, alice := oneUser(t, config, bridge.ServeHTTP)
		use(w)
		listening, answering := w.stream("GET", "/u/alice/mcp", alice), w.stream("POST", "/u/alice/mcp", alice)
		bridge.send["GET"] <- "data: half"
		listening.skipKeepAlives()
		listening.expect("data: half")
		// Meanwhile the other one gets comments, before its first event too.
		answering.expect(strings.Repeat(inflight.KeepAliveComment, 3))
		bridge.send["POST"] <- "data: {}\n"
		bridge.send["GET"] <- " and half\n\n"
		listening.expect(" and half\n\n" + strings.Repeat(inflight.KeepAliveComment, 3))
		bridge.send["POST"] <- "\n"
		close(bridge.send["POST"])
		close(bridge.send["GET"])
		got := answering.rest()
		if !strings.Contains(got, "data: {}\n\n") || strings.ReplaceAll(got, inflight.KeepAliveComment, "") != "data: {}\n\n" {
			t.Errorf("the answer was %q", got)
		}
		if got := strings.ReplaceAll(listening.rest(), inflight.KeepAliveComment, ""); got != "" {
			t.Errorf("after the event came %q", got)
		}
		if w.metric("keep_alives_total") < 6 {
			t.Errorf("comments counted = %v", w.metric("keep_alives_total"))
		}
	})
}

func TestOtherAnswersGetNoComments(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		config := defaults()
		config.KeepAlive = time.Millisecond
		bridge, release := newScript(), make(chan struct{})
		w, alice := oneUser(t, config, func(rw http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Name") == "" {
				bridge.ServeHTTP(rw, r)
				return
			}
			rw.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(rw, "a\n\n")
			_ = http.NewResponseController(rw).Flush()
			<-release
			fmt.Fprint(rw, "b")
		})
		r := w.request("GET", "/u/alice/mcp", alice, "")
		r.Header.Set("Mcp-Name", "text")
		res, err := w.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		w.stream("GET", "/u/alice/mcp", alice).expect(strings.Repeat(inflight.KeepAliveComment, 3))
		close(release)
		if body, err := io.ReadAll(res.Body); string(body) != "a\n\nb" || err != nil {
			t.Errorf("%q, %v", body, err)
		}
	})
}

func TestAClientThatDoesNotReadIsLetGo(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2"} {
		t.Run(protocol, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				config := defaults()
				config.WriteTimeout = 100 * time.Millisecond
				gone := make(chan struct{})
				w, alice := oneUser(t, config, func(rw http.ResponseWriter, r *http.Request) {
					rw.Header().Set("Content-Type", "text/event-stream")
					event := []byte("data: " + strings.Repeat("a", 32<<10) + "\n\n")
					for r.Context().Err() == nil {
						if _, err := rw.Write(event); err != nil {
							break
						}
					}
					close(gone)
				})
				if protocol == "HTTP/2" {
					w.useHTTP2()
					w.stream("GET", "/u/alice/mcp", alice)
				} else {
					fmt.Fprintf(w.dial(), "GET /u/alice/mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", alice)
				}
				select {
				case <-gone:
				case <-time.After(wait.Limit):
					t.Fatal("the bridge still writes")
				}
				eventually(t, func() bool { return w.metric("requests_in_flight") == 0 })
				// HTTP/2 may give the whole connection up before its stream is looked at.
				if n := w.metric("ended_total", "slow_reader"); n < 1 && protocol == "HTTP/1.1" {
					t.Errorf("slow readers counted = %v", n)
				}
			})
		})
	}
}

// lost is what a caller loses while a call is open.
var lost = map[string]struct {
	edit   func(*v1alpha1.HostedBridge)
	status int
	code   string
}{
	"the key is revoked": {func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys = nil }, 401, "unauthorized"},
	"the key expires": {func(b *v1alpha1.HostedBridge) {
		b.Spec.APIKeys[0].ExpiresAt = &metav1.Time{Time: time.Now().Add(50 * time.Millisecond)}
	}, 401, "unauthorized"},
	"the bridge is suspended":  {func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = v1alpha1.StateSuspended }, 503, "bridge_suspended"},
	"the bridge is deleted":    {func(b *v1alpha1.HostedBridge) { b.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, 401, "unauthorized"},
	"the bridge is made again": {func(b *v1alpha1.HostedBridge) { b.UID = "another" }, 404, "not_found"},
}

func TestOpenRequestsEndWithTheirKeyAndTheirBridge(t *testing.T) {
	for name, tt := range lost {
		t.Run(name, func(t *testing.T) {
			protocols(t, func(t *testing.T, use func(*world)) {
				bridge, arrived, canceled := newScript(), make(chan struct{}), make(chan struct{})
				w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, r *http.Request) {
					if r.Header.Get("Mcp-Name") == "" {
						bridge.ServeHTTP(rw, r)
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					close(arrived)
					<-r.Context().Done()
					close(canceled)
				})
				use(w)
				bob, bobs := w.addUser("bob"), newScript()
				w.serveBridge(hosts[1], "uid-bob", bobs.ServeHTTP)
				w.setPod("bob", "bob-1", hosts[1])
				listening, answering, other := w.stream("GET", "/u/alice/mcp", alice), w.stream("POST", "/u/alice/mcp", alice), w.stream("GET", "/u/bob/mcp", bob)
				waiting := w.slowCall(alice)
				<-arrived
				start := time.Now()
				w.changeBridge("alice", tt.edit)
				if got := listening.rest() + answering.rest(); got != "" {
					t.Errorf("streams ended with %q", got)
				}
				got := <-waiting
				if took := time.Since(start); took > time.Second {
					t.Errorf("it took %s", took)
				}
				if got.status != tt.status || !strings.Contains(got.body, `"id":7,`) || !strings.Contains(got.body, `"code":"`+tt.code+`"`) {
					t.Errorf("the call in flight: %d %s", got.status, got.body)
				}
				<-bridge.gone
				<-bridge.gone
				<-canceled
				bobs.send["GET"] <- "data: still here\n\n"
				other.expect("data: still here\n\n")
				if n := w.metric("ended_total", tt.code); n != 3 {
					t.Errorf("ended = %v, want 3", n)
				}
			})
		})
	}
}

// slowCall sends a call that its bridge does not answer by itself.
func (w *world) slowCall(key string) <-chan reply {
	answer := make(chan reply, 1)
	go func() {
		r := w.request("POST", "/u/alice/mcp", key, toolCall)
		r.Header.Set("Mcp-Name", "slow")
		answer <- w.do(r)
	}()
	return answer
}

func TestAStreamInTheMiddleOfAnEventIsCut(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		bridge := newScript()
		w, alice := oneUser(t, defaults(), bridge.ServeHTTP)
		s := w.stream("GET", "/u/alice/mcp", alice)
		bridge.send["GET"] <- "data: hal"
		s.expect("data: hal")
		w.changeBridge("alice", lost["the key is revoked"].edit)
		if b, err := io.ReadAll(s.lines); err == nil {
			t.Errorf("half an event ended as if it were whole, with %q", b)
		}
	})
}

func TestWhatMayNotGoOnEndsWithinASecond(t *testing.T) {
	if inflight.SweepEvery+inflight.EndWithin >= time.Second {
		t.Errorf("it may take %s", inflight.SweepEvery+inflight.EndWithin)
	}
}

func TestADrainEndsStreamsWell(t *testing.T) {
	protocols(t, func(t *testing.T, use func(*world)) {
		config := defaults()
		config.DrainTimeout = 5 * time.Second
		bridge, arrived := newScript(), make(chan struct{})
		w, alice := oneUser(t, config, func(rw http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Name") == "" {
				bridge.ServeHTTP(rw, r)
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			close(arrived)
			<-r.Context().Done()
		}, func(s *graceful.Service) { s.DrainTimeout = config.DrainTimeout })
		use(w)
		listening, ending, endless := w.stream("GET", "/u/alice/mcp", alice), w.stream("POST", "/u/alice/mcp", alice), w.stream("GET", "/u/alice/sse", alice)
		waiting := w.slowCall(alice)
		<-arrived
		w.stop()
		// Who only listens goes elsewhere while the others go on.
		if got := listening.rest(); got != "" {
			t.Errorf("the listening stream ended with %q", got)
		}
		bridge.send["POST"] <- "data: {}\n\n"
		close(bridge.send["POST"])
		if got := ending.rest(); got != "data: {}\n\n" {
			t.Errorf("the stream that ended within the drain got %q", got)
		}
		if got := endless.rest(); got != "" {
			t.Errorf("the stream that did not got %q", got)
		}
		if got := <-waiting; got.status != 503 || !strings.Contains(got.body, `"code":"ingress_ending"`) || got.header.Get("Retry-After") == "" {
			t.Errorf("the call that did not: %d %s", got.status, got.body)
		}
		err := <-w.ended
		w.ended <- err // The world ends by it.
		if !strings.Contains(w.logs.String(), `"draining"`) {
			t.Error("the log does not say that there is a drain")
		}
		if strings.Contains(w.logs.String(), "cut off") {
			t.Error("requests were cut off at the end of the drain")
		}
	})
}

// TestADrainEndsStreamsOfTheNewestVersion has a drain that would last for a long
// time.
func TestADrainEndsStreamsOfTheNewestVersion(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		config := defaults()
		config.DrainTimeout = time.Hour
		bridge := newScript()
		w, alice := oneUser(t, config, bridge.ServeHTTP, func(s *graceful.Service) { s.DrainTimeout = config.DrainTimeout })
		res, err := w.client.Do(w.request("POST", "/u/alice/mcp", alice, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		began := time.Now()
		w.stop()
		if got, err := io.ReadAll(res.Body); err != nil || len(got) > 0 {
			t.Errorf("the stream ended with %q, %v", got, err)
		}
		if took := time.Since(began); took > config.DrainTimeout/2 {
			t.Errorf("after %s", took)
		}
	})
}
