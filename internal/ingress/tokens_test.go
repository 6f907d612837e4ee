// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// issuerURL is whose tokens the worlds of these tests accept, and publicURL where
// they are for.
const (
	issuerURL = "https://login.example.com"
	publicURL = "https://bridges.example.com"
)

var bothScopes = []string{oauth.ScopeRead, oauth.ScopeCall}

// fakeTokens are the tokens that are good, for one resource each.
type fakeTokens struct {
	mu     sync.Mutex
	tokens map[string]oauth.Token
	away   bool
}

func (f *fakeTokens) Verify(_ context.Context, token, resource string, now time.Time) (oauth.Token, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return oauth.Token{}, oauth.ErrKeysAway
	}
	t, ok := f.tokens[token+" "+resource]
	switch {
	case !ok:
		return oauth.Token{}, oauth.BadSignature
	case !now.Before(t.Expires.Add(oauth.Leeway)):
		return oauth.Token{}, oauth.Expired
	}
	return t, nil
}

// add makes a token of somebody for a resource. name tells it from others.
func (f *fakeTokens) add(name, subject, path string, edit func(*oauth.Token)) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := oauth.Token{
		Issuer: issuerURL, Subject: oauth.KeyOf(issuerURL, subject), ClientID: "desk", ID: name,
		Expires: time.Now().Add(time.Hour), Read: true, Call: true,
	}
	if edit != nil {
		edit(&t)
	}
	token := "eyJ." + name + ".sig"
	f.tokens[token+" "+publicURL+path] = t
	return token
}

// loginWorld is a world of alice and bob, whose subjects have their names, in
// which tokens are accepted.
func loginWorld(t *testing.T) (w *world, tokens *fakeTokens, aliceKey string) {
	t.Helper()
	tokens = &fakeTokens{tokens: map[string]oauth.Token{}}
	shared := &keeper{}
	w = newWorldWith(t, defaults(), func(d *Deps) {
		d.OAuth = &authn.OAuth{
			PublicURL: publicURL, Name: "Bridges", Servers: []string{publicURL, issuerURL}, Scopes: bothScopes,
			TrustedNamespaces: []string{"tenants"}, Tokens: tokens,
		}
		d.Features = append(d.Features, sharedFeature(d, tokens, shared))
	})
	shared.UserSecrets = w.secrets
	for user, host := range map[string]string{"alice": hosts[0], "bob": hosts[1]} {
		key := w.addUser(user)
		if user == "alice" {
			aliceKey = key
		}
		w.bindSubject(user, user)
		w.serveBridge(host, "uid-"+user, func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			if r.Header.Get("Authorization") != "" || r.Header.Get("X-Api-Key") != "" {
				t.Error("the bridge got the caller's credential")
			}
			_, _ = io.WriteString(rw, `{"path":"`+r.URL.Path+`"}`)
		})
		w.setPod(user, "pod-"+user, host)
	}
	return w, tokens, aliceKey
}

// bindSubject lets a person use user's bridge.
func (w *world) bindSubject(user, subject string) {
	w.changeBridge(user, func(b *v1alpha1.HostedBridge) {
		if b.Spec.OAuth == nil {
			b.Spec.OAuth = &v1alpha1.OAuthAccess{}
		}
		b.Spec.OAuth.Subjects = append(slices.Clone(b.Spec.OAuth.Subjects), v1alpha1.OAuthSubject{Issuer: issuerURL, Subject: subject})
	})
}

func TestTokensOpenTheBridgesOfTheirSubject(t *testing.T) {
	w, tokens, key := loginWorld(t)
	mine := tokens.add("mine", "alice", "/u/alice/mcp", nil)
	sse := tokens.add("sse", "alice", "/u/alice/sse", nil)
	everyones := tokens.add("any", "alice", "/mcp", nil)
	ruled := tokens.add("ruled", "nobody-by-subject", "/u/bob/mcp", func(t *oauth.Token) { t.User = "bob" })
	for _, test := range []struct {
		name, path, credential string
		status                 int
		reached                string
	}{
		{"the URL it is for", "/u/alice/mcp", mine, 200, "/u/alice/mcp"},
		{"not the other transport", "/u/alice/sse", mine, 401, ""},
		{"the other transport by its own", "/u/alice/sse", sse, 200, "/u/alice/sse"},
		{"not the URL for everyone", "/mcp", mine, 401, ""},
		{"the URL for everyone by its own", "/mcp", everyones, 200, "/u/alice/mcp"},
		{"not the user's URL by that one", "/u/alice/mcp", everyones, 401, ""},
		{"the health of the bridge", "/u/alice/health", mine, 200, ""},
		{"not another user's URL", "/u/bob/mcp", mine, 401, ""},
		{"not a user's URL who is not there", "/u/nobody/mcp", mine, 401, ""},
		{"a user by the installation's rule", "/u/bob/mcp", ruled, 200, "/u/bob/mcp"},
		{"no secrets", "/u/alice/secrets", mine, 403, ""},
		{"not the administrators' surface", "/admin/users/alice/keys", mine, 401, ""},
		{"the URL for everyone by a key", "/mcp", key, 200, "/u/alice/mcp"},
		{"the user's URL by a key", "/u/alice/mcp", key, 200, "/u/alice/mcp"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := w.do(w.request(http.MethodGet, test.path, test.credential, ""))
			if got.status != test.status || !strings.Contains(got.body, test.reached) {
				t.Errorf("%d %s, want %d from %s", got.status, got.body, test.status, test.reached)
			}
		})
	}
	if strings.Contains(w.logs.String(), mine) || strings.Contains(w.logs.String(), `"subject":"alice"`) {
		t.Error("the log has a token, or says who the person is")
	}
}

func TestATokenAsXAPIKeyIsAToken(t *testing.T) {
	w, tokens, key := loginWorld(t)
	mine := tokens.add("mine", "alice", "/u/alice/mcp", nil)
	r := w.request(http.MethodGet, "/u/alice/mcp", mine, "")
	r.Header.Set("X-Api-Key", key)
	if got := w.do(r); got.status != http.StatusUnauthorized {
		t.Errorf("a token beside a key: %d, want 401", got.status)
	}
}

func TestRefusedTokensGetOneAnswer(t *testing.T) {
	w, tokens, _ := loginWorld(t)
	strange := tokens.add("strange", "carol", "/u/alice/mcp", nil)
	nobody := tokens.add("nobody", "carol", "/u/nobody/mcp", nil)
	var want reply
	for i, test := range []struct{ name, user, token string }{
		{"an unknown token", "alice", "eyJ.a.b"},
		{"an unknown token for a user who is not there", "nobody", "eyJ.a.b"},
		{"a good token of somebody else", "alice", strange},
		{"a good token for a user who is not there", "nobody", nobody},
		{"not even a token", "alice", ".."},
		{"a key with two points", "alice", "hb_a.b.c"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := withoutChance(w.do(w.request(http.MethodPost, "/u/"+test.user+"/mcp", test.token, toolCall)))
			challenge := `Bearer error="invalid_token", resource_metadata="https://bridges.example.com/.well-known/oauth-protected-resource/u/` + test.user + `/mcp", scope="mcp:read mcp:call"`
			if said := got.header.Get("Www-Authenticate"); got.status != http.StatusUnauthorized || !sameChallenge(said, challenge) {
				t.Errorf("status = %d, WWW-Authenticate = %q, want %q", got.status, said, challenge)
			}
			got.header = maps.Clone(got.header)
			got.header.Del("Www-Authenticate") // It names the URL that was asked for.
			if i == 0 {
				want = got
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(reply{})); diff != "" {
				t.Errorf("the answer tells this case from the first (-first +this):\n%s", diff)
			}
		})
	}
}

// sameChallenge compares the parameters of two challenges in any order.
func sameChallenge(a, b string) bool {
	split := func(s string) []string {
		parts := strings.Split(strings.TrimPrefix(s, "Bearer "), ", ")
		slices.Sort(parts)
		return parts
	}
	return slices.Equal(split(a), split(b))
}

func TestWhoPresentsNothingIsToldWhereToLogIn(t *testing.T) {
	w, _, _ := loginWorld(t)
	for path, resource := range map[string]string{"/u/alice/mcp": "/u/alice/mcp", "/u/nobody/sse": "/u/nobody/sse", "/mcp": "/mcp", "/u/nobody/secrets": "/u/nobody/mcp", "/u/alice/servers": "/u/alice/mcp"} {
		got := w.do(w.request(http.MethodGet, path, "", ""))
		want := `Bearer resource_metadata="https://bridges.example.com/.well-known/oauth-protected-resource` + resource + `", scope="mcp:read mcp:call"`
		if said := got.header.Get("Www-Authenticate"); got.status != http.StatusUnauthorized || !sameChallenge(said, want) {
			t.Errorf("%s: %d %q, want %q", path, got.status, said, want)
		}
	}
	if said := w.do(w.request(http.MethodGet, keysOfAlice, "", "")).header.Get("Www-Authenticate"); said != `Bearer realm="hosted-bridge"` {
		t.Errorf("keys, for which there are no tokens of users: %q", said)
	}
}

func TestMetadataAreTheSameForUsersWhoAreNotThere(t *testing.T) {
	w, _, _ := loginWorld(t)
	for _, path := range []string{"/u/alice/mcp", "/u/nobody/mcp", "/u/alice/sse", "/mcp"} {
		resource := publicURL + path
		got := w.do(w.request(http.MethodGet, "/.well-known/oauth-protected-resource"+path, "", ""))
		if got.status != http.StatusOK || got.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Fatalf("%s: %d %v", path, got.status, got.header)
		}
		var document struct {
			Resource string   `json:"resource"`
			Servers  []string `json:"authorization_servers"`
			Scopes   []string `json:"scopes_supported"`
			Methods  []string `json:"bearer_methods_supported"`
		}
		if err := json.Unmarshal([]byte(got.body), &document); err != nil {
			t.Fatal(err)
		}
		if document.Resource != resource || !slices.Equal(document.Servers, []string{publicURL, issuerURL}) ||
			!slices.Equal(document.Scopes, bothScopes) || !slices.Equal(document.Methods, []string{"header"}) {
			t.Errorf("%s: %s", path, got.body)
		}
	}
	known := w.do(w.request(http.MethodGet, "/.well-known/oauth-protected-resource/u/alice/mcp", "", ""))
	unknown := w.do(w.request(http.MethodGet, "/.well-known/oauth-protected-resource/u/nobody/mcp", "", ""))
	if strings.ReplaceAll(unknown.body, "nobody", "alice") != known.body {
		t.Errorf("of one who is there %s, of one who is not %s", known.body, unknown.body)
	}
	for _, path := range []string{"", "/", "/u/alice", "/u/Alice/mcp", "/u/alice/health", "/sse", "/u/alice/mcp/"} {
		if got := w.do(w.request(http.MethodGet, "/.well-known/oauth-protected-resource"+path, "", "")); got.status != http.StatusNotFound {
			t.Errorf("metadata of %q: %d, want 404", path, got.status)
		}
	}
}

func TestWithoutLoginsThereAreNoTokens(t *testing.T) {
	w := newWorld(t, defaults())
	if got := w.do(w.request(http.MethodGet, "/.well-known/oauth-protected-resource/mcp", "", "")); got.status != http.StatusNotFound {
		t.Errorf("metadata: %d, want 404", got.status)
	}
	got := w.do(w.request(http.MethodGet, "/mcp", "eyJ.a.b", ""))
	if said := got.header.Get("Www-Authenticate"); got.status != http.StatusUnauthorized || said != `Bearer realm="hosted-bridge"` {
		t.Errorf("a token: %d %q", got.status, said)
	}
}

func TestScopesBoundWhatATokenDoes(t *testing.T) {
	w, tokens, _ := loginWorld(t)
	reads := tokens.add("reads", "alice", "/u/alice/mcp", func(t *oauth.Token) { t.Call = false })
	neither := tokens.add("neither", "alice", "/u/alice/mcp", func(t *oauth.Token) { t.Read, t.Call = false, false })
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, test := range []struct {
		name, token, body string
		status            int
	}{
		{"one that reads lists", reads, list, 200},
		{"one that reads calls no tool", reads, toolCall, 403},
		{"nor in a batch", reads, "[" + list + "," + toolCall + "]", 403},
		{"one without scopes does nothing", neither, list, 403},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := w.do(w.request(http.MethodPost, "/u/alice/mcp", test.token, test.body))
			if got.status != test.status {
				t.Fatalf("%d %s, want %d", got.status, got.body, test.status)
			}
			want := `Bearer error="insufficient_scope", resource_metadata="https://bridges.example.com/.well-known/oauth-protected-resource/u/alice/mcp", scope="mcp:read mcp:call"`
			if said := got.header.Get("Www-Authenticate"); test.status == 403 && !sameChallenge(said, want) {
				t.Errorf("WWW-Authenticate = %q", said)
			}
		})
	}
	if entries := w.audit.all(); len(entries) != 3 || entries[0].Principal.Kind != "oauth" || entries[0].Principal.ID != oauth.KeyOf(issuerURL, "alice").String() || entries[0].Principal.Issuer != issuerURL {
		t.Errorf("the refused calls' entries: %+v", entries)
	}
}

// Mallory writes HostedBridges in a namespace of her own, and names whom she likes.
func TestAStrangersBridgeNeitherLocksAPersonOutNorTakesThemOver(t *testing.T) {
	type token = func(*oauth.Token)
	ofTheRule := func(t *oauth.Token) { t.User = "bob" }
	agreed := func(user string) token {
		return func(t *oauth.Token) { t.Own, t.Bridge = true, types.UID("uid-"+user) }
	}
	earlier := func(t *oauth.Token) { t.Own = true }
	for _, test := range []struct {
		name, subject, path string
		edit                token
		before, after       string // The user who is reached, or the code of the refusal.
	}{
		{"with a token of another server", "alice", "/mcp", nil, "alice", "alice"},
		{"with a token for the bridge that they agreed to", "alice", "/mcp", agreed("alice"), "alice", "alice"},
		{"with a token of before an upgrade", "alice", "/mcp", earlier, "alice", "alice"},
		{"with a token by the rule", "nobody", "/mcp", ofTheRule, "bob", "bob"},
		{"a newcomer with a token of another server", "newcomer", "/mcp", nil, "unauthorized", "bridge_not_named"},
		{"a newcomer with a token of our server", "newcomer", "/mcp", earlier, "unauthorized", "unauthorized"},
		{"but whoever agreed to it reaches it", "newcomer", "/mcp", agreed("mallory"), "unauthorized", "mallory"},
		{"and whoever names it", "newcomer", "/u/mallory/mcp", nil, "unauthorized", "mallory"},
		{"not who agreed to one of that name before it", "newcomer", "/mcp", agreed("mallory-of-before"), "unauthorized", "unauthorized"},
		{"not who agreed to one that is not for them", "newcomer", "/mcp", agreed("bob"), "unauthorized", "unauthorized"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, tokens, _ := loginWorld(t)
			presented := tokens.add("theirs", test.subject, test.path, test.edit)
			reach := func(when, want string) {
				t.Helper()
				got := w.do(w.request(http.MethodGet, test.path, presented, ""))
				if !strings.Contains(got.body, `"/u/`+want+`/mcp"`) && !strings.Contains(got.body, `"code":"`+want+`"`) {
					t.Errorf("%s: %d %s, want %s", when, got.status, got.body, want)
				}
			}
			reach("before", test.before)
			w.addUser("mallory")
			w.serveBridge(hosts[2], "uid-mallory", func(rw http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(rw, `{"path":"`+r.URL.Path+`"}`)
			})
			w.changeBridge("mallory", func(b *v1alpha1.HostedBridge) { b.Namespace = "mallory" })
			w.setPod("mallory", "pod-mallory", hosts[2])
			w.change(func() {
				for _, pod := range w.pods {
					if pod.Name == "pod-mallory" {
						pod.Namespace = "mallory"
					}
				}
			})
			for _, subject := range []string{"alice", "bob", "newcomer", "nobody"} {
				w.bindSubject("mallory", subject)
			}
			reach("after it", test.after)
		})
	}
}

func TestWithSeveralTrustedBridgesATokenOfAnotherServerNamesOne(t *testing.T) {
	w, tokens, _ := loginWorld(t)
	w.bindSubject("bob", "alice")
	w.changeBridge("bob", func(b *v1alpha1.HostedBridge) { b.Namespace = "elsewhere" })
	everyones := tokens.add("any", "alice", "/mcp", nil)
	if got := w.do(w.request(http.MethodGet, "/mcp", everyones, "")); got.status != http.StatusOK {
		t.Errorf("with one in a trusted namespace: %d %s", got.status, got.body)
	}
	w.changeBridge("bob", func(b *v1alpha1.HostedBridge) { b.Namespace = "tenants" })
	if got := w.do(w.request(http.MethodGet, "/mcp", everyones, "")); got.status != http.StatusForbidden || !strings.Contains(got.body, "several_bridges") {
		t.Errorf("with two: %d %s", got.status, got.body)
	}
}

func TestWhoIsNoSubjectAnyMoreIsOutAtOnce(t *testing.T) {
	w, tokens, _ := loginWorld(t)
	mine := tokens.add("mine", "alice", "/u/alice/mcp", nil)
	get := func() int { return w.do(w.request(http.MethodGet, "/u/alice/mcp", mine, "")).status }
	if got := get(); got != http.StatusOK {
		t.Fatalf("%d, want 200", got)
	}
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.OAuth = nil })
	if got := get(); got != http.StatusUnauthorized {
		t.Errorf("after the subject was removed: %d, want 401", got)
	}
}

func TestStreamsEndWithTheirTokenAndCallsDoNot(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, tokens, _ := loginWorld(t)
		begun, goOn := make(chan struct{}, 1), make(chan struct{})
		w.servers[hosts[0]].Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(rw, ": begun\n\n")
			_ = http.NewResponseController(rw).Flush()
			if r.Method == http.MethodGet {
				<-r.Context().Done()
				return
			}
			begun <- struct{}{}
			<-goOn
			_, _ = io.WriteString(rw, "data: {}\n\n")
		})
		ends := time.Now().Add(3 * time.Second)
		short := tokens.add("short", "alice", "/u/alice/mcp", func(t *oauth.Token) { t.Expires = ends.Add(-oauth.Leeway) })
		called := make(chan reply, 1)
		go func() { called <- w.do(w.request(http.MethodPost, "/u/alice/mcp", short, toolCall)) }()
		<-begun
		w.do(w.request(http.MethodGet, "/u/alice/mcp", short, "")) // It returns when the stream ends.
		if now := time.Now(); now.Before(ends) {
			t.Errorf("the stream ended %v before its token", ends.Sub(now))
		}
		close(goOn)
		if got := <-called; !strings.Contains(got.body, "data: {}") {
			t.Errorf("the call did not end well: %d %q", got.status, got.body)
		}
	})
}

// The servers of one vendor's client are one source for all of its people.
func TestTokensThatEndedAreNoAttempts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, tokens, _ := loginWorld(t)
		ended := tokens.add("ended", "alice", "/u/alice/mcp", func(t *oauth.Token) { t.Expires = time.Now().Add(-time.Minute) })
		strange := tokens.add("strange", "carol", "/u/alice/mcp", nil)
		for range authn.SourceBurst {
			for _, token := range []string{ended, strange} {
				got := w.do(w.request(http.MethodGet, "/u/alice/mcp", token, ""))
				if got.status != http.StatusUnauthorized || !strings.Contains(got.header.Get("Www-Authenticate"), "invalid_token") {
					t.Fatalf("%d %v", got.status, got.header)
				}
			}
		}
		var got reply
		for range authn.SourceBurst + 1 {
			got = w.do(w.request(http.MethodGet, "/u/alice/mcp", "eyJ.forged.x", ""))
		}
		if got.status != http.StatusTooManyRequests {
			t.Errorf("many forged ones: %d, want 429", got.status)
		}
	})
}

func TestWhileKeysAreUnknownTokensWaitAndAPIKeysWork(t *testing.T) {
	w, tokens, key := loginWorld(t)
	tokens.away = true
	got := w.do(w.request(http.MethodGet, "/u/alice/mcp", "eyJ.a.b", ""))
	if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || !strings.Contains(got.body, "login_unavailable") {
		t.Errorf("a token: %d %s", got.status, got.body)
	}
	if got := w.do(w.request(http.MethodGet, "/u/alice/mcp", key, "")); got.status != http.StatusOK {
		t.Errorf("a key: %d", got.status)
	}
}
