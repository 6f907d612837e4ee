// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/secret"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// secretsOf returns a set of these names and values.
func secretsOf(revision string, pairs ...string) *secret.Set {
	values := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = []byte(pairs[i+1])
	}
	return secret.NewSet(revision, values, nil)
}

// witness is a server that notes what it was sent.
type witness struct {
	bridgeconfig.Server
	mcp *mcp.Server

	mu       sync.Mutex
	connects int
	seen     map[string]bool // "method header value"
}

// newWitness returns a server with the tool echo that is granted the secrets.
func newWitness(t *testing.T, name, eraName string, headers []bridgeconfig.Header, secrets ...string) *witness {
	t.Helper()
	w := &witness{mcp: echoServer(name), seen: map[string]bool{}}
	inner := mcpHandler(t, w.mcp, eraName)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.note(r, body)
		inner.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	w.Server = bridgeconfig.Server{Name: name, URL: server.URL, Headers: headers, Secrets: secrets}
	return w
}

func (w *witness) note(r *http.Request, body []byte) {
	var m struct {
		Method string `json:"method"`
	}
	_ = json.Unmarshal(body, &m)
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.Method == methods.Initialize || m.Method == methods.Discover {
		w.connects++
	}
	for _, h := range w.Headers {
		w.seen[r.Method+" "+m.Method+" "+r.Header.Get(h.Name)] = true
	}
}

func (w *witness) connected() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.connects
}

// values returns the different values of the header with which requests came.
func (w *witness) values() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[string]bool{}
	var values []string
	for seen := range w.seen {
		parts := strings.SplitN(seen, " ", 3)
		if !found[parts[2]] {
			found[parts[2]] = true
			values = append(values, parts[2])
		}
	}
	return values
}

func bearer(name string) []bridgeconfig.Header {
	return []bridgeconfig.Header{{Name: "Authorization", Value: "Bearer ${" + name + "}"}}
}

func called(t *testing.T, client *mcp.ClientSession, tool string) error {
	t.Helper()
	_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: echoArgs{"hi"}})
	return err
}

func toolNames(t *testing.T, client *mcp.ClientSession) []string {
	t.Helper()
	tools := must.Value(client.ListTools(t.Context(), nil))(t)
	names := []string{}
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func TestEveryRequestHasTheServersOwnHeaders(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		for serverEra := range eraNames {
			t.Run(clientEra+" client and "+serverEra+" server", func(t *testing.T) {
				t.Parallel()
				one := newWitness(t, "one", serverEra, bearer("ONE"), "ONE")
				two := newWitness(t, "two", serverEra, []bridgeconfig.Header{{Name: "X-Key", Value: "${TWO:-none}/$$"}}, "TWO")
				three := newWitness(t, "three", serverEra, []bridgeconfig.Header{{Name: "X-Key", Value: "${ONE:-none}"}}, "ONE")
				r := newRig(t, fast, one.Server, two.Server, three.Server)
				r.bridge.UseSecrets(secretsOf("r1", "ONE", "first-token", "TWO", "second-token", "OTHER", "x"))
				client := r.connect(t, clientEra, nil)
				for _, tool := range []string{"one_echo", "two_echo", "three_echo"} {
					must.Succeed(t, called(t, client, tool))
				}
				for w, want := range map[*witness]string{one: "Bearer first-token", two: "second-token/$", three: "first-token"} {
					if diff := cmp.Diff([]string{want}, w.values()); diff != "" {
						t.Errorf("values at %s (-want +got):\n%s", w.Name, diff)
					}
				}
				if got := r.bridge.Health().SecretsRevision; got != "r1" {
					t.Errorf("revision = %q", got)
				}
			})
		}
	}
}

// faults are the states of a secret in which its server is out of service.
var faults = map[string]struct {
	set  func() *secret.Set
	says string
}{
	"not set": {func() *secret.Set { return secretsOf("r2", "OTHER", "other-token") }, "secret TOKEN is not set"},
	"unreadable": {func() *secret.Set {
		return secret.NewSet("r3", map[string][]byte{"OTHER": []byte("other-token")}, []string{"TOKEN"})
	}, "secret TOKEN cannot be opened"},
}

// changeCounter returns options that count the changes of the tool list.
func changeCounter() (*mcp.ClientOptions, chan struct{}) {
	changed := make(chan struct{}, 256)
	return &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	}, changed
}

func TestAServerWithoutItsSecretIsOutOfServiceAlone(t *testing.T) {
	t.Parallel()
	for faultName, f := range faults {
		for clientEra := range eraNames {
			t.Run(faultName+" for a "+clientEra+" client", func(t *testing.T) {
				t.Parallel()
				one := newWitness(t, "one", "legacy", bearer("TOKEN"), "TOKEN")
				two := newWitness(t, "two", "modern", bearer("OTHER"), "OTHER")
				r := newRig(t, fast, one.Server, two.Server)
				r.bridge.UseSecrets(f.set())
				opts, changed := changeCounter()
				client := r.connect(t, clientEra, opts)
				outOfService := func() {
					t.Helper()
					if got := r.bridge.Health().Servers["one"]; got.Status != health.Unhealthy || got.Error != f.says || got.Tools != 0 || (got.Reason == health.ReasonSecretMissing) != strings.HasSuffix(f.says, "is not set") {
						t.Errorf("health = %+v, want unhealthy at once: %s", got, f.says)
					}
					if diff := cmp.Diff([]string{"two_echo", "bridge_status"}, toolNames(t, client)); diff != "" {
						t.Errorf("tools (-want +got):\n%s", diff)
					}
					if err := called(t, client, "two_echo"); err != nil {
						t.Errorf("the other server suffers: %v", err)
					}
				}
				outOfService()
				if got := one.connected(); got != 0 {
					t.Errorf("%d connections without the secret", got)
				}
				others := two.connected()

				r.bridge.UseSecrets(secretsOf("r5", "TOKEN", "good-token", "OTHER", "other-token"))
				wait.Until(t, "both servers' tools", func() bool {
					next(t, changed, "list change")
					return cmp.Equal(toolNames(t, client), []string{"one_echo", "two_echo"})
				})
				if err := called(t, client, "one_echo"); err != nil {
					t.Errorf("after the secret came: %v", err)
				}

				r.bridge.UseSecrets(f.set())
				outOfService()
				err := called(t, client, "one_echo")
				if err == nil || !strings.Contains(err.Error(), f.says) {
					t.Errorf("error = %v, want one that says why", err)
				}
				if got := one.values(); !cmp.Equal(got, []string{"Bearer good-token"}) {
					t.Errorf("sent %q", got)
				}
				if got := two.connected(); got != others {
					t.Errorf("the other server was connected to %d times more", got-others)
				}
			})
		}
	}
}

// TestNobodyConnectsToAServerWithoutItsSecret is what holds for a session that
// begins to connect just before its server is taken out of service.
func TestNobodyConnectsToAServerWithoutItsSecret(t *testing.T) {
	t.Parallel()
	w := newWitness(t, "one", "legacy", bearer("TOKEN"), "TOKEN")
	r := newRig(t, fast, w.Server)
	u := r.bridge.set.only()
	for _, says := range []string{`server "one" is not available`, `server "one" is not available: secret TOKEN is not set`} {
		l, err := upstream.Dial(t.Context(), u, u.Granted(), upstream.ClientIdentity{Info: message.Implementation}, u.Owner)
		if err == nil {
			l.Life.Close()
		}
		if err == nil || err.Error() != says {
			t.Errorf("error = %v, want: %s", err, says)
		}
		r.bridge.UseSecrets(secretsOf(""))
	}
	if got := w.values(); len(got) != 0 {
		t.Errorf("sent %q", got)
	}
}

// TestAServerIsConnectingOnceItHasItsSecret has a server hold its answers back.
func TestAServerIsConnectingOnceItHasItsSecret(t *testing.T) {
	t.Parallel()
	answer := make(chan struct{})
	inner := mcpHandler(t, echoServer("one"), "legacy")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-answer
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: server.URL, Headers: bearer("TOKEN"), Secrets: []string{"TOKEN"}})
	r.bridge.UseSecrets(secretsOf(""))
	r.bridge.UseSecrets(secretsOf("r", "TOKEN", "good-token"))
	if got := r.bridge.Health().Servers["one"]; got.Status != health.Connecting || got.Error != "" {
		t.Errorf("health = %+v, want connecting without an error", got)
	}
	close(answer)
	wait.Until(t, "healthy", func() bool { return r.bridge.Health().Status == health.Healthy })
}

func TestTheOnlyServerWithoutItsSecret(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		t.Run(clientEra+" client", func(t *testing.T) {
			t.Parallel()
			w := newWitness(t, "one", "legacy", bearer("TOKEN"), "TOKEN")
			r := newRig(t, fast, w.Server)
			r.bridge.UseSecrets(secretsOf(""))
			opts, changed := changeCounter()
			client := r.connect(t, clientEra, opts)
			if _, err := client.ListTools(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "secret TOKEN is not set") {
				t.Errorf("error = %v, want one that names the secret", err)
			}
			if got := r.bridge.Health(); got.Status != health.Unhealthy || got.SecretsRevision != "" {
				t.Errorf("health = %+v", got)
			}
			r.bridge.UseSecrets(secretsOf("r", "TOKEN", "good-token"))
			next(t, changed, "list change")
			wait.Until(t, "the tool", func() bool { return cmp.Equal(toolNames(t, client), []string{"echo"}) })
			if err := called(t, client, "echo"); err != nil {
				t.Error(err)
			}
			r.bridge.UseSecrets(secretsOf(""))
			next(t, changed, "list change")
			if err := called(t, client, "echo"); err == nil || !strings.Contains(err.Error(), "secret TOKEN is not set") {
				t.Errorf("error = %v, want one that names the secret", err)
			}
		})
	}
}

func TestOnlyServersOfAChangedSecretAreConnectedToAnew(t *testing.T) {
	t.Parallel()
	for clientEra := range eraNames {
		for serverEra := range eraNames {
			t.Run(clientEra+" client and "+serverEra+" server", func(t *testing.T) {
				t.Parallel()
				one := newWitness(t, "one", serverEra, bearer("TOKEN"), "TOKEN")
				two := newWitness(t, "two", serverEra, bearer("OTHER"), "OTHER")
				three := newWitness(t, "three", serverEra, nil)
				r := newRig(t, fast, one.Server, two.Server, three.Server)
				client := r.connect(t, clientEra, nil)
				use := func(revision, token string) {
					t.Helper()
					r.bridge.UseSecrets(secretsOf(revision, "TOKEN", token, "OTHER", "other-token"))
					for _, tool := range []string{"one_echo", "two_echo", "three_echo"} {
						must.Succeed(t, called(t, client, tool))
					}
				}
				use("r1", "token-1")
				connected(t, r.bridge)
				before := []int{one.connected(), two.connected(), three.connected()}
				for _, same := range []string{"r1", "r2"} {
					use(same, "token-1")
				}
				if got := []int{one.connected(), two.connected(), three.connected()}; !cmp.Equal(got, before) {
					t.Fatalf("connections went from %v to %v while no value changed", before, got)
				}
				use("r3", "token-2")
				if one.connected() <= before[0] {
					t.Error("the server whose secret changed was not connected to anew")
				}
				if got := []int{two.connected(), three.connected()}; !cmp.Equal(got, before[1:]) {
					t.Errorf("the others' connections went from %v to %v", before[1:], got)
				}
				if got := one.values(); len(got) != 2 {
					t.Errorf("sent %q", got)
				}
			})
		}
	}
}

// TestSecretsChangeUnderLoad replaces secrets while clients call.
func TestSecretsChangeUnderLoad(t *testing.T) {
	t.Parallel()
	one := newWitness(t, "one", "legacy", bearer("TOKEN"), "TOKEN")
	two := newWitness(t, "two", "modern", nil)
	r := newRig(t, fast, one.Server, two.Server)
	r.bridge.UseSecrets(secretsOf("r", "TOKEN", "token"))
	var load sync.WaitGroup
	stop := make(chan struct{})
	for clientEra := range eraNames {
		client := r.connect(t, clientEra, nil)
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				_ = called(t, client, "one_echo") // may be cut off
				if err := called(t, client, "two_echo"); err != nil {
					t.Errorf("the other server suffers: %v", err)
				}
			}
		})
	}
	for i := range 20 {
		set := secretsOf("r", "TOKEN", strings.Repeat("x", i+1))
		if i%3 == 2 {
			set = secretsOf("r")
		}
		r.bridge.UseSecrets(set)
		r.bridge.Health()
	}
	r.bridge.UseSecrets(secretsOf("last", "TOKEN", "last-token"))
	close(stop)
	load.Wait()
	client := r.connect(t, "legacy", nil)
	if err := called(t, client, "one_echo"); err != nil {
		t.Error(err)
	}
	wait.Until(t, "healthy", func() bool { return r.bridge.Health().Status == health.Healthy })
}

func TestReplacedSecretsAreWiped(t *testing.T) {
	t.Parallel()
	first := []byte("first-token")
	r := newRig(t, fast, bridgeconfig.Server{Name: "one", URL: "http://127.0.0.1:1", Secrets: []string{"TOKEN"}})
	r.bridge.UseSecrets(secret.NewSet("r1", map[string][]byte{"TOKEN": first}, nil))
	same := []byte("first-token")
	r.bridge.UseSecrets(secret.NewSet("r1", map[string][]byte{"TOKEN": same}, nil))
	if !bytes.Equal(first, make([]byte, len(first))) {
		t.Error("the replaced secret is still in memory")
	}
	r.bridge.UseSecrets(secretsOf("r2"))
	if !bytes.Equal(same, make([]byte, len(same))) {
		t.Error("the removed secret is still in memory")
	}
	last := []byte("last-token")
	r.bridge.Close()
	r.bridge.UseSecrets(secret.NewSet("r3", map[string][]byte{"TOKEN": last}, nil))
	if !bytes.Equal(last, make([]byte, len(last))) {
		t.Error("a closed bridge keeps a secret")
	}
}

// TestARedirectTakesHeadersNowhereElse has a server redirect within its host
// and then to another one.
func TestARedirectTakesHeadersNowhereElse(t *testing.T) {
	t.Parallel()
	stranger := newWitness(t, "stranger", "legacy", bearer("TOKEN"))
	w := newWitness(t, "one", "legacy", bearer("TOKEN"), "TOKEN")
	var mu sync.Mutex
	target := "/moved"
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		to := target
		mu.Unlock()
		if r.URL.Path == "/moved" {
			w.note(r, nil)
		}
		if r.URL.Path == "/moved" || r.Method != http.MethodPost {
			rw.WriteHeader(http.StatusNotFound)
			return
		}
		http.Redirect(rw, r, to, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(front.Close)
	server := w.Server
	server.URL = front.URL + "/mcp"
	r := newRig(t, fast, server)
	r.bridge.UseSecrets(secretsOf("r", "TOKEN", "the-token"))
	wait.Until(t, "the header after a redirect within the host", func() bool {
		return cmp.Equal(w.values(), []string{"Bearer the-token"})
	})
	mu.Lock()
	target = stranger.URL + "/mcp"
	mu.Unlock()
	failures := r.bridge.Health().Servers["one"].Failures
	wait.Until(t, "more attempts", func() bool { return r.bridge.Health().Servers["one"].Failures >= failures+3 })
	if got := stranger.values(); len(got) != 0 {
		t.Errorf("the other host was sent %q", got)
	}
}
