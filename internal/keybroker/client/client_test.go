// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// keybroker starts a server with a certificate of a that answers by handler,
// and returns a client of it and the file of the client's token.
func keybroker(t *testing.T, a *pki.Authority, handler http.HandlerFunc, log io.Writer) (*Client, string) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(newAuthority(t, 1).CertificatePEM())
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{*issued(t, a, pki.ServiceSubject("localhost"), time.Now())},
		ClientAuth:   tls.VerifyClientCertIfGiven, ClientCAs: roots,
	}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	token := filepath.Join(t.TempDir(), "token")
	must.Succeed(t, os.WriteFile(token, []byte("token-1\n"), 0o600))
	c, err := New(Config{
		URL:   strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/",
		CAPEM: newAuthority(t, 1).CertificatePEM(), TokenFile: token,
		Log: slog.New(slog.NewJSONHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, token
}

func TestARequestCarriesTheTokenOfTheMomentAndAFreshKey(t *testing.T) {
	a := newAuthority(t, 1)
	type seen struct{ Method, Path, Token, ContentType string }
	var requests []seen
	c, token := keybroker(t, a, func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, seen{r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type")})
		csr, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		chain, err := a.Issue(rand.Reader, csr, pki.BridgeSubject("uid-1"), time.Now())
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(chain)
	}, io.Discard)

	first := must.Value(c.Certificate(t.Context()))(t)
	must.Succeed(t, os.WriteFile(token, []byte("token-2"), 0o600))
	second := must.Value(c.Certificate(t.Context()))(t)
	if cmp.Equal(first.Leaf.PublicKey, second.Leaf.PublicKey) {
		t.Error("a key is used twice")
	}
	want := []seen{
		{"POST", "/v1/certificates", "Bearer token-1", "application/pkcs10"},
		{"POST", "/v1/certificates", "Bearer token-2", "application/pkcs10"},
	}
	if diff := cmp.Diff(want, requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// answers returns a handler that always answers this.
func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestAnswersThatAreNoCertificateOfOurs(t *testing.T) {
	for _, test := range []struct {
		name    string
		handler http.HandlerFunc
		refusal *Refusal
	}{
		{"a refusal with a code", answers(http.StatusForbidden, `{"code":"not_a_bridge","detail":"x"}`), &Refusal{403, "not_a_bridge", "x"}},
		{"a refusal by something in between", answers(http.StatusBadGateway, "<html>"), &Refusal{502, "", ""}},
		{"a code that is no code", answers(http.StatusForbidden, `{"code":"Bearer token-1"}`), &Refusal{403, "", ""}},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.com/", http.StatusTemporaryRedirect)
		}, &Refusal{307, "", ""}},
		{"nothing", func(http.ResponseWriter, *http.Request) {}, nil},
		{"a certificate for another key", func(w http.ResponseWriter, _ *http.Request) {
			_, csr, err := pki.NewRequest(rand.Reader)
			if err != nil {
				t.Error(err)
			}
			chain, err := newAuthority(t, 1).Issue(rand.Reader, csr, pki.IngressSubject(), time.Now())
			if err != nil {
				t.Error(err)
			}
			_, _ = w.Write(chain)
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, _ := keybroker(t, newAuthority(t, 1), test.handler, io.Discard)
			certificate, err := c.Certificate(t.Context())
			if err == nil || certificate != nil {
				t.Fatalf("certificate %v, error %v", certificate, err)
			}
			var refusal *Refusal
			if errors.As(err, &refusal) != (test.refusal != nil) || !cmp.Equal(refusal, test.refusal) {
				t.Errorf("error %v, want refusal %v", err, test.refusal)
			}
			if strings.Contains(err.Error(), "token-1") || strings.Contains(err.Error(), "PRIVATE") {
				t.Errorf("a secret in the error: %v", err)
			}
		})
	}
}

func TestAKeybrokerOfAnotherAuthorityNeverSeesTheToken(t *testing.T) {
	c, _ := keybroker(t, newAuthority(t, 2), func(http.ResponseWriter, *http.Request) {
		t.Error("the request arrives")
	}, io.Discard)
	if _, err := c.Certificate(t.Context()); err == nil {
		t.Error("no error")
	}
}

func TestATokenThatIsMissingOrEmptyIsAnErrorThatNamesTheFile(t *testing.T) {
	c, token := keybroker(t, newAuthority(t, 1), func(http.ResponseWriter, *http.Request) {
		t.Error("the request arrives")
	}, io.Discard)
	for _, content := range []string{"", "\n"} {
		must.Succeed(t, os.WriteFile(token, []byte(content), 0o600))
		if _, err := c.Certificate(t.Context()); err == nil || !strings.Contains(err.Error(), token) {
			t.Errorf("content %q: error %v", content, err)
		}
	}
	must.Succeed(t, os.Remove(token))
	if _, err := c.Certificate(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: error %v", err)
	}
}

func TestBadConfigurations(t *testing.T) {
	good := Config{URL: "https://keybroker:8443", CAPEM: newAuthority(t, 1).CertificatePEM(), TokenFile: "token", Log: slog.New(slog.DiscardHandler)}
	for _, test := range []struct {
		name   string
		change func(*Config)
		bad    bool
	}{
		{"as it should be", func(*Config) {}, false},
		{"no TLS", func(c *Config) { c.URL = "http://keybroker:8443" }, true},
		{"no host", func(c *Config) { c.URL = "https:///v1" }, true},
		{"no URL", func(c *Config) { c.URL = "" }, true},
		{"a password in the URL", func(c *Config) { c.URL = "https://a:b@keybroker" }, true},
		{"no CA", func(c *Config) { c.CAPEM = nil }, true},
		{"a CA that is none", func(c *Config) { c.CAPEM = []byte("hello") }, true},
		{"no token file", func(c *Config) { c.TokenFile = "" }, true},
		{"no log", func(c *Config) { c.Log = nil }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := good
			test.change(&c)
			if _, err := New(c); (err != nil) != test.bad {
				t.Errorf("error %v, want one: %v", err, test.bad)
			}
		})
	}
}

// TestASourceOutlivesItsKeybroker joins client and source on a real
// connection: away, back, and no secret in the log meanwhile.
func TestASourceOutlivesItsKeybroker(t *testing.T) {
	a := newAuthority(t, 1)
	away := true
	var log logtest.Log
	c, _ := keybroker(t, a, func(w http.ResponseWriter, r *http.Request) {
		csr, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if away {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"code":"cluster_unavailable"}`)
			return
		}
		chain, err := a.Issue(rand.Reader, csr, pki.IngressSubject(), clocktest.Start)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(chain)
	}, &log)
	clock := clocktest.New(0)
	s := NewSource(c, clock)
	ctx := t.Context()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	w := <-clock.Waits
	away = false
	clock.End(w)
	<-s.FirstReady()
	<-clock.Waits
	if !s.Ready() {
		t.Error("not ready")
	}
	if got := log.String(); !strings.Contains(got, "cluster_unavailable") || strings.Contains(got, "token-1") {
		t.Errorf("log: %s", got)
	}
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
