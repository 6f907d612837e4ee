// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeprocess

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/oauth"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// played is a keybroker whose answers the test gives, one for each request.
type played struct {
	asked   chan string // the revision in the request
	answers chan any    // *client.Secrets or an error; nil for unchanged
	saved   chan string // what is to be stored
	results chan error
}

func (p *played) Secrets(ctx context.Context, revision string) (*client.Secrets, error) {
	select {
	case p.asked <- revision:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case answer := <-p.answers:
		switch a := answer.(type) {
		case error:
			return nil, a
		case *client.Secrets:
			return a, nil
		}
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *played) SaveSecret(ctx context.Context, name string, value []byte) error {
	select {
	case p.saved <- name + "=" + string(value):
		return <-p.results
	case <-ctx.Done():
		return ctx.Err()
	}
}

// timers is a clock whose waits the test ends.
type timers struct {
	clock.System
	waits chan timer
}

type timer struct {
	d   time.Duration
	end chan time.Time
}

func (c *timers) After(d time.Duration) <-chan time.Time {
	w := timer{d, make(chan time.Time, 1)}
	c.waits <- w
	return w.end
}

// kept is a keeper at work.
type kept struct {
	*keeper
	*played
	clock   *timers
	renewed chan struct{}
	used    chan *secret.Set
	keys    chan string
	log     *logtest.Log
}

func keep(t *testing.T) *kept {
	t.Helper()
	k := &kept{
		played:  &played{asked: make(chan string), answers: make(chan any), saved: make(chan string), results: make(chan error)},
		clock:   &timers{waits: make(chan timer, 1)},
		renewed: make(chan struct{}, 1),
		used:    make(chan *secret.Set, 16),
		keys:    make(chan string, 16),
		log:     &logtest.Log{},
	}
	k.keeper = newKeeper(k.played, k.clock, func(s *secret.Set) { k.used <- s }, slog.New(slog.NewJSONHandler(k.log, nil)))
	k.keeper.useKeys = func(keys [][]byte) {
		if k.keeper.ready() != (len(k.keys) > 0) {
			t.Error("the bridge was ready before its keys")
		}
		k.keys <- string(bytes.Join(keys, []byte(" ")))
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		k.run(ctx, k.renewed)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return k
}

// turn waits for a request, checks its revision and answers it.
func (k *kept) turn(t *testing.T, revision string, answer any) {
	t.Helper()
	select {
	case got := <-k.asked():
		if got != revision {
			t.Errorf("asked with revision %q, want %q", got, revision)
		}
	case <-time.After(wait.Limit):
		t.Fatal("the keybroker is not asked")
	}
	k.answers <- answer
}

func (k *kept) asked() <-chan string { return k.played.asked }

func given(revision string, unreadable ...string) *client.Secrets {
	return &client.Secrets{Revision: revision, Values: map[string][]byte{"TOKEN": []byte("c4n4ry")}, Unreadable: unreadable}
}

func TestSecretsAreFetchedAgainWhenSomebodyAsks(t *testing.T) {
	t.Parallel()
	k := keep(t)
	if k.ready() {
		t.Error("ready without secrets")
	}
	k.turn(t, "", given("r1"))
	if got := (<-k.used).Revision(); got != "r1" {
		t.Errorf("revision %q in use", got)
	}
	<-k.first
	k.renewed <- struct{}{}
	k.turn(t, "r1", nil)
	// All who ask during a fetch share the next one.
	k.ask()
	if got := <-k.asked(); got != "r1" {
		t.Errorf("asked with revision %q", got)
	}
	for range 100 {
		k.ask()
	}
	k.answers <- given("r2")
	k.turn(t, "r2", given("r3"))
	k.renewed <- struct{}{}
	k.turn(t, "r3", nil)
	select {
	case got := <-k.asked():
		t.Errorf("one more fetch, with revision %q", got)
	default:
	}
	if first, second := (<-k.used).Revision(), (<-k.used).Revision(); first != "r2" || second != "r3" || len(k.used) != 0 {
		t.Errorf("in use: %s, %s and %d more", first, second, len(k.used))
	}
}

func TestAKeybrokerThatGivesNoSecretsIsAskedAgain(t *testing.T) {
	t.Parallel()
	k := keep(t)
	for i, err := range []error{errors.New("connection refused"), &client.Refusal{Status: 403, Code: "pod_unknown"}, &client.Refusal{Status: 409, Code: "salt_missing"}} {
		k.turn(t, "", err)
		w := <-k.clock.waits
		most := time.Second << i
		if w.d < most/2 || w.d > most+1 {
			t.Errorf("asked again after %s, want up to %s", w.d, most)
		}
		if k.ready() || len(k.used) != 0 {
			t.Error("ready without secrets")
		}
		w.end <- time.Now()
	}
	k.turn(t, "", given("r1"))
	<-k.first
	k.ask()
	k.turn(t, "r1", &client.Refusal{Status: 403, Code: "pod_gone"})
	// The failures before the success do not count any more.
	if w := <-k.clock.waits; w.d > time.Second+1 {
		t.Errorf("asked again after %s", w.d)
	}
	if !k.ready() || len(k.used) != 1 {
		t.Errorf("ready %v, %d sets", k.ready(), len(k.used))
	}
	// Who asks does not wait for that.
	k.ask()
	k.turn(t, "r1", nil)
	for _, code := range []string{"pod_unknown", "salt_missing", "pod_gone"} {
		if !strings.Contains(k.log.String(), `"code":"`+code+`"`) {
			t.Errorf("the log does not say %s", code)
		}
	}
	if strings.Contains(k.log.String(), "c4n4ry") {
		t.Error("the log holds a secret")
	}
}

func TestSecretsThatDoNotOpenAreAskedForAgain(t *testing.T) {
	t.Parallel()
	k := keep(t)
	k.turn(t, "", given("r1", "BROKEN"))
	if got := (<-k.used).Unreadable(); len(got) != 1 || got[0] != "BROKEN" {
		t.Errorf("unreadable = %q", got)
	}
	w := <-k.clock.waits
	if w.d != reopen || !k.ready() || !strings.Contains(k.log.String(), "BROKEN") {
		t.Errorf("asked again after %s, ready %v, log %s", w.d, k.ready(), k.log)
	}
	w.end <- time.Now()
	k.turn(t, "r1", given("r1"))
	if got := (<-k.used).Unreadable(); got != nil {
		t.Errorf("unreadable = %q", got)
	}
}

func TestTheBridgeGetsItsSessionKeys(t *testing.T) {
	t.Parallel()
	k := keep(t)
	first, second := []byte("k3y-one"), []byte("k3y-two")
	k.turn(t, "", &client.Secrets{SessionKeys: [][]byte{first, second}})
	<-k.first
	if got := <-k.keys; got != "k3y-one k3y-two" {
		t.Errorf("keys %q", got)
	}
	if string(first)+string(second) != strings.Repeat("\x00", 14) {
		t.Error("the keys are still in memory")
	}
	if strings.Contains(k.log.String(), "k3y") {
		t.Error("a key is in the log")
	}
}

// with has the login in it, and a secret that others change.
func with(revision, login, other string) *client.Secrets {
	return &client.Secrets{Revision: revision, Values: map[string][]byte{"LOGIN": []byte(login), "OTHER": []byte(other)}}
}

func TestARefreshedLoginIsStored(t *testing.T) {
	t.Parallel()
	overtaken := &client.Refusal{Status: 412, Code: client.CodeRevisionChanged}
	for _, test := range []struct {
		name string
		// results are of each attempt, between which found is what there is.
		results []error
		found   []any
		want    error
		said    string
	}{
		{"at once", []error{nil}, nil, nil, "refreshed login stored"},
		{"after another secret has changed", []error{overtaken, nil}, []any{with("r2", "old", "c4n4ry")}, nil, "refreshed login stored"},
		{"by an attempt whose answer was lost", []error{overtaken}, []any{with("r2", "c4n4ry-new", "c4n4ry")}, nil, "refreshed login stored"},
		{"not over a new login", []error{overtaken}, []any{with("r2", "c4n4ry", "c4n4ry")}, errReplaced, "somebody has set the secret meanwhile"},
		{"not over a removal", []error{overtaken}, []any{&client.Secrets{Revision: "r2", Values: map[string][]byte{}}}, errReplaced, "somebody has set the secret meanwhile"},
		{"not where others change more and more", []error{overtaken, overtaken, overtaken}, []any{with("r2", "old", "1"), with("r3", "old", "2")}, overtaken, client.CodeRevisionChanged},
		{"not by a keybroker that is away", []error{errors.ErrUnsupported}, nil, errors.ErrUnsupported, "refreshed login not stored"},
		{"not by a keybroker that refuses", []error{&client.Refusal{Status: 403, Code: "secret_not_writable"}}, nil, nil, "secret_not_writable"},
		{"not where what there is stays unknown", []error{overtaken}, []any{errors.ErrUnsupported}, errors.ErrUnsupported, "refreshed login not stored"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			k := keep(t)
			k.turn(t, "", with("r1", "old", "0"))
			<-k.first
			ended := make(chan error, 1)
			go func() { ended <- k.save(t.Context(), "LOGIN", []byte("c4n4ry-new")) }()
			for i, result := range test.results {
				if got := <-k.saved; got != "LOGIN=c4n4ry-new" {
					t.Errorf("to be stored: %s", got)
				}
				k.results <- result
				if i < len(test.found) {
					k.turn(t, "", test.found[i])
				}
			}
			err := <-ended
			if test.want != nil && !errors.Is(err, test.want) || (err == nil) != strings.Contains(k.log.String(), "login stored") {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if log := k.log.String(); strings.Contains(log, "c4n4ry") || !strings.Contains(log, test.said) {
				t.Errorf("log: %s", log)
			}
			if len(test.found) > 0 {
				// The bridge is to have the change of somebody else too.
				k.turn(t, "r1", nil)
			}
		})
	}
}

func TestALoginThatCannotBeStoredIsSaidOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		code  string
		final bool
	}{{"secret_managed", true}, {"secret_not_writable", true}, {"secret_not_found", true}, {"busy", false}} {
		t.Run(test.code, func(t *testing.T) {
			t.Parallel()
			k := keep(t)
			k.turn(t, "", with("r1", "old", "0"))
			<-k.first
			for range 3 {
				ended := make(chan error, 1)
				go func() { ended <- k.save(t.Context(), "LOGIN", []byte("c4n4ry-new")) }()
				<-k.saved
				k.results <- &client.Refusal{Status: 409, Code: test.code}
				if err := <-ended; err == nil || errors.Is(err, oauth.ErrNotStorable) != test.final {
					t.Errorf("error %v", err)
				}
				if test.code == "secret_not_found" {
					k.turn(t, "r1", nil) // The bridge hears of the removal.
				}
			}
			want := 3
			if test.final {
				want = 1
			}
			if log := k.log.String(); strings.Count(log, `"code":"`+test.code+`"`) != want || strings.Contains(log, "c4n4ry") {
				t.Errorf("log, which should say it %d times: %s", want, log)
			}
		})
	}
}

// waited says when somebody waits for something else or its end.
type waited struct {
	context.Context
	once  sync.Once
	waits chan struct{}
}

func (w *waited) Done() <-chan struct{} {
	w.once.Do(func() { close(w.waits) })
	return w.Context.Done()
}

// A login that was refreshed while its user logged in anew is not the one that
// is to be kept.
func TestALoginThatAFetchReplacesIsNotStored(t *testing.T) {
	t.Parallel()
	k := keep(t)
	k.turn(t, "", with("r1", "old", "0"))
	<-k.first
	k.ask()
	<-k.asked() // The fetch has the turn.
	ended := make(chan error, 1)
	waiting := &waited{Context: t.Context(), waits: make(chan struct{})}
	go func() { ended <- k.save(waiting, "LOGIN", []byte("c4n4ry-new")) }()
	<-waiting.waits
	k.answers <- with("r2", "c4n4ry", "0")
	if err := <-ended; !errors.Is(err, errReplaced) {
		t.Errorf("error %v", err)
	}
	// The next one is of the new login.
	go func() { ended <- k.save(t.Context(), "LOGIN", []byte("newer")) }()
	if got := <-k.saved; got != "LOGIN=newer" {
		t.Errorf("to be stored: %s", got)
	}
	k.results <- nil
	if err := <-ended; err != nil {
		t.Error(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if err := k.save(ctx, "LOGIN", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestRefreshIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	k := newKeeper(nil, nil, nil, slog.New(slog.DiscardHandler))
	served := 0
	h := k.handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
	tests := map[string]struct {
		method, path string
		status       int
		asks         int
		served       int
	}{
		"the ingress's notice":  {http.MethodPost, "/secrets/refresh", http.StatusAccepted, 1, 0},
		"another method":        {http.MethodGet, "/secrets/refresh", http.StatusMethodNotAllowed, 0, 0},
		"another path":          {http.MethodPost, "/u/alice/mcp", http.StatusOK, 0, 1},
		"a path that begins so": {http.MethodPost, "/secrets/refresh/", http.StatusOK, 0, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			served = 0
			for range 3 {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, http.NoBody))
				if w.Code != tt.status || w.Body.Len() > 0 && tt.asks > 0 {
					t.Errorf("answer %d %s", w.Code, w.Body)
				}
			}
			if len(k.asked) != tt.asks || served != 3*tt.served {
				t.Errorf("asked %d times, served %d", len(k.asked), served)
			}
			for len(k.asked) > 0 {
				<-k.asked
			}
		})
	}
}

// canary is long, and the ends of its base64 are those of its parts.
const canary = "hb-c4n4ry/9b1de8a7+s3cr3t==v4lue?"

// leaks returns the forms of the canary that are in text.
func leaks(text string) []string {
	forms := map[string]string{
		"plain":            canary,
		"base64":           strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(canary)), "="),
		"base64 of URLs":   strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(canary)), "="),
		"hexadecimal":      hex.EncodeToString([]byte(canary)),
		"capitals of that": strings.ToUpper(hex.EncodeToString([]byte(canary))),
		"a query":          url.QueryEscape(canary),
		"a path":           url.PathEscape(canary),
		"a part":           "9b1de8a7",
	}
	var found []string
	for name, form := range forms {
		if strings.Contains(text, form) {
			found = append(found, name)
		}
	}
	return found
}

// parrot is a server that repeats the secret that it was sent in whatever
// it says, in the given form, and notes what it was sent.
func parrot(t *testing.T, form func(string) string) (string, *played) {
	t.Helper()
	how := &played{asked: make(chan string, 1024)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		echo := form(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		how.asked <- r.Header.Get("Authorization")
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Echo", url.PathEscape(echo))
		switch m.Method {
		case "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		case "initialize":
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"parrot","version":"1"}}}`, m.ID)
		case "ping", "tools/call", "server/discover":
			message, err := json.Marshal("bad token " + echo)
			if err != nil {
				t.Error(err)
			}
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%s,"data":{"token":%s}}}`, m.ID, message, message)
		default:
			http.Error(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":-32001,"message":"no list for `+echo+`"}}`, http.StatusBadRequest)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, how
}

// TestNoSecretLeavesTheProcess runs a bridge before servers that repeat their
// secrets, and looks for the secret in all that it says.
func TestNoSecretLeavesTheProcess(t *testing.T) {
	t.Parallel()
	forms := map[string]func(string) string{
		"plain":       func(s string) string { return s },
		"base64":      func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"hexadecimal": func(s string) string { return hex.EncodeToString([]byte(s)) },
		"url":         url.QueryEscape,
	}
	k := newAuthority(t)
	k.hand("r1", map[string][]byte{"TOKEN": []byte(canary), "BROKEN": []byte(canary + "\r\nX-Other: y")})
	var servers []bridgeconfig.Server
	var parrots []*played
	for name, form := range forms {
		at, how := parrot(t, form)
		parrots = append(parrots, how)
		servers = append(servers, bridgeconfig.Server{
			Name: name, URL: at, Secrets: []string{"TOKEN"},
			Headers: []bridgeconfig.Header{{Name: "Authorization", Value: "Bearer ${TOKEN}"}},
		})
	}
	servers = append(servers,
		bridgeconfig.Server{Name: "broken", URL: servers[0].URL, Secrets: []string{"BROKEN"}, Headers: []bridgeconfig.Header{{Name: "X-Key", Value: "${BROKEN}"}}},
		bridgeconfig.Server{Name: "missing", URL: servers[0].URL, Secrets: []string{"OTHER"}},
		bridgeconfig.Server{Name: "away", URL: "http://127.0.0.1:1/", Secrets: []string{"TOKEN"}, Headers: []bridgeconfig.Header{{Name: "X-Key", Value: "${TOKEN}"}}},
	)
	log := &logtest.Log{}
	r := startLoggedBridge(t, k, slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), servers...)
	ingress := k.caller(t, pki.IngressSubject())
	wait.Until(t, "ready", func() bool { status, _ := readyz(t, r); return status == http.StatusOK })
	var said strings.Builder
	wait.Until(t, "every server has failed", func() bool {
		report := healthOf(t, ingress, r)
		encoded, err := json.Marshal(report)
		if err != nil {
			t.Error(err)
		}
		said.Write(encoded)
		for _, s := range report.Servers {
			if s.Status != health.Unhealthy {
				return false
			}
		}
		return report.SecretsRevision == "r1"
	})
	for _, method := range []string{"tools/list", "tools/call"} {
		resp := must.Value(ask(t, ingress, r, method, `"name":"slow"`))(t)
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		said.Write(answer)
	}
	resp, err := ingress.Post(r.public+refreshPath, "", http.NoBody)
	if err != nil || resp.StatusCode != http.StatusAccepted {
		t.Fatalf("refresh: %v, %v", resp, err)
	}
	resp.Body.Close()
	r.stop()
	if err := <-r.ended; err != nil {
		fmt.Fprint(&said, err)
	}
	for i, how := range parrots {
		if got := <-how.asked; got != "Bearer "+canary {
			t.Errorf("server %s was sent another header than its secret", servers[i].Name)
		}
	}
	for where, text := range map[string]string{"the log": log.String(), "health and answers": said.String()} {
		if found := leaks(text); found != nil {
			t.Errorf("%s: the secret as %q", where, found)
		}
		if !strings.Contains(text, "[redacted]") || !strings.Contains(text, "secret BROKEN holds") || !strings.Contains(text, "secret OTHER is not set") {
			t.Errorf("%s: what went wrong is not said", where)
		}
	}
}

func TestANewSecretReachesItsServer(t *testing.T) {
	t.Parallel()
	k := newAuthority(t)
	k.hand("r1", map[string][]byte{"TOKEN": []byte("first-token")})
	at, how := parrot(t, func(string) string { return "" })
	r := startLoggedBridge(t, k, slog.New(slog.DiscardHandler), bridgeconfig.Server{
		Name: "one", URL: at, Secrets: []string{"TOKEN"},
		Headers: []bridgeconfig.Header{{Name: "Authorization", Value: "Bearer ${TOKEN}"}},
	})
	defer r.stop()
	ingress := k.caller(t, pki.IngressSubject())
	wait.Until(t, "ready", func() bool { status, _ := readyz(t, r); return status == http.StatusOK })
	if got := <-how.asked; got != "Bearer first-token" {
		t.Errorf("sent %q", got)
	}
	k.hand("r2", map[string][]byte{"TOKEN": []byte("second-token")})
	resp := must.Value(ingress.Post(r.public+refreshPath, "", http.NoBody))(t)
	resp.Body.Close()
	wait.Until(t, "the new secret", func() bool { return <-how.asked == "Bearer second-token" })
	wait.Until(t, "the new revision", func() bool { return healthOf(t, ingress, r).SecretsRevision == "r2" })
	// A keybroker that refuses takes nothing away.
	k.refuse(http.StatusConflict)
	resp = must.Value(ingress.Post(r.public+refreshPath, "", http.NoBody))(t)
	resp.Body.Close()
	wait.Until(t, "more than one refusal", func() bool { return k.refusals() > 1 })
	if got := healthOf(t, ingress, r).SecretsRevision; got != "r2" {
		t.Errorf("revision %q", got)
	}
	if resp, err := k.caller(t, pki.BridgeSubject("another")).Post(r.public+refreshPath, "", http.NoBody); err == nil {
		resp.Body.Close()
		t.Error("another bridge may have the secrets fetched")
	}
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}
