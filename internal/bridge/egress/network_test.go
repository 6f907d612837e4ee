// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/netguard"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// nameServer is a DNS server of the test that answers the nth question for an
// IPv4 address with the nth of its addresses, and then with the last.
type nameServer struct {
	conn net.PacketConn

	mu      sync.Mutex
	answers []netip.Addr
	asked   int
}

func newNameServer(t *testing.T, answers ...string) *nameServer {
	t.Helper()
	conn := must.Value((&net.ListenConfig{}).ListenPacket(t.Context(), "udp4", "127.0.0.1:0"))(t)
	s := &nameServer{conn: conn}
	for _, a := range answers {
		s.answers = append(s.answers, netip.MustParseAddr(a))
	}
	var serving sync.WaitGroup
	serving.Go(s.serve)
	t.Cleanup(func() {
		_ = conn.Close()
		serving.Wait()
	})
	return s
}

func (s *nameServer) serve() {
	packet := make([]byte, 512)
	for {
		n, from, err := s.conn.ReadFrom(packet)
		if err != nil {
			return
		}
		_, _ = s.conn.WriteTo(s.answer(packet[:n]), from)
	}
}

// answer answers one question (RFC 1035, section 4).
func (s *nameServer) answer(query []byte) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	kind := binary.BigEndian.Uint16(query[end+1:])
	reply := append([]byte(nil), query[:end+5]...)
	copy(reply[2:], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0})
	if kind != 1 {
		return reply
	}
	s.mu.Lock()
	address := s.answers[min(s.asked, len(s.answers)-1)].As4()
	s.asked++
	s.mu.Unlock()
	reply[7] = 1
	return append(append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), address[:]...)
}

// resolver returns the resolver that asks s alone.
func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp4", s.conn.LocalAddr().String())
	}}
}

// loopback is a server that counts the connections to it.
func loopback(t *testing.T, handler http.Handler) (server *httptest.Server, connections *atomic.Int32) {
	t.Helper()
	connections = &atomic.Int32{}
	server = httptest.NewUnstartedServer(handler)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	return server, connections
}

func noProxy(*http.Request) (*url.URL, error) { return nil, nil }

// spellings are ways to write the loopback address and those beside it, and
// names that a resolver says are there.
var spellings = []string{
	"127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "127.255.255.254", "127.0.0.1%25lo", "user@127.0.0.1", "a:b@127.0.0.1",
	"0", "0.0.0.0", "0.0.0.0.", "00000000000", "0x0", "2130706433", "2130706433.", "4294967295", "017700000001", "00017700000001",
	"0x7f000001", "0X7F000001", "0x7f.1", "0x7f.0.0.1", "0x7f.0x0.0x0.0x1", "0177.0.0.1", "0177.0.0.01", "0177.1", "127.0x1", "127.00.00.01",
	"0x7f.0.1", "0127.0.0.1", "127.0.0.1.example", "①②⑦.⓪.⓪.①", "127。0。0。1", "127%2e0%2e0%2e1",
	"localhost", "localhost.", "LOCALHOST", "LocalHost.", "localhost.localdomain", "ip6-localhost", "a.localhost",
	"[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::0001]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]",
	"[::1%25lo]", "[fe80::1%25lo]", "[::ffff:127.0.0.1%25lo]", "[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::127.0.0.1]",
	"[2002:7f00:1::]", "[2001::7f00:1]", "[::ffff:0:127.0.0.1]", "user@[::1]", "[100::1]", "[fc00::1]", "[ff02::1]",
	"10.0.0.1", "169.254.169.254", "192.168.0.1", "172.16.0.1", "100.64.0.1", "metadata.google.internal", "rebound.example", "xn--127-0-0-1.example",
}

// TestNoSpellingReachesLoopback dials each spelling, with a resolver that says of
// every name that it is the loopback address.
func TestNoSpellingReachesLoopback(t *testing.T) {
	server, connections := loopback(t, http.NotFoundHandler())
	_, port := must.Values(net.SplitHostPort(server.Listener.Addr().String()))(t)
	for _, resolver := range []*net.Resolver{newNameServer(t, "127.0.0.1").resolver(), newNameServer(t, "0.0.0.0").resolver()} {
		network := newGuardedTransport(netguard.Rules{}, resolver, noProxy)
		client := clientOf(network)
		for _, host := range spellings {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+host+":"+port+"/mcp", strings.NewReader("{}"))
			if err != nil {
				continue // That is no URL, and no server can be configured with it.
			}
			resp, err := client.Do(r)
			if err == nil {
				_ = resp.Body.Close()
				t.Errorf("%s was reached", host)
			}
		}
		network.CloseIdleConnections()
	}
	if got := connections.Load(); got != 0 {
		t.Errorf("%d of %d spellings reached the loopback address", got, len(spellings))
	}
	free := newGuardedTransport(mustRules(t, bridgeconfig.Egress{Unrestricted: true}), newNameServer(t, "127.0.0.1").resolver(), noProxy)
	defer free.CloseIdleConnections()
	resp, err := clientOf(free).Get("http://any.example:" + port)
	if err != nil {
		t.Fatalf("the test proves nothing: %v", err)
	}
	_ = resp.Body.Close()
	if connections.Load() != 1 {
		t.Error("the test proves nothing: no connection is counted")
	}
}

func mustRules(t *testing.T, e bridgeconfig.Egress) netguard.Rules {
	t.Helper()
	return must.Value(netguard.New(e.Allow, e.Deny, e.Unrestricted))(t)
}

// TestANameThatChangesItsAddressIsJudgedAgain has a name resolve to an address
// that is allowed, and the next time to one that is not.
func TestANameThatChangesItsAddressIsJudgedAgain(t *testing.T) {
	server, connections := loopback(t, http.NotFoundHandler())
	_, port := must.Values(net.SplitHostPort(server.Listener.Addr().String()))(t)
	// All of 127.0.0.0/8 is this machine, so one address of it can stand for a
	// public one.
	network := newGuardedTransport(mustRules(t, bridgeconfig.Egress{Allow: []string{"127.0.0.1/32"}}), newNameServer(t, "127.0.0.1", "127.0.0.2").resolver(), noProxy)
	network.DisableKeepAlives = true
	for i, allowed := range []bool{true, false, false} {
		resp, err := clientOf(network).Get("http://rebound.example:" + port)
		if err == nil {
			_ = resp.Body.Close()
		}
		if allowed != (err == nil) || !allowed && !errors.Is(err, ErrNotPublic) {
			t.Errorf("request %d: %v, want allowed %v", i, err, allowed)
		}
	}
	if got := connections.Load(); got != 1 {
		t.Errorf("%d connections, want 1", got)
	}
}

// TestARedirectIsJudgedToo has a server that is allowed redirect to itself under
// an address that is not. Only such redirects are followed at all.
func TestARedirectIsJudgedToo(t *testing.T) {
	server, connections := loopback(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
	}))
	_, port := must.Values(net.SplitHostPort(server.Listener.Addr().String()))(t)
	network := newGuardedTransport(mustRules(t, bridgeconfig.Egress{Allow: []string{"127.0.0.1/32"}}), newNameServer(t, "127.0.0.1", "127.0.0.2").resolver(), noProxy)
	network.DisableKeepAlives = true
	resp, err := clientOf(network).Get("http://moved.example:" + port)
	if err == nil {
		_ = resp.Body.Close()
	}
	if !errors.Is(err, ErrNotPublic) || connections.Load() != 1 {
		t.Errorf("error = %v after %d connections, want that the redirect was refused", err, connections.Load())
	}
}

func TestAProxyIsDialledAsAnythingElse(t *testing.T) {
	proxy, connections := loopback(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	address := must.Value(url.Parse(proxy.URL))(t)
	through := func(*http.Request) (*url.URL, error) { return address, nil }
	tests := map[string]struct {
		allow []string
		url   string
		want  bool
	}{
		"a proxy that is not allowed":           {nil, "http://mcp.example.com", false},
		"one that is":                           {[]string{"127.0.0.0/8"}, "http://mcp.example.com", true},
		"is not asked for an address":           {[]string{"127.0.0.1/32"}, "http://169.254.169.254/latest", false},
		"is not asked for one in odd spelling":  {[]string{"127.0.0.1/32"}, "http://0xa9fea9fe/latest", false},
		"is asked for an address that is fine":  {[]string{"127.0.0.1/32"}, "http://8.8.8.8/", true},
		"is asked for an address that may be":   {[]string{"127.0.0.0/8", "10.0.0.0/8"}, "http://10.1.2.3/", true},
		"is not asked for the proxy's loopback": {[]string{"127.0.0.1/32"}, "http://localhost:9/", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before := connections.Load()
			network := newGuardedTransport(mustRules(t, bridgeconfig.Egress{Allow: tt.allow}), nil, through)
			defer network.CloseIdleConnections()
			resp, err := clientOf(network).Get(tt.url)
			if err == nil {
				_ = resp.Body.Close()
			}
			if tt.want != (err == nil) || !tt.want && !errors.Is(err, ErrNotPublic) {
				t.Errorf("error = %v, want allowed %v", err, tt.want)
			}
			if asked := connections.Load() > before; asked != tt.want {
				t.Errorf("the proxy was asked: %v", asked)
			}
		})
	}
}

func TestWhichServersAreSentSecrets(t *testing.T) {
	for name, tt := range map[string]struct {
		server bridgeconfig.Server
		want   bool
	}{
		"one without any":               {bridgeconfig.Server{URL: "http://a.example"}, false},
		"one with a header like any":    {bridgeconfig.Server{Headers: []bridgeconfig.Header{{Name: "X-Team", Value: "costs"}}}, false},
		"one with a secret in a header": {bridgeconfig.Server{Headers: []bridgeconfig.Header{{Name: "X-Team", Value: "${KEY}"}}, Secrets: []string{"KEY"}}, true},
		"one with a header of its own":  {bridgeconfig.Server{Headers: []bridgeconfig.Header{{Name: "AUTHORIZATION", Value: "x"}}}, true},
		"one with a login":              {bridgeconfig.Server{OAuth: &bridgeconfig.OAuth{}}, true},
		"one that is granted a secret":  {bridgeconfig.Server{Secrets: []string{"KEY"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := NewNetwork(bridgeconfig.Egress{})
			defer e.Close()
			if _, got := e.Towards(tt.server).(ConfidentialNetwork); got != tt.want {
				t.Errorf("it is: %v, want %v", got, tt.want)
			}
		})
	}
}

// TestAProxyGetsNoSecretsForNames has a name be behind a proxy: it may lead
// anywhere.
func TestAProxyGetsNoSecretsForNames(t *testing.T) {
	proxy, connections := loopback(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	address := must.Value(url.Parse(proxy.URL))(t)
	rules := mustRules(t, bridgeconfig.Egress{Allow: []string{"127.0.0.0/8", "10.0.0.0/8"}})
	network := newPrivateTransport(rules, nil, func(*http.Request) (*url.URL, error) { return address, nil })
	defer network.CloseIdleConnections()
	for target, want := range map[string]error{
		"http://mcp.example.com/": ErrPlain, "http://8.8.8.8/": ErrPlain, "http://192.168.0.1/": ErrNotPublic, "http://10.1.2.3/": nil,
	} {
		resp, err := clientOf(network).Get(target)
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", target, err, want)
		}
	}
	if got := connections.Load(); got != 1 {
		t.Errorf("%d connections, want 1", got)
	}
}

func clientOf(network http.RoundTripper) *http.Client {
	return &http.Client{Transport: network, CheckRedirect: CheckRedirect}
}
