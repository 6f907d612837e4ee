// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// sessionBridge is a bridge with one session of HTTP+SSE, whose stream has what is
// sent into it, and ends with that. As bridges do, it ends the POST of a request
// with what it tells, and waits for the ingress before the answer is on the stream.
type sessionBridge struct {
	stream chan string
	// before is put into the stream before a message is accepted.
	before string
	// waits is how long an answer waits for the ingress; wait.Limit if zero.
	waits time.Duration

	mu    sync.Mutex
	open  []*openPost
	early []audit.Call // of which it is not known in which request they were made
}

// openPost is the POST of a request that has no answer yet.
type openPost struct {
	id, tool, requestID string
	told                []audit.Call
	ended               chan string // says how, and nothing where it has no answer
	done                chan struct{}
}

func newSessionBridge() *sessionBridge {
	return &sessionBridge{stream: make(chan string)}
}

func (b *sessionBridge) serve(rw http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		b.serveStream(rw, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	if r.Header.Get(audit.PostName) == audit.PostDone {
		if p := b.find(func(p *openPost) bool { return p.requestID == r.Header.Get("X-Request-Id") }); p != nil {
			close(p.done)
		}
		rw.WriteHeader(http.StatusAccepted)
		return
	}
	rw.Header().Set(audit.TrailerName, audit.Later)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name      string
			RequestID json.RawMessage
		}
	}
	_ = json.Unmarshal(body, &m)
	switch {
	case m.Method == "notifications/cancelled":
		b.end(string(m.Params.RequestID), "")
	case m.Method != "" && m.ID != nil:
		b.hold(rw, r, &openPost{
			id: string(m.ID), tool: m.Params.Name, requestID: r.Header.Get("X-Request-Id"), ended: make(chan string, 1), done: make(chan struct{}),
		})
		return
	}
	rw.WriteHeader(http.StatusAccepted)
}

// hold keeps a POST until its request is answered.
func (b *sessionBridge) hold(rw http.ResponseWriter, r *http.Request, p *openPost) {
	if b.before != "" {
		b.stream <- b.before
		b.stream <- ": all of it has been taken\n\n"
		p.ended <- resultOf(p.id)
	}
	b.mu.Lock()
	p.told, b.early = b.early, nil
	b.open = append(b.open, p)
	b.mu.Unlock()
	rw.WriteHeader(http.StatusAccepted)
	_ = http.NewResponseController(rw).Flush()
	select {
	case how := <-p.ended:
		if how == "abort" {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(rw, how)
		if len(p.told) > 0 {
			rw.Header().Set(http.TrailerPrefix+audit.TrailerName, audit.EncodeTrailer(p.told))
		}
	case <-r.Context().Done():
	}
}

// find returns the first open POST that fits, nil for none.
func (b *sessionBridge) find(fits func(*openPost) bool) *openPost {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.IndexFunc(b.open, fits); i >= 0 {
		return b.open[i]
	}
	return nil
}

// end ends the POST of a request, and returns what the ingress did not hear.
func (b *sessionBridge) end(id, how string) []audit.Call {
	p := b.find(func(p *openPost) bool { return p.id == id })
	if p == nil {
		return nil
	}
	b.mu.Lock()
	p.told, b.early = append(p.told, b.early...), nil
	b.mu.Unlock()
	p.ended <- how
	var lost []audit.Call
	if p.tool != "" {
		select {
		case <-p.done:
		case <-time.After(cmp.Or(b.waits, wait.Limit)):
			lost = p.told
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = slices.DeleteFunc(b.open, func(o *openPost) bool { return o == p })
	return lost
}

// endAll ends all POSTs that are open.
func (b *sessionBridge) endAll(how string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.open {
		p.ended <- how
	}
	b.open = nil
}

// tell keeps calls until their requests are answered.
func (b *sessionBridge) tell(calls []audit.Call) {
	for _, c := range calls {
		p := b.find(func(p *openPost) bool { return p.tool == c.Tool || strings.HasSuffix(p.tool, "_"+c.Tool) })
		b.mu.Lock()
		if p == nil {
			b.early = append(b.early, c)
		} else {
			p.told = append(p.told, c)
		}
		b.mu.Unlock()
	}
}

func (b *sessionBridge) serveStream(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Type", isEvents)
	_, _ = io.WriteString(rw, "event: endpoint\ndata: "+strings.TrimSuffix(r.URL.Path, "/")+"?sessionid=s.1\n\n")
	_ = http.NewResponseController(rw).Flush()
	for {
		select {
		case text, more := <-b.stream:
			if !more {
				b.endAll("abort")
				return
			}
			for line := range strings.Lines(text) {
				b.writeLine(rw, line)
			}
			_ = http.NewResponseController(rw).Flush()
		case <-r.Context().Done():
			b.endAll("")
			return
		}
	}
}

// writeLine writes a line of the stream, or has it told where it is for the ingress.
func (b *sessionBridge) writeLine(rw http.ResponseWriter, line string) {
	if value, ours := strings.CutPrefix(line, audit.EventPrefix); ours {
		told, err := audit.ParseTrailer(strings.TrimSpace(value))
		if err != nil {
			panic(err)
		}
		b.tell(told.Calls)
		return
	}
	if data, ok := strings.CutPrefix(line, "data: "); ok && !strings.Contains(data, "method") {
		var m struct{ ID json.RawMessage }
		_ = json.Unmarshal([]byte(data), &m)
		if lost := b.end(string(m.ID), data); len(lost) > 0 {
			_, _ = io.WriteString(rw, toldIn(lost...))
		}
	}
	_, _ = io.WriteString(rw, line)
}

// openSession opens alice's stream and reads the address from it.
func (w *world) openSession(key string) (endpoint string, events *bufio.Scanner, leave func()) {
	w.t.Helper()
	res, err := w.client.Do(w.request("GET", "/u/alice/sse", key, ""))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = res.Body.Close() })
	events = bufio.NewScanner(res.Body)
	endpoint = readUntil(w.t, events, "sessionid=")
	return strings.TrimPrefix(endpoint, "data: "), events, func() { _ = res.Body.Close() }
}

// readUntil returns the first line that has text in it.
func readUntil(t testing.TB, events *bufio.Scanner, text string) string {
	t.Helper()
	for events.Scan() {
		if strings.Contains(events.Text(), text) {
			return events.Text()
		}
	}
	t.Fatalf("the stream has no %s: %v", text, events.Err())
	return ""
}

// TestEachCallOfTheOldTransportHasOneEntry has streams end, and bridges tell or
// say nothing, while calls are under way.
func TestEachCallOfTheOldTransportHasOneEntry(t *testing.T) {
	search, fetch := called("web", "search", audit.Success), called("web", "fetch", audit.ToolError)
	left := func(tool string) outline { return byIngress(tool, audit.Cancelled, "client_left") }
	found := byBridge("web", "search", audit.Success)
	tests := map[string]struct {
		tools   []string
		stream  string // comes after the calls were accepted
		awaited string // is what the client reads of it before it leaves
		ends    bool   // it is the bridge that ends the stream
		want    []outline
	}{
		"the client leaves":                        {[]string{"search"}, "", "", false, []outline{left("search")}},
		"it leaves several calls":                  {[]string{"search", "fetch", "search"}, "", "", false, []outline{left("fetch"), left("search"), left("search")}},
		"it leaves one of two":                     {[]string{"search", "fetch"}, toldIn(search) + eventOf(resultOf("1")), `"id":1`, false, []outline{left("fetch"), found}},
		"and the other one":                        {[]string{"search", "fetch"}, toldIn(fetch) + eventOf(resultOf("2")), `"id":2`, false, []outline{byBridge("web", "fetch", audit.ToolError), left("search")}},
		"it leaves after the answer":               {[]string{"search"}, toldIn(search) + eventOf(resultOf("1")), `"id":1`, false, []outline{found}},
		"the bridge tells nothing of an answer":    {[]string{"search"}, eventOf(resultOf("1")), `"id":1`, false, []outline{byIngress("search", audit.Success, "")}},
		"nor of an error":                          {[]string{"search"}, eventOf(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602}}`), `"id":1`, false, []outline{byIngress("search", audit.ProtocolError, "-32602")}},
		"the bridge ends the stream":               {[]string{"search"}, "", "", true, []outline{byIngress("search", audit.UpstreamError, "no_answer")}},
		"a name with the server's before it":       {[]string{"web_search"}, toldIn(search) + eventOf(resultOf("1")), `"id":1`, false, []outline{found}},
		"a call that became several, and another":  {[]string{"mcp", "mcp"}, toldIn(search, fetch) + eventOf(resultOf("1")), `"id":1`, false, []outline{byBridge("web", "fetch", audit.ToolError), left("mcp"), found}},
		"another one is told of with the first":    {[]string{"search", "fetch"}, toldIn(search, fetch) + eventOf(resultOf("1")) + eventOf(resultOf("2")), `"id":2`, false, []outline{byBridge("web", "fetch", audit.ToolError), found}},
		"a question and a notification come first": {[]string{"search"}, eventOf(`{"jsonrpc":"2.0","id":1,"method":"ping"}`) + eventOf(`{"jsonrpc":"2.0","method":"x"}`), `"x"`, false, []outline{left("search")}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bridge := newSessionBridge()
			w, alice := oneUser(t, defaults(), bridge.serve)
			endpoint, events, leave := w.openSession(alice)
			for i, tool := range tt.tools {
				if got := w.do(w.request("POST", endpoint, alice, callOf(fmt.Sprint(i+1), tool))); got.status != http.StatusAccepted {
					t.Fatalf("%d %s", got.status, got.body)
				}
			}
			if tt.stream != "" {
				bridge.stream <- tt.stream
				readUntil(t, events, tt.awaited)
			}
			if tt.ends {
				close(bridge.stream)
			} else {
				leave()
			}
			eventually(t, func() bool { return w.metric("requests_in_flight") == 0 })
			got := outlines(w.audit.all())
			slices.SortStableFunc(got, func(a, b outline) int { return cmp.Compare(a.Tool, b.Tool) })
			if diff := gocmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if all := fmt.Sprintf("%+v", w.audit.all()); strings.Contains(all, "canary") || strings.Contains(all, "s.1") {
				t.Errorf("an entry holds a value: %s", all)
			}
		})
	}
}

// TestAnAnswerBeforeItsCallWasAcceptedHasOneEntry is of a stream that is faster
// than the answer to the message.
func TestAnAnswerBeforeItsCallWasAcceptedHasOneEntry(t *testing.T) {
	for name, told := range map[string]string{"told": toldIn(called("web", "search", audit.Success)), "not told": ""} {
		t.Run(name, func(t *testing.T) {
			bridge := newSessionBridge()
			bridge.before = told + eventOf(resultOf("1"))
			w, alice := ofTier(t, func(t *quota.Tier) { t.ConcurrentCalls = 1 }, bridge.serve)
			endpoint, events, leave := w.openSession(alice)
			for range 3 {
				got := make(chan reply, 1)
				go func() { got <- w.do(w.request("POST", endpoint, alice, callOf("1", "search"))) }()
				readUntil(t, events, `"id":1`)
				if got := <-got; got.status != http.StatusAccepted {
					t.Fatalf("%d %s", got.status, got.body)
				}
			}
			leave()
			eventually(t, func() bool { return w.metric("requests_in_flight") == 0 })
			if n := len(w.audit.all()); n != 3 {
				t.Errorf("%d entries of 3 calls: %v", n, outlines(w.audit.all()))
			}
		})
	}
}

// TestNoAnswerOfTheOldTransportIsOutWithoutItsEntry lets no entry be written.
func TestNoAnswerOfTheOldTransportIsOutWithoutItsEntry(t *testing.T) {
	for name, told := range map[string]string{"told": toldIn(called("web", "search", audit.Success)), "not told": ""} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				bridge := newSessionBridge()
				bridge.waits = time.Second
				w, alice := oneUser(t, defaults(), bridge.serve)
				endpoint, events, _ := w.openSession(alice)
				w.do(w.request("POST", endpoint, alice, callOf("1", "search")))
				w.audit.fail(io.ErrShortWrite)
				bridge.stream <- told + eventOf(resultOf("1"))
				for events.Scan() {
					if strings.Contains(events.Text(), "result") {
						t.Errorf("the client has %s", events.Text())
					}
				}
			})
		})
	}
}

// TestCallsOfTheOldTransportAtATimeAreLimited holds for as long as they run, not
// for as long as their messages are taken.
func TestCallsOfTheOldTransportAtATimeAreLimited(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		bridge := newSessionBridge()
		w, alice := ofTier(t, func(t *quota.Tier) { t.ConcurrentCalls = 2 }, bridge.serve)
		endpoint, events, leave := w.openSession(alice)
		post := func(body string) int { return w.do(w.request("POST", endpoint, alice, body)).status }
		for _, step := range []struct {
			name, stream, body string
			want               int
		}{
			{"the first", "", callOf("1", "a"), 202},
			{"the second", "", callOf(`"two"`, "b"), 202},
			{"one too many", "", callOf("3", "c"), 429},
			{"an answer to the bridge", "", rpcResponse, 202},
			{"after the first was answered", eventOf(resultOf("1")), callOf("4", "d"), 202},
			{"again one too many", "", callOf("5", "e"), 429},
			{"the second is given up", "", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"two"}}`, 202},
			{"one in its place", "", callOf("6", "f"), 202},
			{"and one too many", "", callOf("7", "g"), 429},
			{"what is no tool call counts too", eventOf(resultOf("6")), `{"jsonrpc":"2.0","id":8,"method":"prompts/get"}`, 202},
			{"so that there is no room", "", callOf("9", "h"), 429},
		} {
			if step.stream != "" {
				bridge.stream <- step.stream
				readUntil(t, events, "result")
			}
			if got := post(step.body); got != step.want {
				t.Errorf("%s: %d, want %d", step.name, got, step.want)
			}
		}
		leave()
		eventually(t, func() bool { return w.metric("requests_in_flight") == 0 })
		endpoint, _, _ = w.openSession(alice)
		for i, want := range []int{202, 202, 429} {
			if got := post(callOf(fmt.Sprint(i), "a")); got != want {
				t.Errorf("call %d of the next session: %d, want %d", i, got, want)
			}
		}
	})
}

// TestCallsThatAreGivenUpHaveTheirEntry is of calls whose stream goes on.
func TestCallsThatAreGivenUpHaveTheirEntry(t *testing.T) {
	const many = 6
	bridge := newSessionBridge()
	w, alice := ofTier(t, func(t *quota.Tier) { t.ConcurrentCalls = 1 }, bridge.serve)
	endpoint, _, leave := w.openSession(alice)
	for i := range many {
		for _, body := range []string{callOf(fmt.Sprint(i), "search"), fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i)} {
			if got := w.do(w.request("POST", endpoint, alice, body)); got.status != http.StatusAccepted {
				t.Fatalf("%d %s", got.status, got.body)
			}
		}
	}
	eventually(t, func() bool { return len(w.audit.all()) == many })
	leave()
	eventually(t, func() bool { return w.metric("requests_in_flight") == 0 })
	if n := len(w.audit.all()); n != many {
		t.Errorf("%d entries, want %d", n, many)
	}
}

// TestASessionOfTheOldTransportEndsWithItsToken is as TestStreamsEndWithTheirTokenAndCallsDoNot.
func TestASessionOfTheOldTransportEndsWithItsToken(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, tokens, _ := loginWorld(t)
		w.servers[hosts[0]].Handler = http.HandlerFunc(newSessionBridge().serve)
		ends := time.Now().Add(time.Second)
		short := tokens.add("short", "alice", "/u/alice/sse", func(t *oauth.Token) { t.Expires = ends.Add(-oauth.Leeway) })
		w.do(w.request(http.MethodGet, "/u/alice/sse", short, "")) // It returns when the stream ends.
		if now := time.Now(); now.Before(ends) {
			t.Errorf("the stream ended %v before its token", ends.Sub(now))
		}
	})
}

// anotherReplica serves beside w: the same bridges, trail and quotas.
func (w *world) anotherReplica(deps Deps) (addr string) {
	w.t.Helper()
	deps.Metrics = prometheus.NewRegistry()
	server, err := New(defaults(), deps)
	if err != nil {
		w.t.Fatal(err)
	}
	other := httptest.NewUnstartedServer(nil)
	other.Config = server.HTTPServer()
	other.Start()
	w.t.Cleanup(func() {
		other.Close()
		server.Wait(context.Background())
	})
	return other.Listener.Addr().String()
}

// TestACallPostedToAnotherReplicaThanItsStreamHasOneEntryAndItsSlot has the streams
// at one replica and the messages at another.
func TestACallPostedToAnotherReplicaThanItsStreamHasOneEntryAndItsSlot(t *testing.T) {
	bridge := newSessionBridge()
	var deps Deps
	w := newWorldWith(t, defaults(), func(d *Deps) { deps = *d })
	tier := testTiers()[testTier]
	tier.ConcurrentCalls = 1
	w.setTiers(quota.Tiers{testTier: tier})
	alice := w.addUser("alice")
	w.serveBridge(hosts[0], "uid-alice", bridge.serve)
	w.setPod("alice", "alice-1", hosts[0])
	endpoint, events, leave := w.openSession(alice)
	other := w.anotherReplica(deps)
	post := func(id, tool string, want int) {
		t.Helper()
		r := w.request("POST", endpoint, alice, callOf(id, tool))
		r.URL.Host = other
		if got := w.do(r); got.status != want {
			t.Fatalf("call %s: %d %s, want %d", id, got.status, got.body, want)
		}
	}
	post("1", "search", http.StatusAccepted)
	post("2", "search", http.StatusTooManyRequests)
	bridge.stream <- toldIn(called("web", "search", audit.Success)) + eventOf(resultOf("1"))
	readUntil(t, events, `"id":1`)
	found, refused := byBridge("web", "search", audit.Success), byIngress("search", audit.RateLimited, "too_many_calls")
	if diff := gocmp.Diff([]outline{refused, found}, outlines(w.audit.all())); diff != "" {
		t.Errorf("when the answer is out: %s", diff)
	}
	post("3", "fetch", http.StatusAccepted)
	leave()
	eventually(t, func() bool { return len(w.audit.all()) == 3 })
	if diff := gocmp.Diff(byIngress("fetch", audit.Cancelled, "client_left"), outlines(w.audit.all())[2]); diff != "" {
		t.Error(diff)
	}
}

// TestAClientThatReadsEachAnswerToItsEndCanAnswerAQuestion has one connection for
// its messages, as a client that reads the answer to one before it sends the next.
func TestAClientThatReadsEachAnswerToItsEndCanAnswerAQuestion(t *testing.T) {
	bridge := newSessionBridge()
	w, alice := oneUser(t, defaults(), bridge.serve)
	w.client.Transport.(*http.Transport).MaxConnsPerHost = 2
	endpoint, events, _ := w.openSession(alice)
	for _, body := range []string{callOf("1", "search"), `{"jsonrpc":"2.0","id":7,"result":{"action":"accept"}}`} {
		if got := w.do(w.request("POST", endpoint, alice, body)); got.status != http.StatusAccepted || got.body != "" || got.header.Get("Content-Length") != "0" {
			t.Fatalf("%d %q %v", got.status, got.body, got.header)
		}
		if n := len(w.audit.all()); n != 0 {
			t.Errorf("%d entries before the answer", n)
		}
	}
	bridge.stream <- toldIn(called("web", "search", audit.Success)) + eventOf(resultOf("1"))
	readUntil(t, events, `"id":1`)
	if diff := gocmp.Diff([]outline{byBridge("web", "search", audit.Success)}, outlines(w.audit.all())); diff != "" {
		t.Error(diff)
	}
}

// TestAMessageOfTheOldTransportEndsWithItsKey has a bridge never end its answer.
func TestAMessageOfTheOldTransportEndsWithItsKey(t *testing.T) {
	bridge := newSessionBridge()
	w, alice := oneUser(t, defaults(), bridge.serve)
	if got := w.do(w.request("POST", "/u/alice/sse?sessionid=s.1", alice, callOf("1", "search"))); got.status != http.StatusAccepted {
		t.Fatalf("%d %s", got.status, got.body)
	}
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys = nil })
	eventually(t, func() bool { return len(w.audit.all()) == 1 })
	if diff := gocmp.Diff([]outline{byIngress("search", audit.Cancelled, "unauthorized")}, outlines(w.audit.all())); diff != "" {
		t.Error(diff)
	}
}
