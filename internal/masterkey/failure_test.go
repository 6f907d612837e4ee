// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package masterkey

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// quiet fails the test if a text has a token, a data key or a salt in it.
func quiet(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		for _, secret := range []string{rootToken, rootToken[4:16], "hvs.login", "the.service.account", canary, "BwcHBwcH"} {
			if strings.Contains(text, secret) {
				t.Errorf("a secret is in %q", text)
			}
		}
	}
}

// Whatever a server answers that has nothing to do with the ciphertext must
// not be taken for a word about it, and must not be repeated.
func TestAServerThatDoesNotAnswerAsItShould(t *testing.T) {
	status := func(code int, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	plain := func(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, n)) }
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a request goes elsewhere, with token %v", r.Header.Get("X-Vault-Token") != "")
	}))
	t.Cleanup(elsewhere.Close)
	for _, test := range []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request)
		says   string
	}{
		{"denied", status(403, `{"errors":["permission denied"]}`), "403"},
		{"denied with the token", func(w http.ResponseWriter, r *http.Request) {
			status(403, `{"errors":["`+r.Header.Get("X-Vault-Token")+`"]}`)(w, r)
		}, "403"},
		{"an error with the token", func(w http.ResponseWriter, r *http.Request) {
			status(400, `{"errors":["`+r.Header.Get("X-Vault-Token")+`"]}`)(w, r)
		}, "answers 400"},
		{"an error with the request", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			_, _ = io.Copy(w, r.Body)
		}, "answers 500"},
		{"a known text with another status", status(500, `{"errors":["cipher: message authentication failed"]}`), "answers 500"},
		{"sealed", status(503, `{"errors":["Vault is sealed"]}`), "sealed"},
		{"a proxy that has no server", status(502, "<html>Bad Gateway</html>"), "answers 502"},
		{"too many requests", status(429, `{"errors":["request path \"x\": rate limit quota exceeded"]}`), "429"},
		{"nothing there", status(404, `{"errors":[]}`), "404"},
		{"an odd success", status(202, `{"data":{}}`), "answers 202"},
		{"no content", status(204, ""), ""},
		{"nothing", status(200, ""), "expected form"},
		{"no JSON", status(200, "<html>Welcome</html>"), "expected form"},
		{"half of the JSON", status(200, `{"data":{"plaintext":"`), "expected form"},
		{"JSON of another shape", status(200, `[1,2,3]`), "expected form"},
		{"no data", status(200, `{"data":null}`), ""},
		{"data without what was asked for", status(200, `{"data":{"ciphertext2":"x"}}`), ""},
		{"numbers for texts", status(200, `{"data":{"plaintext":1,"ciphertext":1}}`), ""},
		{"no base64", status(200, `{"data":{"plaintext":"***","ciphertext":"vault:v1:***"}}`), ""},
		{"a short key", status(200, `{"data":{"plaintext":"`+plain(16)+`","ciphertext":"vault:v1:`+plain(44)+`"}}`), ""},
		{"a long key", status(200, `{"data":{"plaintext":"`+plain(64)+`","ciphertext":"vault:v1:`+plain(92)+`"}}`), ""},
		{"another version", status(200, `{"data":{"plaintext":"","ciphertext":"vault:v2:`+plain(60)+`"}}`), ""},
		{"another prefix", status(200, `{"data":{"plaintext":"","ciphertext":"bao:v1:`+plain(60)+`"}}`), ""},
		{"far too much", status(200, `{"data":{"plaintext":"`+strings.Repeat("A", 1<<20)+`"}}`), "more than"},
		{"an error that is far too long", status(400, `{"errors":["`+strings.Repeat("A", 1<<20)+`"]}`), "more than"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
		}, "redirects (307)"},
		{"a redirect to what is no address, with the token", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://%zz/"+r.Header.Get("X-Vault-Token"))
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, ""},
		{"no HTTP, with the token", func(w http.ResponseWriter, r *http.Request) {
			hijack(t, w, r.Header.Get("X-Vault-Token")+" says hello\r\n\r\n")
		}, "not HTTP"},
		{"a header that breaks off, with the token", func(w http.ResponseWriter, r *http.Request) {
			hijack(t, w, "HTTP/1.1 200 OK\r\n"+r.Header.Get("X-Vault-Token")+"\r\n\r\n")
		}, "not HTTP"},
		{"a body that breaks off", func(w http.ResponseWriter, _ *http.Request) {
			hijack(t, w, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"data\"")
		}, "broke"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, s := serve(t)
			s.create(t, "key")
			log := &logtest.Log{}
			source := s.source(t, "key")
			source.options.Log = textLogger(log)
			sealed := seal(t, source.Keys())
			e.answer(test.answer)
			_, sealing := envelope.Seal(t.Context(), rand.Reader, alice(t, source.Keys()), "TOKEN", []byte(canary))
			opened, opening := envelope.Open(t.Context(), alice(t, source.Keys()), "TOKEN", sealed)
			for what, err := range map[string]error{"seal": sealing, "open": opening, "reload": source.Reload(t.Context())} {
				if err == nil || what != "reload" && !errors.Is(err, envelope.ErrUnavailable) || errors.Is(err, envelope.ErrRefused) {
					t.Errorf("%s: %v, want %v", what, err, envelope.ErrUnavailable)
				}
				if !strings.Contains(fmt.Sprint(err), test.says) {
					t.Errorf("%s: %v does not say %q", what, err, test.says)
				}
				quiet(t, fmt.Sprint(err))
			}
			if opened != nil {
				t.Error("something opens")
			}
			quiet(t, log.String())
			if source.Keys().Current().String() != "transit:1" {
				t.Error("the last good key is not kept")
			}
		})
	}
}

// hijack answers with these bytes and hangs up.
func hijack(t *testing.T, w http.ResponseWriter, answer string) {
	t.Helper()
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	_, _ = io.WriteString(connection, answer)
	connection.Close()
}

func TestAServerThatIsAway(t *testing.T) {
	e, s := serve(t)
	s.create(t, "key")
	source := s.source(t, "key")
	sealed := seal(t, source.Keys())
	held := make(chan struct{})
	e.answer(func(http.ResponseWriter, *http.Request) { <-held })
	source.transit.options.Timeout = 50 * time.Millisecond
	_, err := envelope.Open(t.Context(), alice(t, source.Keys()), "TOKEN", sealed)
	if !errors.Is(err, envelope.ErrUnavailable) || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("a server that holds the request: %v", err)
	}
	close(held)

	nobody := server{address: "http://127.0.0.1:1", token: rootToken}
	if err := nobody.source(t, "key").Err(); !errors.Is(err, envelope.ErrUnavailable) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a server that is not there: %v", err)
	}
}

// A server that passes over what it does not know would lose the binding
// without a word.
func TestAServerWithoutAssociatedDataIsFoundOut(t *testing.T) {
	e, s := serve(t)
	s.create(t, "key")
	e.deaf = true
	_, err := Open(t.Context(), Options{Dir: write(t, map[string]string{"authority": encoded(9)}), Provider: ProviderTransit, Transit: s.options(t, "key")})
	if !errors.Is(err, errBinding) {
		t.Errorf("error %v, want %v", err, errBinding)
	}
}

func TestTheCertificateIsVerified(t *testing.T) {
	e := newEngine()
	ts := httptest.NewUnstartedServer(e)
	ts.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo) // It logs the failed handshake.
	ts.StartTLS()
	t.Cleanup(ts.Close)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	must.Succeed(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ts.Certificate().Raw}), 0o600))
	s := server{address: ts.URL, token: rootToken, caFile: ca}
	s.mount(t, "transit")
	s.create(t, "key")
	k := s.source(t, "key").Keys()
	mustOpen(t, k, seal(t, k))
	e.mu.Lock()
	e.requests = nil
	e.mu.Unlock()
	s.caFile = ""
	_, err := Open(t.Context(), Options{Dir: write(t, map[string]string{"authority": encoded(9)}), Provider: ProviderTransit, Transit: s.options(t, "key")})
	if !errors.Is(err, envelope.ErrUnavailable) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error %v", err)
	}
	if len(e.requests) > 0 {
		t.Error("a request was sent to who did not prove anything")
	}
}

func TestWhatIsSent(t *testing.T) {
	e, s := serve(t)
	s.create(t, "key")
	source := s.source(t, "key")
	source.transit.options.Namespace = "team"
	var headers http.Header
	var body []byte
	e.mu.Lock()
	e.intercept = func(_ http.ResponseWriter, r *http.Request) bool {
		headers = r.Header.Clone()
		body, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		return false
	}
	e.requests = nil
	e.mu.Unlock()
	seal(t, source.Keys())
	if got := strings.Join(e.requests, ", "); got != "POST /v1/transit/encrypt/key" {
		t.Errorf("requests %s", got)
	}
	for name, want := range map[string]string{"X-Vault-Token": rootToken, "X-Vault-Namespace": "team", "X-Vault-Request": "true"} {
		if headers.Get(name) != want {
			t.Errorf("%s is %q", name, headers.Get(name))
		}
	}
	if !bytes.Contains(body, []byte(`"key_version":1`)) || bytes.Contains(body, []byte("BwcHBwcH")) {
		t.Error("the version is not asked for, or the salt is sent")
	}
}

func TestTransitOptions(t *testing.T) {
	good := TransitOptions{Address: "https://vault.example:8200", Key: "hosted-bridge", TokenFile: "/token"}
	must.Succeed(t, good.Validate())
	for _, test := range []struct {
		name   string
		change func(*TransitOptions)
		says   string // Nothing: it is right.
	}{
		{"http on this machine", func(o *TransitOptions) { o.Address = "http://127.0.0.1:8200" }, ""},
		{"http to an agent", func(o *TransitOptions) { o.Address = "http://localhost:8100" }, ""},
		{"http elsewhere", func(o *TransitOptions) { o.Address = "http://vault:8200" }, "not https"},
		{"http elsewhere, if it must be", func(o *TransitOptions) { o.Address, o.Insecure = "http://vault:8200", true }, ""},
		{"a password in the address", func(o *TransitOptions) { o.Address = "https://a:canary-pw@vault" }, "address"},
		{"no address", func(o *TransitOptions) { o.Address = "" }, "address"},
		{"a name for an address", func(o *TransitOptions) { o.Address = "vault" }, "address"},
		{"no key", func(o *TransitOptions) { o.Key = "" }, "key"},
		{"a key that leads elsewhere", func(o *TransitOptions) { o.Key = "../sys" }, "key"},
		{"a mount of two parts", func(o *TransitOptions) { o.Mount = "team/transit" }, ""},
		{"a mount that leads elsewhere", func(o *TransitOptions) { o.Mount = "transit/../sys" }, "mount"},
		{"a mount that begins with a slash", func(o *TransitOptions) { o.Mount = "/transit" }, "mount"},
		{"nobody to be", func(o *TransitOptions) { o.TokenFile = "" }, "token file"},
		{"two to be", func(o *TransitOptions) { o.Role, o.JWTFile = "r", "/jwt" }, "token file"},
		{"a role", func(o *TransitOptions) { o.TokenFile, o.Role, o.JWTFile = "", "r", "/jwt" }, ""},
		{"a role without a token", func(o *TransitOptions) { o.TokenFile, o.Role = "", "r" }, "token file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := good
			test.change(&o)
			err := o.Validate()
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v, want %q", err, test.says)
			}
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Error("the password is in the error")
			}
		})
	}
}
