// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// recordingTransport stands for all bridges and notes who was asked what.
type recordingTransport struct{ requests []*http.Request }

func (r *recordingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
		_ = req.Body.Close()
	}
	r.requests = append(r.requests, req)
	return &http.Response{
		StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}, "Set-Cookie": {"a=b"}},
		Body:   io.NopCloser(strings.NewReader("answer")),
	}, nil
}

// FuzzHandler sends any bytes that net/http takes for a request through the
// whole handler. Whatever comes in, only the key's owner's bridge is asked, on
// that user's path, with listed headers.
func FuzzHandler(f *testing.F) {
	f.Add([]byte("POST /u/alice/mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer KEY\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"))
	f.Add([]byte("GET /u/bob/mcp?x HTTP/1.1\r\nHost: localhost\r\nX-API-Key: KEY\r\nMcp-Param-A: b\r\nConnection: Mcp-Session-Id\r\n\r\n"))
	f.Add([]byte("DELETE http://x/u/alice/mcp HTTP/1.0\r\nAuthorization: bearer KEY\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n"))
	f.Add([]byte("GET /u/alice/health HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer KEY\r\nOrigin: null\r\n\r\n"))
	for _, target := range hostileTargets {
		f.Add([]byte("POST " + target + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer KEY\r\nContent-Type: application/json\r\n\r\n"))
	}
	for _, line := range []string{"GET /u/alice/secrets", "GET /u/alice/secrets/TOKEN", "PUT /u/alice/secrets/a.json", "DELETE /u/alice/secrets/TOKEN", "PUT /u/bob/secrets/TOKEN"} {
		f.Add([]byte(line + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer KEY\r\nContent-Length: 5\r\n\r\nvalue"))
		f.Add([]byte(line + " HTTP/1.1\r\nHost: x\r\nX-API-Key: KEY\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nvalue\r\n0\r\nA: b\r\n\r\n"))
		f.Add([]byte(line + " HTTP/1.1\r\nHost: x\r\nX-API-Key: KEY\r\n\r\n"))
	}
	secrets := newFakeSecrets()
	s, transport, alice := fuzzServer(f, secrets)
	f.Fuzz(func(t *testing.T, message []byte) {
		transport.requests = nil
		secrets.forget()
		message = bytes.ReplaceAll(message, []byte("KEY"), []byte(alice))
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(message)))
		if err != nil {
			return
		}
		w := httptest.NewRecorder()
		func() {
			defer func() {
				if v := recover(); v != nil && v != any(http.ErrAbortHandler) {
					panic(v)
				}
			}()
			s.public.ServeHTTP(w, r.WithContext(t.Context()))
		}()
		if len(transport.requests) > 1 {
			t.Errorf("%d requests went out for one", len(transport.requests))
		}
		for _, out := range transport.requests {
			checkOutbound(t, out)
		}
		for _, asked := range secrets.asked {
			if asked.of != aliceRef {
				t.Errorf("the secrets of %+v were asked for", asked.of)
			}
			if asked.name != "" && !secretNames.MatchString(asked.name) || len(asked.name) > 64 {
				t.Errorf("the secret %q was asked for", asked.name)
			}
		}
		if w.Header().Get("Set-Cookie") != "" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("answer's header = %v", w.Header())
		}
	})
}

func checkOutbound(t *testing.T, out *http.Request) {
	t.Helper()
	if got := out.URL.String(); got != "https://uid-alice.uid-alice-1/u/alice/mcp" || out.Host != hosts[0]+":8443" {
		t.Errorf("went to %s, Host %s", got, out.Host)
	}
	for name, values := range out.Header {
		_, known := requestHeaders[name]
		if !known && !isParam(name) && name != "X-Request-Id" {
			t.Errorf("header %q went out", name)
		}
		// A caller may put the key wherever it likes, but no header that
		// carries credentials goes on.
		if name == "Authorization" || name == "X-Api-Key" || name == "Cookie" {
			t.Errorf("%s = %q went out", name, values)
		}
	}
	if len(out.Trailer)+len(out.TransferEncoding) > 0 {
		t.Errorf("trailer %v, transfer encoding %v", out.Trailer, out.TransferEncoding)
	}
}

// fuzzServer is an ingress without network, of alice and bob.
func fuzzServer(t testing.TB, secrets UserSecrets) (*Server, *recordingTransport, string) {
	t.Helper()
	w := &world{t: t, routes: newFakeRoutes()}
	alice := w.addUser("alice")
	w.addUser("bob")
	w.setPod("alice", "alice-1", hosts[0])
	w.setPod("bob", "bob-1", hosts[1])
	s, err := New(defaults(), Deps{
		Routes: w.routes, Bridges: NewBridges(w, 8443), Reports: fakeReports{}, Activity: &fakeActivity{}, Secrets: secrets, Audit: &fakeAudit{}, Hasher: testHasher(t),
		Ready: func() bool { return true }, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	transport := &recordingTransport{}
	s.proxy.Transport.(*delivery).transport = transport
	return s, transport, alice
}
