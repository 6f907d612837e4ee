// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"
	"github.com/hostedbridge/hostedbridge/internal/ingress/h1"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
)

// recordingBridges stand for all bridges and note who was sent what.
type recordingBridges struct {
	asked []route.Backend
	sent  [][]byte
}

func (r *recordingBridges) Address(b route.Backend) string { return b.PodIP + ":8443" }

func (r *recordingBridges) Send(_ context.Context, to route.Backend, request h1.Request) (*http.Response, error) {
	r.asked = append(r.asked, to)
	r.sent = append(r.sent, request.AppendTo(nil))
	return &http.Response{
		StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
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
	for _, line := range []string{
		"OPTIONS /u/alice/mcp HTTP/1.1\r\nHost: x\r\nOrigin: https://app.example.com\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization, mcp-param-a, cookie\r\n\r\n",
		"OPTIONS /u/alice/mcp HTTP/1.1\r\nHost: x\r\nOrigin: https://app.example.com.evil.example\r\nAccess-Control-Request-Method: POST\r\n\r\n",
		"GET /u/alice/mcp HTTP/1.1\r\nHost: x\r\nOrigin: https://app.example.com\r\nAuthorization: Bearer KEY\r\nX-Forwarded-For: 6.6.6.6, [::1]:1\r\n\r\n",
		"GET /u/alice/mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer KEY\r\nTraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nTracestate: a=b\r\nMcp_Session_Id: x\r\n\r\n",
	} {
		f.Add([]byte(line))
	}
	secrets := newFakeSecrets()
	s, bridges, alice := fuzzServer(f, secrets)
	f.Fuzz(func(t *testing.T, message []byte) {
		bridges.asked, bridges.sent = nil, nil
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
			s.ServeHTTP(w, r.WithContext(t.Context()))
		}()
		if len(bridges.sent) > 1 {
			t.Errorf("%d requests went out for one", len(bridges.sent))
		}
		for i, out := range bridges.sent {
			checkOutbound(t, bridges.asked[i], out)
		}
		for _, asked := range secrets.asked {
			if asked.of != aliceRef {
				t.Errorf("the secrets of %+v were asked for", asked.of)
			}
			if asked.name != "" && !secretNames.MatchString(asked.name) || len(asked.name) > 64 {
				t.Errorf("the secret %q was asked for", asked.name)
			}
		}
		checkCORS(t, r, w.Header())
		if w.Header().Get("Set-Cookie") != "" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("answer's header = %v", w.Header())
		}
	})
}

// checkOutbound reads what went out as a bridge does.
func checkOutbound(t *testing.T, to route.Backend, sent []byte) {
	t.Helper()
	from := bufio.NewReader(bytes.NewReader(sent))
	out, err := http.ReadRequest(from)
	if err != nil {
		t.Fatalf("sent %q: %v", sent, err)
	}
	if _, err := io.Copy(io.Discard, out.Body); err != nil {
		t.Fatalf("sent %q: read the body: %v", sent, err)
	}
	if rest, _ := io.ReadAll(from); len(rest) > 0 {
		t.Errorf("%q came behind the request", rest)
	}
	if to.BridgeUID != "uid-alice" || out.RequestURI != "/u/alice/mcp" || out.Host != hosts[0]+":8443" {
		t.Errorf("went to %s, %s, Host %s", to.BridgeUID, out.RequestURI, out.Host)
	}
	for name, values := range out.Header {
		if !bridgeclient.Forwarded(name) && name != "X-Request-Id" && name != audit.TrailerName && name != "Content-Length" {
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

// checkCORS: only the configured origin is let in, and by its name alone.
func checkCORS(t *testing.T, r *http.Request, answer http.Header) {
	t.Helper()
	allowed := answer["Access-Control-Allow-Origin"]
	if len(allowed) > 0 && (len(allowed) > 1 || !strings.EqualFold(allowed[0], app) || allowed[0] != r.Header.Get("Origin")) {
		t.Errorf("origin %q is answered with %q", r.Header["Origin"], allowed)
	}
	if _, credentials := answer["Access-Control-Allow-Credentials"]; credentials || len(allowed) == 0 && answer.Get("Access-Control-Allow-Methods") != "" {
		t.Errorf("answer's header = %v", answer)
	}
}

// fuzzServer is an ingress without network, of alice and bob.
func fuzzServer(t testing.TB, secrets management.UserSecrets) (*Server, *recordingBridges, string) {
	t.Helper()
	w := &world{t: t, routes: newFakeRoutes(), registry: prometheus.NewRegistry()}
	alice := w.addUser("alice")
	w.addUser("bob")
	w.setPod("alice", "alice-1", hosts[0])
	w.setPod("bob", "bob-1", hosts[1])
	config := defaults()
	config.AllowedOrigins = []string{app}
	config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	s, err := New(config, Deps{
		Routes: w.routes, Bridges: bridgeclient.New(w, 8443), Activity: &fakeActivity{}, Features: featuresOf(w, secrets), Quotas: w.quotas(), Tiers: testTiers, Audit: &fakeAudit{}, Hasher: testHasher(t),
		AdminKey: func() []byte { return []byte(adminKey) },
		Metrics:  prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	bridges := &recordingBridges{}
	s.router.proxy.Bridges = bridges
	return s, bridges, alice
}

// featuresOf are those of an ingress without network.
func featuresOf(w *world, secrets management.UserSecrets) []httpapi.Feature {
	return []httpapi.Feature{
		management.Health(fakeReports{}, nothingReported), management.Secrets(secrets),
		management.Admin(management.AdminOptions{
			Routes: w.routes, Keys: &keys.Keys{Store: newFakeKeys(), Routes: w.routes}, AuditIndex: management.NoAuditIndex{}, Inventory: (&fakeInventory{}).get,
		}),
	}
}
