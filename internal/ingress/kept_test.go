// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridge/token"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"
	"github.com/hostedbridge/hostedbridge/internal/ingress/keptanswers"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/route/snapshot"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// answerShelf is a store of kept answers.
type answerShelf struct {
	mu      sync.Mutex
	away    bool
	answers map[string][]byte
	puts    int
}

var errShelf = errors.New("the store is away")

// Get implements keptanswers.Store.
func (s *answerShelf) Get(_ context.Context, bridge, view string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil, errShelf
	}
	return s.answers[bridge+" "+view], nil
}

// Put implements keptanswers.Store.
func (s *answerShelf) Put(_ context.Context, bridge, view string, sealed []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return errShelf
	}
	s.puts++
	s.answers[bridge+" "+view] = sealed
	return nil
}

// Keep implements keptanswers.Store.
func (s *answerShelf) Keep(_ context.Context, bridges []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.answers {
		if bridge, _, _ := strings.Cut(name, " "); !slices.Contains(bridges, bridge) {
			delete(s.answers, name)
		}
	}
	return nil
}

// of returns how many answers of a bridge there are.
func (s *answerShelf) of(bridge string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.answers {
		if strings.HasPrefix(name, bridge+" ") {
			n++
		}
	}
	return n
}

// confirmedRoutes are routes that the API server vouches for.
type confirmedRoutes struct{ Routes }

// Confirmed implements keptanswers.Routes.
func (confirmedRoutes) Confirmed() time.Time { return time.Now() }

// keepingWorld is a world that keeps answers, where nobody waits longer than a second.
type keepingWorld struct {
	*world
	shelf *answerShelf
}

func newKeepingWorld(t testing.TB) *keepingWorld {
	t.Helper()
	k := &keepingWorld{shelf: &answerShelf{answers: map[string][]byte{}}}
	config := defaults()
	config.Wait = time.Second
	k.world = newWorldWith(t, config, func(d *Deps) { d.Kept = k.replica(t, d.Routes) })
	return k
}

// replica returns what a replica of the ingress has of the kept answers.
func (k *keepingWorld) replica(t testing.TB, routes Routes) *keptanswers.Keeper {
	t.Helper()
	keeper := must.Value(keptanswers.New(keptanswers.Options{
		Store: k.shelf, Box: must.Value(snapshot.Key{1}.Box("answers"))(t), Routes: confirmedRoutes{routes},
		Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	}))(t)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = keeper.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return keeper
}

// addKept adds a user whose bridge runs by a configuration, and returns the key.
func (k *keepingWorld) addKept(user string) string {
	key := k.addUser(user)
	k.changeBridge(user, func(b *v1alpha1.HostedBridge) { b.Status.Configuration = "configuration-1" })
	return key
}

// lister is a bridge as far as its ingress keeps what it answers.
type lister struct {
	mark string
	// starting has it decline.
	starting bool
	result   string
	asked    []string // the methods, with what the ingress says of lists

	mu   sync.Mutex
	keys *token.Keys
}

func newLister(name string) *lister {
	return &lister{
		mark: "configuration-1", keys: token.NewKeys([][]byte{make([]byte, 32)}, name),
		result: fmt.Sprintf(`{"tools":[{"name":"%s_tool"}]}`, name),
	}
}

// ServeHTTP implements http.Handler.
func (l *lister) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			ProtocolVersion          string
			ClientInfo, Capabilities json.RawMessage
		}
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	l.asked = append(l.asked, strings.TrimSpace(m.Method+" "+r.Header.Get(bridgeconfig.HeaderLists)))
	switch {
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	case l.starting && r.Header.Get(bridgeconfig.HeaderLists) == bridgeconfig.ListsKept:
		w.Header().Set(bridgeconfig.HeaderLists, bridgeconfig.ListsDeclined)
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case m.Method == "initialize":
		id, _, _ := l.keys.SignSession(token.Session{
			Version: m.Params.ProtocolVersion, Client: m.Params.ClientInfo, Capabilities: m.Params.Capabilities, Issued: time.Now(),
		}, rand.Reader)
		w.Header().Set("Mcp-Session-Id", id)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, ": comment\n\nevent: message\nid: x\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", m.ID, l.result)
	_ = http.NewResponseController(w).Flush()
	w.Header().Set(http.TrailerPrefix+bridgeconfig.HeaderLists, l.mark)
}

const keptInitialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`

// ask sends a message of a client to alice's URL, or to that of another user.
func (k *keepingWorld) ask(key, body string, header ...string) reply {
	k.t.Helper()
	return k.askAt("alice", key, body, header...)
}

func (k *keepingWorld) askAt(user, key, body string, header ...string) reply {
	k.t.Helper()
	r := k.request("POST", "/u/"+user+"/mcp", key, body)
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	got := k.do(r)
	synctest.Wait() // What is to be kept is kept.
	return got
}

// modernAsk is a request of 2026-07-28, with its headers.
func modernAsk(id, method, more string) (body string, header []string) {
	body = `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + more +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	return body, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}
}

func legacyAsk(id, method string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"}`
}

// resultOf returns the result in an answer of either form, and its id.
func keptResult(t *testing.T, got reply) (id, result string) {
	t.Helper()
	text := got.body
	if i := strings.Index(text, "data: "); i >= 0 {
		text = text[i+len("data: "):]
	}
	var m struct{ ID, Result json.RawMessage }
	if got.status != http.StatusOK || json.Unmarshal([]byte(text), &m) != nil {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	return string(m.ID), string(m.Result)
}

// listMethods are those of lists.
var listMethods = []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"}

// TestAKeptListIsNotKeptAgain by a client: it may be of long ago, and the bridge wakes.
func TestAKeptListIsNotKeptAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		k := newKeepingWorld(t)
		alice := k.addKept("alice")
		k.setPod("alice", "alice-0", hosts[0])
		bridge := newLister("alice")
		k.serveBridge(hosts[0], "uid-alice", bridge.ServeHTTP)
		body, header := modernAsk("1", "tools/list", "")
		for _, ttl := range []string{"60000", "59000"} {
			bridge.result = `{"tools":[{"name":"a"}],"resultType":"complete","ttlMs":` + ttl + `,"cacheScope":"private"}`
			if _, result := keptResult(t, k.ask(alice, body, header...)); result != bridge.result {
				t.Errorf("the bridge answers %s", result)
			}
		}
		if k.shelf.puts != 1 {
			t.Errorf("a list that is as before is stored %d times", k.shelf.puts)
		}
		k.sleep("alice")
		_, result := keptResult(t, k.ask(alice, body, header...))
		if want := `{"cacheScope":"private","resultType":"complete","tools":[{"name":"a"}],"ttlMs":0}`; result != want {
			t.Errorf("asleep: %s, want %s", result, want)
		}
	})
}

// TestASleepingBridgeAnswersFirstRequestsAndListsAtOnce asks each question while the bridge runs and
// while it sleeps, at the replica that has seen the answers and at another one. No wake succeeds.
func TestASleepingBridgeAnswersFirstRequestsAndListsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		k := newKeepingWorld(t)
		alice := k.addKept("alice")
		k.setPod("alice", "alice-0", hosts[0])
		k.serveBridge(hosts[0], "uid-alice", newLister("alice").ServeHTTP)
		began := k.ask(alice, keptInitialize)
		session := began.header.Get("Mcp-Session-Id")
		awake := map[string]string{}
		_, awake["initialize"] = keptResult(t, began)
		for _, method := range listMethods {
			_, awake[method] = keptResult(t, k.ask(alice, legacyAsk("2", method), "Mcp-Session-Id", session))
		}
		for _, method := range append(listMethods, "server/discover") {
			body, header := modernAsk("3", method, "")
			_, awake["modern "+method] = keptResult(t, k.ask(alice, body, header...))
		}
		for name, absent := range map[string]func(){
			"asleep":   func() { k.sleep("alice") },
			"starting": func() { k.awake("alice", "alice-1", hosts[1]); k.setCandidate("alice", "alice-1", hosts[1]) },
		} {
			absent()
			start := time.Now()
			began := k.ask(alice, strings.Replace(keptInitialize, `"id":1`, `"id":"one"`, 1))
			id, result := keptResult(t, began)
			own := began.header.Get("Mcp-Session-Id")
			if id != `"one"` || result != awake["initialize"] || own == "" || own == session {
				t.Errorf("%s, initialize: %s %s, session %q", name, id, result, own)
			}
			if got := k.ask(alice, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", own); got.status != http.StatusAccepted || got.body != "" {
				t.Errorf("%s, initialized: %d %s", name, got.status, got.body)
			}
			if other := k.ask(alice, keptInitialize).header.Get("Mcp-Session-Id"); other == own {
				t.Errorf("%s: two clients have one session", name)
			}
			for _, method := range listMethods {
				for _, s := range []string{session, own} {
					if id, result := keptResult(t, k.ask(alice, legacyAsk("4", method), "Mcp-Session-Id", s)); id != "4" || result != awake[method] {
						t.Errorf("%s, %s: %s %s", name, method, id, result)
					}
				}
			}
			for _, method := range append(listMethods, "server/discover") {
				body, header := modernAsk("5", method, "")
				if id, result := keptResult(t, k.ask(alice, body, header...)); id != "5" || result != awake["modern "+method] {
					t.Errorf("%s, modern %s: %s %s", name, method, id, result)
				}
			}
			if took := time.Since(start); took != 0 {
				t.Errorf("%s: the answers took %s", name, took)
			}
			if got := k.ask(alice, toolCall); got.status != http.StatusServiceUnavailable || time.Since(start) < time.Second {
				t.Errorf("%s: a call does not wait for the bridge: %d after %s", name, got.status, time.Since(start))
			}
		}
		if k.activity.wakes() == nil {
			t.Error("the bridge was not woken")
		}
	})
}

func TestAKeptAnswerHasItsBridgeWoken(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		k := newKeepingWorld(t)
		alice := k.addKept("alice")
		k.setPod("alice", "alice-0", hosts[0])
		k.serveBridge(hosts[0], "uid-alice", newLister("alice").ServeHTTP)
		body, header := modernAsk("1", "tools/list", "")
		k.ask(alice, body, header...)
		k.sleep("alice")
		woken, goOn := make(chan struct{}), make(chan struct{})
		k.onWake(func(context.Context, route.Backend) error { close(woken); <-goOn; k.called("alice"); return nil })
		for range 3 {
			keptResult(t, k.ask(alice, body, header...)) // Whether or not the wake is written.
		}
		<-woken
		close(goOn)
		synctest.Wait()
		if n := len(k.activity.wakes()); n != 1 {
			t.Errorf("%d wakes", n)
		}
	})
}

// keptAsk is a request of alice's whose answer is kept.
func (k *keepingWorld) keptAsk(t *testing.T, l *lister) (key string, ask func() reply) {
	t.Helper()
	key = k.addKept("alice")
	k.setPod("alice", "alice-0", hosts[0])
	k.serveBridge(hosts[0], "uid-alice", l.ServeHTTP)
	body, header := modernAsk("1", "tools/list", "")
	ask = func() reply { return k.ask(key, body, header...) }
	keptResult(t, ask())
	return key, ask
}

// TestNobodyIsGivenAKeptAnswerOfAnotherBridgeOrConfiguration changes what an answer is kept for.
func TestNobodyIsGivenAKeptAnswerOfAnotherBridgeOrConfiguration(t *testing.T) {
	change := func(edit func(*v1alpha1.HostedBridge)) func(*keepingWorld) {
		return func(k *keepingWorld) { k.changeBridge("alice", edit) }
	}
	for name, tt := range map[string]struct {
		change func(*keepingWorld)
		status int
	}{
		"nothing":                     {func(*keepingWorld) {}, 200},
		"its configuration":           {change(func(b *v1alpha1.HostedBridge) { b.Status.Configuration = "configuration-2" }), 503},
		"no configuration":            {change(func(b *v1alpha1.HostedBridge) { b.Status.Configuration = "" }), 503},
		"a spec that waits":           {change(func(b *v1alpha1.HostedBridge) { b.Generation = 2 }), 503},
		"another bridge of the user":  {change(func(b *v1alpha1.HostedBridge) { b.UID = "uid-another" }), 503},
		"a key that was revoked":      {change(func(b *v1alpha1.HostedBridge) { b.Spec.APIKeys = nil }), 401},
		"a bridge that was suspended": {change(func(b *v1alpha1.HostedBridge) { b.Spec.DesiredState = v1alpha1.StateSuspended }), 503},
		"a bridge that was deleted":   {func(k *keepingWorld) { k.change(func() { k.bridges = k.bridges[1:] }) }, 401},
		"a store that is away":        {func(k *keepingWorld) { k.shelf.mu.Lock(); k.shelf.away = true; k.shelf.mu.Unlock() }, 503},
		"an answer of another bridge": {func(k *keepingWorld) {
			for name := range k.shelf.answers { // Who has the store puts another's answer in its place.
				k.shelf.answers[name] = k.shelf.answers[strings.Replace(name, "uid-alice", "uid-bob", 1)]
			}
		}, 503},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				k := newKeepingWorld(t)
				_, ask := k.keptAsk(t, newLister("alice"))
				bob := k.addKept("bob")
				k.setPod("bob", "bob-0", hosts[1])
				k.serveBridge(hosts[1], "uid-bob", newLister("bob").ServeHTTP)
				body, header := modernAsk("1", "tools/list", "")
				keptResult(t, k.askAt("bob", bob, body, header...))
				k.sleep("alice")
				k.sleep("bob")
				tt.change(k)
				if got := ask(); got.status != tt.status || (got.status == 200) != strings.Contains(got.body, "alice_tool") {
					t.Errorf("got %d %s", got.status, got.body)
				}
				if got := k.ask(bob, body, header...); got.status != 401 {
					t.Errorf("bob at alice's URL: %d %s", got.status, got.body)
				}
				if strings.HasPrefix(name, "a store") || strings.HasPrefix(name, "an answer") {
					return
				}
				if _, result := keptResult(t, k.askAt("bob", bob, body, header...)); !strings.Contains(result, "bob_tool") {
					t.Errorf("bob is given %s", result)
				}
			})
		})
	}
}

// TestARequestThatABridgeCouldAnswerOtherwiseWaitsForIt asks for what is kept in other words.
func TestARequestThatABridgeCouldAnswerOtherwiseWaitsForIt(t *testing.T) {
	list, listHeader := modernAsk("1", "tools/list", "")
	page, _ := modernAsk("1", "tools/list", `"cursor":"2",`)
	other := strings.Replace(list, `"name":"c"`, `"name":"d"`, 1)
	with := func(more ...string) []string { return append(slices.Clone(listHeader), more...) }
	for name, tt := range map[string]struct {
		body     string
		header   []string
		ofClient bool
		waits    bool
	}{
		"the same":                             {list, listHeader, false, false},
		"a trace and progress":                 {strings.Replace(list, `"_meta":{`, `"_meta":{"traceparent":"00-0-0-00","progressToken":7,`, 1), listHeader, false, false},
		"another client of several servers":    {other, listHeader, false, false},
		"another client of one server":         {other, listHeader, true, true},
		"the same client of one server":        {list, listHeader, true, false},
		"a page":                               {page, listHeader, false, true},
		"metadata that nobody knows":           {strings.Replace(list, `"_meta":{`, `"_meta":{"example.com/x":1,`, 1), listHeader, false, true},
		"a bridge that calls":                  {list, with(bridgeclient.HopsHeader, "0123456789abcdef"), false, true},
		"hops in the message":                  {strings.Replace(list, `"_meta":{`, `"_meta":{"hostedbridge.dev/hops":"x",`, 1), listHeader, false, true},
		"another method in the header":         {list, with("Mcp-Method", "prompts/list"), false, true},
		"another version in the header":        {list, with("Mcp-Protocol-Version", "2027-01-01"), false, true},
		"a client that reads no events":        {list, with("Accept", "application/json"), false, true},
		"a batch":                              {"[" + list + "]", listHeader, false, true},
		"a session that is none":               {legacyAsk("1", "tools/list"), []string{"Mcp-Session-Id", "x"}, false, true},
		"no session":                           {legacyAsk("1", "tools/list"), nil, false, true},
		"a client that was not there before":   {strings.Replace(keptInitialize, `"name":"c"`, `"name":"d"`, 1), nil, false, true},
		"an initialize with a session":         {keptInitialize, []string{"Mcp-Session-Id", "x"}, false, true},
		"the beginning of a session of others": {`{"jsonrpc":"2.0","method":"notifications/initialized"}`, []string{"Mcp-Session-Id", "x"}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				k, l := newKeepingWorld(t), newLister("alice")
				if tt.ofClient {
					l.mark += " client"
				}
				alice, _ := k.keptAsk(t, l)
				k.ask(alice, keptInitialize)
				k.sleep("alice")
				start := time.Now()
				got := k.ask(alice, tt.body, tt.header...)
				if waited := time.Since(start) > 0; waited != tt.waits || (got.status == 503) != tt.waits {
					t.Errorf("got %d %s after %s", got.status, got.body, time.Since(start))
				}
			})
		})
	}
}

// TestAnAnswerThatIsNoWholeListIsNotKept has a bridge answer something else.
func TestAnAnswerThatIsNoWholeListIsNotKept(t *testing.T) {
	for name, change := range map[string]func(*lister){
		"the bridge does not say that it may be": func(l *lister) { l.mark = "" },
		"what the bridge says is no mark":        func(l *lister) { l.mark = "a b c" },
		"a page of several":                      func(l *lister) { l.result = `{"tools":[],"nextCursor":"2"}` },
		"no result":                              func(l *lister) { l.result = `null,"error":{"code":-32603}` },
		"too large":                              func(l *lister) { l.result = `{"tools":["` + strings.Repeat("x", 3<<20) + `"]}` },
		"too large when it is packed":            func(l *lister) { l.result = `{"tools":["` + randomText(1<<20) + `"]}` },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				k, l := newKeepingWorld(t), newLister("alice")
				alice := k.addKept("alice")
				change(l)
				k.setPod("alice", "alice-0", hosts[0])
				k.serveBridge(hosts[0], "uid-alice", l.ServeHTTP)
				body, header := modernAsk("1", "tools/list", "")
				if got := k.ask(alice, body, header...); got.status != 200 || !strings.Contains(got.body, l.result[:10]) {
					t.Fatalf("awake: %d %.100s", got.status, got.body)
				}
				if n := k.shelf.of("uid-alice"); n != 0 {
					t.Errorf("%d answers are kept", n)
				}
			})
		})
	}
}

func randomText(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(rand.Text())
	}
	return b.String()
}

// TestALaterListTakesThePlaceOfTheOneBefore, and one that is as before is not written again.
func TestALaterListTakesThePlaceOfTheOneBefore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		k, l := newKeepingWorld(t), newLister("alice")
		_, ask := k.keptAsk(t, l)
		ask()
		if k.shelf.puts != 1 {
			t.Errorf("%d writes of the same list", k.shelf.puts)
		}
		l.mu.Lock()
		l.result = `{"tools":[{"name":"later"}]}`
		l.mu.Unlock()
		ask()
		k.sleep("alice")
		if _, result := keptResult(t, ask()); !strings.Contains(result, "later") || k.shelf.puts != 2 {
			t.Errorf("given %s, %d writes", result, k.shelf.puts)
		}
	})
}

// TestABridgeWhoseServersStartIsNotWaitedForWhereItsAnswerIsKept asks before and after there is one.
func TestABridgeWhoseServersStartIsNotWaitedForWhereItsAnswerIsKept(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		k, l := newKeepingWorld(t), newLister("alice")
		l.starting = true
		_, ask := k.keptAsk(t, l)
		k.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Status.Configuration = "configuration-1" })
		l.mu.Lock()
		l.result = `{"tools":[]}`
		l.mu.Unlock()
		if _, result := keptResult(t, ask()); !strings.Contains(result, "alice_tool") {
			t.Errorf("given %s", result)
		}
		if want := []string{"tools/list kept", "tools/list awaited", "tools/list kept"}; !slices.Equal(l.asked, want) {
			t.Errorf("the bridge was asked %v, want %v", l.asked, want)
		}
	})
}

func TestABridgeThatIsTornFromItsPodAnswersFromWhatIsKept(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		k := newKeepingWorld(t)
		_, ask := k.keptAsk(t, newLister("alice"))
		k.stopBridge(hosts[0])
		start := time.Now()
		if _, result := keptResult(t, ask()); !strings.Contains(result, "alice_tool") || time.Since(start) > 0 {
			t.Errorf("given %s after %s", result, time.Since(start))
		}
	})
}

func TestKeptAnswersGoWithTheirHostedBridge(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		k := newKeepingWorld(t)
		k.keptAsk(t, newLister("alice"))
		time.Sleep(time.Hour)
		synctest.Wait()
		if k.shelf.of("uid-alice") != 1 {
			t.Error("an answer goes before its bridge")
		}
		k.change(func() { k.bridges = nil })
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if k.shelf.of("uid-alice") != 0 {
			t.Error("an answer outlives its bridge")
		}
	})
}

// TestASessionThatWouldNotLiveLongIsNotBegun lets half of the time pass in which bridges restore it.
func TestASessionThatWouldNotLiveLongIsNotBegun(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		k := newKeepingWorld(t)
		alice, _ := k.keptAsk(t, newLister("alice"))
		k.ask(alice, keptInitialize)
		k.sleep("alice")
		if got := k.ask(alice, keptInitialize); got.status != 200 {
			t.Errorf("got %d %s", got.status, got.body)
		}
		time.Sleep(16 * 24 * time.Hour)
		synctest.Wait()
		if got := k.ask(alice, keptInitialize); got.status != 503 {
			t.Errorf("after 16 days: %d %s", got.status, got.body)
		}
	})
}

func TestWhatIsKeptCannotBeReadInTheStore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		k := newKeepingWorld(t)
		k.keptAsk(t, newLister("alice"))
		for name, sealed := range k.shelf.answers {
			if strings.Contains(string(sealed), "alice") || strings.Contains(strings.Replace(name, "uid-alice", "", 1), "alice") {
				t.Errorf("%q is %q", name, sealed)
			}
		}
	})
}
