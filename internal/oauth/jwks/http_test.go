// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package jwks

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// host is a server with documents, by path. %s in one is the server's URL.
type host struct {
	*httptest.Server

	mu        sync.Mutex
	documents map[string]string
	asked     []string
}

func serve(t *testing.T, documents map[string]string) *host {
	t.Helper()
	h := &host{documents: documents}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	path := r.URL.EscapedPath()
	h.asked = append(h.asked, path)
	document, found := h.documents[path]
	if to, ok := strings.CutPrefix(document, "-> "); ok {
		http.Redirect(w, r, to, http.StatusFound)
		return
	}
	if !found || r.Header.Get("Accept") != "application/json" {
		http.NotFound(w, r)
		return
	}
	w.Write([]byte(strings.ReplaceAll(document, "%s", h.URL)))
}

func (h *host) put(path, document string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.documents[path] = document
}

func setOf(t testing.TB, keys ...jose.JSONWebKey) string {
	t.Helper()
	return string(must.Value(json.Marshal(jose.JSONWebKeySet{Keys: keys}))(t))
}

const (
	authorizationServer = "/.well-known/oauth-authorization-server"
	openID              = "/.well-known/openid-configuration"
)

func TestDiscovery(t *testing.T) {
	keys := setOf(t, public("a", newKey(t)))
	metadata := func(issuer string) string { return `{"issuer":"` + issuer + `","jwks_uri":"%s/keys"}` }
	tests := map[string]struct {
		path      string // Of the issuer.
		documents map[string]string
		asked     []string
		err       string // None if it is empty.
	}{
		"an issuer without a path, by RFC 8414": {
			"", map[string]string{authorizationServer: metadata("%s"), openID: "{}"}, []string{authorizationServer, "/keys"}, "",
		},
		"an issuer without a path, by OpenID Connect": {
			"", map[string]string{openID: metadata("%s")}, []string{authorizationServer, openID, "/keys"}, "",
		},
		"an issuer that ends with a slash": {
			"/", map[string]string{openID: metadata("%s/")}, []string{authorizationServer, openID, "/keys"}, "",
		},
		"an issuer with a path, by RFC 8414": {
			"/a/b", map[string]string{authorizationServer + "/a/b": metadata("%s/a/b")}, []string{authorizationServer + "/a/b", "/keys"}, "",
		},
		"an issuer with a path, by OpenID Connect as RFC 8414 has it": {
			"/a", map[string]string{openID + "/a": metadata("%s/a")}, []string{authorizationServer + "/a", openID + "/a", "/keys"}, "",
		},
		"an issuer with a path, by OpenID Connect": {
			"/a/", map[string]string{"/a" + openID: metadata("%s/a/")}, []string{authorizationServer + "/a", openID + "/a", "/a" + openID, "/keys"}, "",
		},
		"an issuer with a path that is encoded": {
			"/a%2Fb", map[string]string{"/a%2Fb" + openID: metadata("%s/a%2Fb")}, []string{authorizationServer + "/a%2Fb", openID + "/a%2Fb", "/a%2Fb" + openID, "/keys"}, "",
		},
		"another's metadata before one's own": {
			"/a", map[string]string{authorizationServer + "/a": metadata("%s"), "/a" + openID: metadata("%s/a")}, []string{authorizationServer + "/a", openID + "/a", "/a" + openID, "/keys"}, "",
		},
		"another's metadata alone": {
			"", map[string]string{authorizationServer: metadata("https://attacker.example.com")}, []string{authorizationServer, openID}, "another issuer",
		},
		"metadata of an issuer with a slash less": {
			"/", map[string]string{authorizationServer: metadata("%s")}, []string{authorizationServer, openID}, "another issuer",
		},
		"metadata that do not say whose they are": {
			"", map[string]string{authorizationServer: `{"jwks_uri":"%s/keys"}`}, []string{authorizationServer, openID}, "another issuer",
		},
		"metadata that say it twice": {
			"", map[string]string{authorizationServer: `{"issuer":"x","issuer":"%s","jwks_uri":"%s/keys"}`}, []string{authorizationServer, openID}, "no metadata",
		},
		"metadata without keys": {
			"", map[string]string{authorizationServer: `{"issuer":"%s"}`}, []string{authorizationServer, openID}, "must be https",
		},
		"metadata with keys that are not https": {
			"", map[string]string{authorizationServer: `{"issuer":"%s","jwks_uri":"http://169.254.169.254/keys"}`}, []string{authorizationServer, openID}, "must be https",
		},
		"metadata that lead elsewhere": {
			"", map[string]string{authorizationServer: "-> /else", "/else": metadata("%s")}, []string{authorizationServer, openID}, "answers 302",
		},
		"no metadata": {"", nil, []string{authorizationServer, openID}, "answers 404"},
		"a page": {
			"", map[string]string{authorizationServer: "<html>"}, []string{authorizationServer, openID}, "no metadata",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := serve(t, map[string]string{"/keys": keys})
			for path, document := range tt.documents {
				h.put(path, document)
			}
			fetch := must.Value(newGetter(nil).from(Source{Issuer: h.URL + tt.path}))(t)
			got, err := fetch(t.Context())
			switch {
			case tt.err == "" && (err != nil || len(got.Keys) != 1):
				t.Errorf("got %v, %v", idsOf(got.Keys), err)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("got %v, want it to say %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.asked, h.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDocumentsOfKeys(t *testing.T) {
	good := setOf(t, public("a", newKey(t)))
	within := func(key string) string { return strings.Replace(good, "[", "["+key+",", 1) }
	pad := func(to int) string { return good + strings.Repeat(" ", to-len(good)) }
	tests := map[string]struct {
		document string
		err      string // None if it is empty.
	}{
		"a set":                             {good, ""},
		"a set with a key of another kind":  {within(`{"kty":"OKP","crv":"X25519","x":"AAAA","kid":"b"}`), ""},
		"a set with a key of the future":    {within(`{"kty":"AKP","alg":"ML-DSA-44","pub":"AAAA","kid":"b"}`), ""},
		"a set with a key that is not well": {within(`{"kty":"RSA","n":"AAAA"}`), ""},
		"a set with a point off its curve":  {within(`{"kty":"EC","crv":"P-256","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE","y":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE"}`), ""},
		"a set with something else":         {within(`"key"`), ""},
		"as long as may be":                 {pad(maxBody), ""},
		"a byte longer":                     {pad(maxBody + 1), "more than"},
		"a page":                            {"<html>", "no set of keys"},
		"a list":                            {"[]", "no set of keys"},
		"keys that are no list":             {`{"keys":{}}`, "no set of keys"},
		"elsewhere":                         {"-> /else", "answers 302"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := serve(t, map[string]string{"/keys": tt.document, "/else": good})
			fetch := must.Value(newGetter(nil).from(Source{Issuer: theirs, URL: h.URL + "/keys"}))(t)
			got, err := fetch(t.Context())
			switch {
			case tt.err == "" && (err != nil || len(got.Keys) != 1 || got.Keys[0].KeyID != "a"):
				t.Errorf("got %v, %v", idsOf(got.Keys), err)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("got %v, want it to say %q", err, tt.err)
			}
			if len(h.asked) != 1 {
				t.Errorf("asked for %v", h.asked)
			}
		})
	}
}

func TestAConnectionThatBreaksIsAFailure(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.Write([]byte(`{"keys":[`))
	}))
	t.Cleanup(h.Close)
	fetch := must.Value(newGetter(nil).from(Source{Issuer: theirs, URL: h.URL}))(t)
	if _, err := fetch(t.Context()); err == nil {
		t.Error("half a document is a set of keys")
	}
	h.Close()
	if _, err := fetch(t.Context()); err == nil {
		t.Error("a server that is gone has keys")
	}
}

func TestACertificateThatNobodyVouchesForIsAFailure(t *testing.T) {
	h := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(setOf(t, public("a", newKey(t)))))
	}))
	h.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(h.Close)
	source := Source{Issuer: theirs, URL: h.URL}
	stranger := must.Value(newGetter(nil).from(source))(t)
	if _, err := stranger(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v", err)
	}
	client := h.Client()
	friend := must.Value(newGetter(client).from(source))(t)
	if got, err := friend(t.Context()); err != nil || len(got.Keys) != 1 {
		t.Errorf("got %v, %v", idsOf(got.Keys), err)
	}
	if client.CheckRedirect != nil {
		t.Error("the caller's client was changed")
	}
}

func TestATokenByANewKeyIsGoodAtOnce(t *testing.T) {
	first, next := newKey(t), newKey(t)
	h := serve(t, map[string]string{authorizationServer: `{"issuer":"%s","jwks_uri":"%s/keys"}`, "/keys": setOf(t, public("first", first))})
	clock := clocktest.New(1000)
	s := must.Value(New([]Source{{Issuer: h.URL}}, Options{Clock: clock, Log: slog.New(slog.DiscardHandler)}))(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	v := must.Value(oauth.NewVerifier([]oauth.Issuer{{URL: h.URL}}, s))(t)
	const resource = "https://bridges.example.com/mcp"
	sign := func(kid string, key any) string {
		o := (&jose.SignerOptions{}).WithType("at+jwt").WithHeader("kid", kid)
		signer := must.Value(jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, o))(t)
		token, err := jwt.Signed(signer).Claims(jwt.Claims{
			Issuer: h.URL, Subject: "alice", Audience: jwt.Audience{resource}, Expiry: jwt.NewNumericDate(clock.Now().Add(time.Hour)),
		}).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	if _, err := v.Verify(ctx, sign("first", first), resource, clock.Now()); err != nil {
		t.Error(err)
	}
	h.put("/keys", setOf(t, public("first", first), public("next", next)))
	clock.Advance(gap)
	if _, err := v.Verify(ctx, sign("next", next), resource, clock.Now()); err != nil {
		t.Error(err)
	}
}

// FuzzReadKeys has documents of anybody: no secret is ever a key.
func FuzzReadKeys(f *testing.F) {
	f.Add(setOf(f, public("a", newKey(f))))
	f.Add(setOf(f, jose.JSONWebKey{Key: newKey(f), KeyID: "private"}))
	f.Add(`{"keys":[{"kty":"oct","k":"AAAA","kid":"secret"},{"kty":"OKP","crv":"Ed25519","x":"AAAA"},null,[]]}`)
	f.Fuzz(func(t *testing.T, document string) {
		set, ok := readKeys([]byte(document))
		if !ok && len(set.Keys) > 0 {
			t.Error("what is no set has keys")
		}
		for _, key := range usable(set) {
			if !key.IsPublic() || !key.Valid() {
				t.Errorf("%T is a key", key.Key)
			}
		}
	})
}
