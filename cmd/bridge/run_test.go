// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
	"github.com/hostedbridge/hostedbridge/internal/bridge/health"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/pki"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const bridgeUID = "7c1f0f0e-0000-4000-8000-000000000001"

// authority stands for the keybroker.
type authority struct {
	*pki.Authority
	away   atomic.Bool
	server *httptest.Server
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a, err := pki.NewAuthority([32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	k := &authority{Authority: a}
	k.server = httptest.NewUnstartedServer(http.HandlerFunc(k.issue))
	k.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	k.server.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{k.certificate(t, pki.ServiceSubject("localhost"))}}
	k.server.StartTLS()
	t.Cleanup(k.server.Close)
	return k
}

func (k *authority) issue(w http.ResponseWriter, r *http.Request) {
	csr, err := io.ReadAll(r.Body)
	if err != nil || k.away.Load() || r.Header.Get("Authorization") != "Bearer token-of-the-pod" {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	chain, err := k.Issue(rand.Reader, csr, pki.BridgeSubject(bridgeUID), time.Now())
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/pem-certificate-chain")
	_, _ = w.Write(chain)
}

func (k *authority) certificate(t *testing.T, s pki.Subject) tls.Certificate {
	t.Helper()
	key, csr, err := pki.NewRequest(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := k.Issue(rand.Reader, csr, s, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c := tls.Certificate{PrivateKey: key}
	for block, rest := pem.Decode(chain); block != nil; block, rest = pem.Decode(rest) {
		c.Certificate = append(c.Certificate, block.Bytes)
	}
	return c
}

// caller returns a client of the bridge with a certificate of this subject.
func (k *authority) caller(t *testing.T, s pki.Subject) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(k.CertificatePEM())
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		MinVersion:         tls.VersionTLS13,
		Certificates:       []tls.Certificate{k.certificate(t, s)},
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection verifies instead.
		VerifyConnection:   pki.VerifyPeer(roots, pki.BridgeURI(bridgeUID), x509.ExtKeyUsageServerAuth, time.Now),
	}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// running is a bridge process.
type running struct {
	public, probes string
	stop           context.CancelFunc
	ended          chan error
}

func startBridge(t *testing.T, k *authority, upstream string) *running {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("token-of-the-pod"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Defaults()
	o.config = config.Config{UserID: "alice", BridgeUID: bridgeUID, Servers: []config.Server{{Name: "one", URL: upstream}}}
	u, err := url.Parse(k.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	keybroker, err := client.New(client.Config{URL: "https://localhost:" + u.Port(), CAPEM: k.CertificatePEM(), TokenFile: token, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	p := &process{options: o, log: log, source: client.NewSource(keybroker, client.SystemClock{})}
	public, probes := listen(t), listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{public: "https://" + public.Addr().String(), probes: "http://" + probes.Addr().String(), stop: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- p.serve(ctx, public, probes) }()
	return r
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// slowServer has a tool that tells when it began and ends when it may.
func slowServer(t *testing.T, began, mayEnd chan struct{}) string {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "slow", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began <- struct{}{}
		<-mayEnd
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(server.Close)
	return server.URL
}

func readyz(t *testing.T, r *running) (int, string) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get(r.probes + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestTheLifeOfABridge(t *testing.T) {
	k := newAuthority(t)
	k.away.Store(true)
	began, mayEnd := make(chan struct{}), make(chan struct{})
	r := startBridge(t, k, slowServer(t, began, mayEnd))
	defer r.stop()

	if status, body := readyz(t, r); status != http.StatusServiceUnavailable || !strings.Contains(body, "certificate") {
		t.Errorf("without a certificate: %d %s", status, body)
	}
	k.away.Store(false)
	waitFor(t, "ready", func() bool { status, _ := readyz(t, r); return status == http.StatusOK })

	ingress := k.caller(t, pki.IngressSubject())
	if resp, err := k.caller(t, pki.BridgeSubject("another")).Get(r.public + "/health"); err == nil {
		resp.Body.Close()
		t.Error("another bridge was let in")
	}
	waitFor(t, "healthy", func() bool { return healthOf(t, ingress, r).Status == health.Healthy })

	// The keybroker's absence does not matter any more.
	k.away.Store(true)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: r.public + "/u/alice/mcp", HTTPClient: &http.Client{Transport: ingress.Transport}},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	// Its stream stays open and must not hold up the end.
	defer session.Close()
	called := make(chan error, 1)
	go func() {
		_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "slow"})
		called <- err
	}()
	<-began
	r.stop()
	waitFor(t, "draining", func() bool { status, body := readyz(t, r); return status == 503 && strings.Contains(body, "draining") })
	close(mayEnd)
	if err := <-called; err != nil {
		t.Errorf("the call in flight: %v", err)
	}
	select {
	case err := <-r.ended:
		if err != nil {
			t.Errorf("the process ends with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the process does not end")
	}
}

func healthOf(t *testing.T, c *http.Client, r *running) health.Report {
	t.Helper()
	resp, err := c.Get(r.public + "/health")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var report health.Report
	if err := json.NewDecoder(resp.Body).Decode(&report); err != nil {
		t.Fatal(err)
	}
	return report
}
