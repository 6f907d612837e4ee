// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// sleep has user's bridge sleep, without a pod.
func (w *world) sleep(user string) {
	w.removePod(user)
	w.changeBridge(user, func(b *v1alpha1.HostedBridge) {
		b.Spec.DesiredState = v1alpha1.StateOnDemand
		b.Status.IdleSince = &metav1.Time{Time: time.Unix(60, 0)}
		b.Status.LastActivityTime = &metav1.Time{Time: time.Unix(60, 0)}
	})
}

// called is what a wake that is written does: nobody's bridge is ready by it.
func (w *world) called(user string) {
	w.changeBridge(user, func(b *v1alpha1.HostedBridge) { b.Status.LastActivityTime = &metav1.Time{Time: time.Unix(61, 0)} })
}

// awake does what the operator and the kubelet do then.
func (w *world) awake(user, pod, host string) {
	w.changeBridge(user, func(b *v1alpha1.HostedBridge) {
		b.Status.IdleSince = nil
		b.Spec.DesiredState = v1alpha1.StateOnDemand
	})
	w.setPod(user, pod, host)
}

// onWake has f be what a wake does.
func (w *world) onWake(f func(context.Context, route.Backend) error) {
	w.activity.mu.Lock()
	defer w.activity.mu.Unlock()
	w.activity.wake = f
}

// wakesUp has each wake bring user's pod on host after a while.
func (w *world) wakesUp(user, host string) {
	w.onWake(func(_ context.Context, b route.Backend) error {
		w.called(string(b.User))
		w.awake(user, user+"-2", host)
		return nil
	})
}

func TestAThousandFirstCallsAreOneWakeAndAllAreAnswered(t *testing.T) {
	alone(t) // A thousand handshakes leave no processor for tests beside it.
	inBubble(t, func(t *testing.T) {
		const calls = 1000
		config := defaults()
		config.MaxHeldPerUser, config.MaxHeld, config.MaxBodyMemory = calls, calls, 64<<20
		w := newWorld(t, config)
		alice := w.addUser("alice")
		w.sleep("alice")
		served := atomic.Int64{}
		w.serveBridge(hosts[0], "uid-alice", func(rw http.ResponseWriter, _ *http.Request) {
			served.Add(1)
			_, _ = io.WriteString(rw, `{}`)
		})
		starts := atomic.Int64{}
		w.onWake(func(_ context.Context, b route.Backend) error {
			starts.Add(1)
			w.called(string(b.User))
			return nil
		})
		replies := w.send(calls, alice)
		w.waitForHeld(calls)
		w.awake("alice", "alice-1", hosts[0])
		for range calls {
			if got := <-replies; got.status != http.StatusOK {
				t.Fatalf("got %d %s", got.status, got.body)
			}
		}
		if starts.Load() != 1 || served.Load() != calls {
			t.Errorf("%d wakes, %d calls served; want 1 and %d", starts.Load(), served.Load(), calls)
		}
		if n := w.metric("wake_wait_seconds"); n < 1 {
			t.Errorf("%v requests are counted as having found a bridge asleep", n)
		}
	})
}

func TestWhoWakesABridge(t *testing.T) {
	for name, tt := range map[string]struct {
		method, path, body string
		status             int
		wakes              bool
	}{
		"a call":                       {"POST", "/mcp", toolCall, 200, true},
		"the end of a session":         {"DELETE", "/mcp", "", 200, true},
		"a stream without a session":   {"GET", "/mcp", "", 200, true},
		"a stream of HTTP+SSE":         {"GET", "/sse", "", 200, true},
		"a question about health":      {"GET", "/health", "", 200, false},
		"a list of secrets":            {"GET", "/secrets", "", 200, false},
		"a path of nobody":             {"GET", "/else", "", 404, false},
		"a call that is not a message": {"POST", "/mcp", "", 400, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, defaults())
			alice := w.addUser("alice")
			w.sleep("alice")
			w.serveBridge(hosts[0], "uid-alice", servedBy("alice"))
			w.wakesUp("alice", hosts[0])
			got := w.do(w.request(tt.method, "/u/alice"+tt.path, alice, tt.body))
			if got.status != tt.status || (len(w.activity.wakes()) == 1) != tt.wakes {
				t.Errorf("got %d %s, woken %v", got.status, got.body, w.activity.wakes())
			}
			if tt.path == "/health" && !strings.Contains(got.body, `"asleep"`) {
				t.Errorf("health is %s", got.body)
			}
		})
	}
}

func TestOnlyWhoMayCallWakes(t *testing.T) {
	w := newWorld(t, defaults())
	w.addUser("alice")
	bob := w.addUser("bob")
	w.sleep("alice")
	for key, status := range map[string]int{bob: 401, "": 401, bob + "x": 401} {
		if got := w.do(w.request("POST", "/u/alice/mcp", key, toolCall)); got.status != status {
			t.Errorf("got %d, want %d", got.status, status)
		}
	}
	if woken := w.activity.wakes(); len(woken) > 0 {
		t.Errorf("woken: %v", woken)
	}
}

func TestAWakeThatFailsIsTriedAgainWhileSomebodyWaits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, defaults())
		alice := w.addUser("alice")
		w.sleep("alice")
		w.serveBridge(hosts[0], "uid-alice", servedBy("alice"))
		tries := atomic.Int64{}
		w.onWake(func(context.Context, route.Backend) error {
			if tries.Add(1) < 3 {
				return errors.New("the API server is away")
			}
			w.awake("alice", "alice-1", hosts[0])
			return nil
		})
		if got := w.do(w.request("POST", "/u/alice/mcp", alice, toolCall)); got.status != 200 {
			t.Errorf("got %d %s", got.status, got.body)
		}
		if failed, written := w.metric("wakes_total", "failed"), w.metric("wakes_total", "written"); failed != 2 || written != 1 {
			t.Errorf("%v failed, %v written", failed, written)
		}
	})
}

func TestABridgeThatDoesNotWakeInTimeIsSaidSo(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		config := defaults()
		config.Wait = 300 * time.Millisecond
		w := newWorld(t, config)
		alice := w.addUser("alice")
		w.sleep("alice")
		for code, wake := range map[string]func(context.Context, route.Backend) error{
			"bridge_asleep":   func(context.Context, route.Backend) error { return errors.New("the API server is away") },
			"bridge_starting": func(context.Context, route.Backend) error { w.called("alice"); return nil },
		} {
			w.sleep("alice")
			w.onWake(wake)
			got := w.do(w.request("POST", "/u/alice/mcp", alice, toolCall))
			if got.status != 503 || !strings.Contains(got.body, code) || got.header.Get("Retry-After") != "5" {
				t.Errorf("%s: got %d %s, Retry-After %q", code, got.status, got.body, got.header.Get("Retry-After"))
			}
		}
		// One that hangs holds nobody longer than that.
		w.sleep("alice")
		w.onWake(func(ctx context.Context, _ route.Backend) error { <-ctx.Done(); return ctx.Err() })
		if got := w.do(w.request("POST", "/u/alice/mcp", alice, toolCall)); got.status != 503 || !strings.Contains(got.body, "bridge_asleep") {
			t.Errorf("got %d %s", got.status, got.body)
		}
	})
}

// TestAClientThatLeavesDoesNotTakeTheWakeOfOthersWithIt has the request leave
// that has the bridge woken.
func TestAClientThatLeavesDoesNotTakeTheWakeOfOthersWithIt(t *testing.T) {
	w := newWorld(t, defaults())
	alice := w.addUser("alice")
	w.sleep("alice")
	w.serveBridge(hosts[0], "uid-alice", servedBy("alice"))
	began := make(chan struct{})
	var first sync.Once
	w.onWake(func(ctx context.Context, _ route.Backend) error {
		hangs := false
		first.Do(func() { hangs = true; close(began) })
		if hangs {
			<-ctx.Done()
			return ctx.Err()
		}
		w.awake("alice", "alice-1", hosts[0])
		return nil
	})
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if res, err := w.client.Do(w.request("POST", "/u/alice/mcp", alice, toolCall).WithContext(ctx)); err == nil {
			res.Body.Close()
		}
	}()
	<-began
	replies := w.send(1, alice)
	w.waitForHeld(2)
	leave()
	<-gone
	if got := <-replies; got.status != 200 {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

// listens is the request for the stream of a session of alice's.
func (w *world) listens(key string) *http.Request {
	r := w.request("GET", "/u/alice/mcp", key, "")
	r.Header.Set("Mcp-Session-Id", "s1")
	return r
}

// said reads the next line of a stream that is not empty or a comment.
func said(t *testing.T, from *bufio.Reader) string {
	t.Helper()
	for {
		s, err := from.ReadString('\n')
		if s = strings.TrimSpace(s); s != "" && s[0] != ':' || err != nil {
			return s
		}
	}
}

// expectEnd fails the test unless the stream ends as it should, and says nothing
// before.
func expectEnd(t *testing.T, from *bufio.Reader) {
	t.Helper()
	rest, err := io.ReadAll(from)
	for line := range strings.Lines(string(rest)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != ':' {
			t.Errorf("the stream says %q", line)
		}
	}
	if err != nil {
		t.Errorf("the stream does not end: %v", err)
	}
}

func TestAStreamRestsWhileItsBridgeSleepsAndGoesOnWhenItRuns(t *testing.T) {
	const listen = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}`
	for name, request := range map[string]func(*world, string) *http.Request{
		"of a session":      (*world).listens,
		"without a session": func(w *world, key string) *http.Request { return w.request("POST", "/u/alice/mcp", key, listen) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w := newWorld(t, defaults())
				alice := w.addUser("alice")
				w.sleep("alice")
				calls := w.activity.count()
				w.serveBridge(hosts[0], "uid-alice", func(rw http.ResponseWriter, r *http.Request) {
					rw.Header().Set("Content-Type", "text/event-stream")
					_, _ = fmt.Fprintf(rw, "data: %s %s\n\n", r.Method, r.Header.Get("Mcp-Session-Id"))
				})
				r := request(w, alice)
				res, err := w.client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("X-Accel-Buffering") != "no" {
					t.Errorf("got %d %v", res.StatusCode, res.Header)
				}
				if w.metric("resting_streams") != 1 || len(w.activity.wakes()) != 0 || w.activity.count() != calls {
					t.Errorf("%v rest, woken %v, %d uses", w.metric("resting_streams"), w.activity.wakes(), w.activity.count()-calls)
				}
				w.awake("alice", "alice-1", hosts[0])
				want := strings.TrimSpace("data: " + r.Method + " " + r.Header.Get("Mcp-Session-Id"))
				if got := said(t, bufio.NewReader(res.Body)); got != want {
					t.Errorf("the stream goes on with %q, want %q", got, want)
				}
				eventually(t, func() bool { return w.metric("resting_streams") == 0 })
			})
		})
	}
}

// suspend does what the user, the operator and the kubelet do then.
func (w *world) suspend(user string) {
	w.removePod(user)
	w.changeBridge(user, func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = v1alpha1.StateSuspended })
}

// TestAStreamRestsWhileItsBridgeIsSuspended suspends a bridge at each moment at
// which a client may open a stream again.
func TestAStreamRestsWhileItsBridgeIsSuspended(t *testing.T) {
	suspend := func(w *world) { w.suspend("alice") }
	revoke := func(w *world) { w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys = nil }) }
	for name, c := range map[string]struct{ before, after, end func(*world) }{
		"before it is opened":      {suspend, func(*world) {}, revoke},
		"while its bridge starts":  {func(w *world) { w.removePod("alice") }, suspend, suspend},
		"while its bridge sleeps":  {func(w *world) { w.sleep("alice") }, suspend, suspend},
		"while its bridge is away": {func(w *world) { w.setPod("alice", "alice-0", hosts[1]) }, suspend, revoke},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w := newWorld(t, defaults())
				alice := w.addUser("alice")
				_ = w.listeners[hosts[1]].Close()
				w.serveBridge(hosts[0], "uid-alice", func(rw http.ResponseWriter, r *http.Request) {
					rw.Header().Set("Content-Type", "text/event-stream")
					_, _ = fmt.Fprint(rw, "data: there\n\n")
					_ = http.NewResponseController(rw).Flush()
					<-r.Context().Done()
				})
				c.before(w)
				r := w.listens(alice)
				answered := make(chan *http.Response, 1)
				go func() {
					res, err := w.client.Do(r)
					if err != nil {
						t.Error(err)
					}
					answered <- res
				}()
				eventually(t, func() bool { return w.metric("resting_streams")+w.metric("requests_held") > 0 })
				c.after(w)
				eventually(t, func() bool { return w.metric("resting_streams") == 1 })
				res := <-answered
				if res == nil {
					return
				}
				defer res.Body.Close()
				if res.StatusCode != 200 || len(w.activity.wakes()) != 0 {
					t.Fatalf("got %d, and the bridge was woken %v", res.StatusCode, w.activity.wakes())
				}
				w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = v1alpha1.StateRunning })
				w.setPod("alice", "alice-1", hosts[0])
				stream := bufio.NewReader(res.Body)
				if got := said(t, stream); got != "data: there" {
					t.Fatalf("the stream goes on with %q", got)
				}
				c.end(w)
				expectEnd(t, stream)
			})
		})
	}
}

func TestARestingStreamEnds(t *testing.T) {
	idles := map[string]func(*world, string){"of a bridge that sleeps": (*world).sleep, "of a bridge that is suspended": (*world).suspend}
	for name, change := range map[string]func(*world){
		"when its bridge is made anew": func(w *world) {
			w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.UID = "uid-another" })
		},
		"when its key is removed":             func(w *world) { w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys = nil }) },
		"when its bridge is deleted":          func(w *world) { w.change(func() { w.bridges = nil }) },
		"when its bridge answers no stream":   func(w *world) { w.awake("alice", "alice-1", hosts[0]) },
		"when its bridge cannot be connected": func(w *world) { w.awake("alice", "alice-1", hosts[1]) },
	} {
		for of, idle := range idles {
			t.Run(of+" "+name, func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					config := defaults()
					config.Wait = 200 * time.Millisecond
					w := newWorld(t, config)
					alice := w.addUser("alice")
					idle(w, "alice")
					w.serveBridge(hosts[0], "uid-alice", func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "no such session", http.StatusNotFound) })
					_ = w.listeners[hosts[1]].Close()
					r := w.listens(alice)
					res, err := w.client.Do(r)
					if err != nil {
						t.Fatal(err)
					}
					defer res.Body.Close()
					change(w)
					expectEnd(t, bufio.NewReader(res.Body))
					eventually(t, func() bool { return w.metric("resting_streams") == 0 })
				})
			})
		}
	}
}

func TestOnlySoManyStreamsRest(t *testing.T) {
	config := defaults()
	config.MaxHeldPerUser = 2
	w := newWorld(t, config)
	alice := w.addUser("alice")
	w.sleep("alice")
	for range 2 {
		res, err := w.client.Do(w.listens(alice))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
	}
	if got := w.do(w.listens(alice)); got.status != 503 || got.header.Get("Retry-After") != "5" {
		t.Errorf("the third stream: %d %s", got.status, got.body)
	}
}

func TestACallInFlightIsUseAndASilentStreamIsNot(t *testing.T) {
	w := newWorld(t, defaults())
	alice := w.addUser("alice")
	events, goOn := make(chan string), make(chan struct{})
	w.serveBridge(hosts[0], "uid-alice", func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			<-goOn
			return
		}
		rw.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(rw).Flush()
		for event := range events {
			_, _ = io.WriteString(rw, event)
			_ = http.NewResponseController(rw).Flush()
		}
	})
	w.setPod("alice", "alice-1", hosts[0])
	replies := w.send(1, alice)
	eventually(t, func() bool { return w.activity.inFlight.Load() == 1 })
	close(goOn)
	<-replies
	eventually(t, func() bool { return w.activity.inFlight.Load() == 0 })

	before := w.activity.count()
	r := w.listens(alice)
	res, err := w.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	defer close(events)
	from := bufio.NewReader(res.Body)
	if n := w.activity.count() - before; n != 1 || w.activity.inFlight.Load() != 0 {
		t.Errorf("a stream that opens is %d uses, and %d calls in flight", n, w.activity.inFlight.Load())
	}
	events <- ": still there\n\n"
	if got, err := from.ReadString('\n'); err != nil || got != ": still there\n" {
		t.Fatalf("%q, %v", got, err)
	}
	if n := w.activity.count() - before; n != 1 {
		t.Errorf("a comment is use: %d", n-1)
	}
	events <- "data: {}\n\n"
	if got := said(t, from); got != "data: {}" {
		t.Fatalf("%q", got)
	}
	if n := w.activity.count() - before; n != 2 {
		t.Errorf("an event is %d uses, want 1", n-1)
	}
}

func TestWhichStreamsAreUseForAsLongAsTheyAreOpen(t *testing.T) {
	for _, test := range []struct {
		name, path, last string
		inFlight         int32
	}{
		{"one of a session", "/mcp", "", 0},
		{"the same, that goes on", "/mcp", "_7.mark.", 0},
		{"the rest of an answer", "/mcp", "abc_0.mark.NDI", 1},
		{"one of HTTP+SSE", "/sse", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, defaults())
			alice := w.addUser("alice")
			end := make(chan struct{})
			w.serveBridge(hosts[0], "uid-alice", func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "text/event-stream")
				_ = http.NewResponseController(rw).Flush()
				<-end
			})
			defer close(end)
			w.setPod("alice", "alice-1", hosts[0])
			r := w.request("GET", "/u/alice"+test.path, alice, "")
			r.Header.Set("Mcp-Session-Id", "s1")
			if test.last != "" {
				r.Header.Set("Last-Event-Id", test.last)
			}
			res, err := w.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			// It is in flight before the bridge has answered.
			if n := int32(w.activity.inFlight.Load()); n != test.inFlight || w.activity.count() == 0 {
				t.Errorf("%d calls are in flight, want %d; %d uses", n, test.inFlight, w.activity.count())
			}
		})
	}
}
