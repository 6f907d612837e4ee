// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeprocess

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/setting"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const bridgeUID = "7c1f0f0e-0000-4000-8000-000000000001"

// authority stands for the keybroker.
type authority struct {
	*pki.Authority
	away   atomic.Bool
	server *httptest.Server

	mu sync.Mutex
	// noSecrets is the status with which requests for secrets are refused.
	noSecrets int
	refused   int
	revision  string
	secrets   map[string][]byte
}

// hand has the keybroker give out these secrets from now on.
func (k *authority) hand(revision string, secrets map[string][]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.noSecrets, k.revision, k.secrets = 0, revision, secrets
}

// refuse has it refuse to.
func (k *authority) refuse(status int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.noSecrets = status
}

// refusals returns how many requests for secrets it has refused.
func (k *authority) refusals() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.refused
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := must.Value(pki.NewAuthority([32]byte{1}))(t)
	k := &authority{Authority: a, secrets: map[string][]byte{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/certificates", k.issue)
	mux.HandleFunc("GET /v1/secrets", k.deliver)
	k.server = httptest.NewUnstartedServer(mux)
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

func (k *authority) deliver(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.away.Load() || r.Header.Get("Authorization") != "Bearer token-of-the-pod" {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if k.noSecrets != 0 {
		k.refused++
		w.WriteHeader(k.noSecrets)
		_, _ = fmt.Fprint(w, `{"code":"pod_unknown"}`)
		return
	}
	if k.revision != "" && r.Header.Get("If-None-Match") == `"`+k.revision+`"` {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"revision": k.revision, "secrets": k.secrets, "unreadable": []string{}})
}

func (k *authority) certificate(t *testing.T, s pki.Subject) tls.Certificate {
	t.Helper()
	key, csr := must.Values(pki.NewRequest(rand.Reader))(t)
	chain := must.Value(k.Issue(rand.Reader, csr, s, time.Now()))(t)
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
		InsecureSkipVerify: true, // VerifyConnection verifies instead.
		VerifyConnection:   pki.VerifyPeer(roots, pki.BridgeURI(bridgeUID), x509.ExtKeyUsageServerAuth, time.Now),
	}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: wait.Limit}
}

// running is a bridge process.
type running struct {
	public, probes string
	terminationLog string
	terminate      context.CancelFunc // asks the process to end
	closeFront     func()             // ends the time in which it takes new calls after that
	ended          chan error
}

func (r *running) stop() {
	r.terminate()
	r.closeFront()
}

// drainClock is a clock whose time for a drain to begin is over when the test says so.
type drainClock struct {
	clock.System
	over chan time.Time
}

const drainDelay = time.Hour

// After implements clock.Clock.
func (c *drainClock) After(d time.Duration) <-chan time.Time {
	if d == drainDelay {
		return c.over
	}
	return c.System.After(d)
}

func startBridge(t *testing.T, k *authority, upstream string) *running {
	t.Helper()
	return startLoggedBridge(t, k, slog.New(slog.DiscardHandler), bridgeconfig.Server{Name: "one", URL: upstream})
}

func startLoggedBridge(t *testing.T, k *authority, log *slog.Logger, servers ...bridgeconfig.Server) *running {
	t.Helper()
	return startDrainedBridge(t, k, log, shipped().DrainTimeout, servers...)
}

// shipped returns the options without flags.
func shipped() (o Options) {
	o.Declare(setting.New("pod", ""), os.Getenv)
	return o
}

// startDrainedBridge starts a bridge whose drain lasts at most timeout.
func startDrainedBridge(t *testing.T, k *authority, log *slog.Logger, timeout time.Duration, servers ...bridgeconfig.Server) *running {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	must.Succeed(t, os.WriteFile(token, []byte("token-of-the-pod"), 0o600))
	o := shipped()
	o.DrainDelay, o.DrainTimeout = drainDelay, timeout
	// The kubelet makes the file.
	if o.TerminationLog = filepath.Join(t.TempDir(), "termination-log"); os.WriteFile(o.TerminationLog, nil, 0o600) != nil {
		t.Fatal("no file for the termination message")
	}
	o.config = bridgeconfig.Config{UserID: "alice", BridgeUID: bridgeUID, Egress: bridgeconfig.Egress{Unrestricted: true}, Servers: servers}
	u := must.Value(url.Parse(k.server.URL))(t)
	keybroker, err := client.New(client.Config{URL: "https://localhost:" + u.Port(), CAPEM: k.CertificatePEM(), TokenFile: token, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	delay := &drainClock{over: make(chan time.Time)}
	p := &pod{options: o, log: log, clock: delay, source: client.NewSource(keybroker, clock.System{}), secrets: keybroker}
	public, probes := listen(t), listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{
		public: "https://" + public.Addr().String(), probes: "http://" + probes.Addr().String(), terminationLog: o.TerminationLog,
		terminate: cancel, closeFront: sync.OnceFunc(func() { close(delay.over) }), ended: make(chan error, 1),
	}
	go func() { r.ended <- p.serve(ctx, public, probes) }()
	return r
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	return must.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
}

// slowServer is an MCP server that tells when a call began and answers when it
// may.
func slowServer(t *testing.T, began, mayEnd chan struct{}) string {
	t.Helper()
	return answeringServer(t, began, mayEnd, "done")
}

// answeringServer is a slowServer that answers with a text.
func answeringServer(t *testing.T, began, mayEnd chan struct{}, text string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		result := `{"tools":[]}`
		switch m.Method {
		case "server/discover":
			http.Error(w, "what?", http.StatusBadRequest)
			return
		case "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
			return
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"slow","version":"1"}}`
		case "tools/call":
			began <- struct{}{}
			<-mayEnd
			result = `{"content":[{"type":"text","text":"` + text + `"}]}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// ask sends a modern request and returns the response, whose body the caller
// closes.
func ask(t *testing.T, c *http.Client, r *running, method, params string) (*http.Response, error) {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, method, params)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.public+"/u/alice/mcp", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": "slow",
	} {
		req.Header.Set(name, value)
	}
	return c.Do(req)
}

func readyz(t *testing.T, r *running) (int, string) {
	t.Helper()
	return readyzOf(t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, r.probes)
}

func readyzOf(t *testing.T, c *http.Client, base string) (int, string) {
	t.Helper()
	resp := must.Value(c.Get(base + "/readyz"))(t)
	defer resp.Body.Close()
	body := must.Value(io.ReadAll(resp.Body))(t)
	return resp.StatusCode, string(body)
}

func TestTheLifeOfABridge(t *testing.T) {
	t.Parallel()
	k := newAuthority(t)
	k.away.Store(true)
	began, mayEnd := make(chan struct{}), make(chan struct{})
	r := startBridge(t, k, slowServer(t, began, mayEnd))
	defer r.stop()

	if status, body := readyz(t, r); status != http.StatusServiceUnavailable || !strings.Contains(body, "certificate") {
		t.Errorf("without a certificate: %d %s", status, body)
	}
	k.refuse(http.StatusForbidden)
	k.away.Store(false)
	wait.Until(t, "the certificate is there", func() bool {
		status, body := readyz(t, r)
		return status == http.StatusServiceUnavailable && strings.Contains(body, "no secrets yet")
	})
	ingress := k.caller(t, pki.IngressSubject())
	if status, body := readyzOf(t, ingress, r.public); status != http.StatusServiceUnavailable || !strings.Contains(body, "no secrets yet") {
		t.Errorf("the ingress is told %d %s without secrets", status, body)
	}
	k.hand("", map[string][]byte{})
	wait.Until(t, "ready", func() bool { status, _ := readyz(t, r); return status == http.StatusOK })
	if status, body := readyzOf(t, ingress, r.public); status != http.StatusOK {
		t.Errorf("the ingress is told %d %s", status, body)
	}

	if resp, err := k.caller(t, pki.BridgeSubject("another")).Get(r.public + "/health"); err == nil {
		resp.Body.Close()
		t.Error("another bridge was let in")
	}
	wait.Until(t, "healthy", func() bool { return healthOf(t, ingress, r).Status == health.Healthy })

	// The keybroker's absence does not matter any more.
	k.away.Store(true)
	// A client that listens must not hold up the end.
	stream := must.Value(ask(t, ingress, r, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`))(t)
	defer stream.Body.Close()
	called := make(chan string, 1)
	go func() {
		resp, err := ask(t, ingress, r, "tools/call", `"name":"slow"`)
		if err != nil {
			called <- err.Error()
			return
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		called <- fmt.Sprint(string(answer), err)
	}()
	<-began
	wait.Until(t, "the server is noted whose call is in flight", func() bool {
		return terminationOf(t, r) == health.Suspect{Server: "one", Cause: health.SuspectInFlight}
	})
	r.terminate()
	wait.Until(t, "draining", func() bool { status, body := readyz(t, r); return status == 503 && strings.Contains(body, "draining") })
	if status, body := readyzOf(t, ingress, r.public); status != http.StatusServiceUnavailable || !strings.Contains(body, "draining") {
		t.Errorf("at the end the ingress is told %d %s", status, body)
	}
	if late := k.caller(t, pki.IngressSubject()); healthOf(t, late, r).Status != health.Healthy {
		t.Error("a call that the ingress sent before it heard of the end is not served")
	}
	r.closeFront()
	close(mayEnd)
	if answer := <-called; !strings.Contains(answer, `"done"`) {
		t.Errorf("the call in flight: %s", answer)
	}
	select {
	case err := <-r.ended:
		if err != nil {
			t.Errorf("the process ends with %v", err)
		}
	case <-time.After(wait.Limit):
		t.Fatal("the process does not end")
	}
	if noted := terminationOf(t, r); noted != (health.Suspect{}) {
		t.Errorf("a process that was asked to end leaves the note %+v", noted)
	}
}

// TestTheEndWaitsForNoClientThatDoesNotRead has a client read none of an answer.
func TestTheEndWaitsForNoClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	k := newAuthority(t)
	k.hand("", map[string][]byte{})
	began, mayEnd := make(chan struct{}, 1), make(chan struct{})
	close(mayEnd)
	server := answeringServer(t, began, mayEnd, strings.Repeat("x", 12<<20)) // more than the buffers of a connection hold
	r := startDrainedBridge(t, k, slog.New(slog.DiscardHandler), 100*time.Millisecond, bridgeconfig.Server{Name: "one", URL: server})
	defer r.stop()
	wait.Until(t, "ready", func() bool { status, _ := readyz(t, r); return status == http.StatusOK })
	ingress := k.caller(t, pki.IngressSubject())
	wait.Until(t, "healthy", func() bool { return healthOf(t, ingress, r).Status == health.Healthy })
	resp := must.Value(ask(t, ingress, r, "tools/call", `"name":"slow"`))(t)
	defer resp.Body.Close()
	r.stop()
	select {
	case err := <-r.ended:
		must.Succeed(t, err)
	case <-time.After(wait.Limit):
		t.Fatal("the process does not end")
	}
}

// terminationOf returns what the kubelet would report of the process's end.
func terminationOf(t *testing.T, r *running) health.Suspect {
	t.Helper()
	content := must.Value(os.ReadFile(r.terminationLog))(t)
	return health.ParseSuspect(string(content))
}

func healthOf(t *testing.T, c *http.Client, r *running) health.Report {
	t.Helper()
	resp := must.Value(c.Get(r.public + "/health"))(t)
	defer resp.Body.Close()
	var report health.Report
	must.Succeed(t, json.NewDecoder(resp.Body).Decode(&report))
	return report
}
