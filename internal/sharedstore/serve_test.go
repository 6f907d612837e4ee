// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sharedstore

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/answerstore"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/audit/index"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/pki/pkitest"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	quotastore "github.com/hostedbridge/hostedbridge/internal/quota/quotastore"
	"github.com/hostedbridge/hostedbridge/internal/telemetry/metricstest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// world is an installation's store and the authority of all certificates.
type world struct {
	authority *pki.Authority
	options   Options
	// address is that of the calls of ingresses, and bundles that of bundles.
	address, bundles string
	stop             func()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	authority := must.Value(pki.NewAuthority([32]byte{1}))(t)
	broker := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		csr, _ := io.ReadAll(r.Body)
		chain, err := authority.Issue(rand.Reader, csr, pki.StoreSubject(), time.Now())
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(chain)
	}))
	broker.TLS = &tls.Config{Certificates: []tls.Certificate{pkitest.Certificate(t, authority, pki.ServiceSubject("localhost"))}, MinVersion: tls.VersionTLS13}
	broker.StartTLS()
	t.Cleanup(broker.Close)
	token := filepath.Join(t.TempDir(), "token")
	must.Succeed(t, os.WriteFile(token, []byte("token"), 0o600))
	return &world{authority: authority, options: Options{
		Listen: "127.0.0.1:0", ProbeListen: "127.0.0.1:0", BundlesListen: "127.0.0.1:0", BundlesDirectory: t.TempDir(),
		BundlesMaxBytes: 1 << 20, BundleMaxBytes: 1 << 20, Namespace: "system", TokenFile: token, Directory: t.TempDir(), LogLevel: "info",
		KeybrokerURL: strings.Replace(broker.URL, "127.0.0.1", "localhost", 1), KeybrokerCA: string(authority.CertificatePEM()),
	}}
}

// start runs a store until stop is called or the test ends.
func (w *world) start(t *testing.T) {
	t.Helper()
	s := must.Value(newServer(t.Context(), &w.options, slog.New(slog.DiscardHandler)))(t)
	ctx, cancel := context.WithCancel(t.Context())
	service := must.Value(s.listen(ctx, &w.options))(t)
	w.address, w.bundles = service.Public[0].Listener.Addr().String(), service.Public[1].Listener.Addr().String()
	ended := make(chan error, 1)
	go func() { ended <- s.serve(ctx, service) }()
	w.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		ended <- nil
	}
	t.Cleanup(w.stop)
}

// client returns one with the certificate of subject, which takes no server but
// the one with that name.
func (w *world) client(t *testing.T, subject pki.Subject, server string) *jsoncall.Client {
	t.Helper()
	c := must.Value(jsoncall.New("https://"+w.address, w.credentials(t, subject, server)))(t)
	t.Cleanup(c.Close)
	return c
}

// credentials are those of client.
func (w *world) credentials(t *testing.T, subject pki.Subject, server string) func() *tls.Config {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(w.root(t))
	uri := pki.StoreURI()
	uri.Path = server
	own := pkitest.Certificate(t, w.authority, subject)
	return func() *tls.Config {
		return &tls.Config{
			MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own}, InsecureSkipVerify: true,
			VerifyConnection: pki.VerifyPeer(roots, uri, x509.ExtKeyUsageServerAuth, time.Now),
		}
	}
}

func (w *world) root(t *testing.T) *x509.Certificate {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(w.options.KeybrokerCA)) {
		t.Fatal("no certificate")
	}
	chains := must.Value(pkitest.Certificate(t, w.authority, pki.StoreSubject()).Leaf.Verify(x509.VerifyOptions{Roots: roots}))(t)
	return chains[0][len(chains[0])-1]
}

// startIngress runs what an ingress has of the store, until the test ends.
func (w *world) startIngress(t *testing.T) (*quotastore.Store, *index.Index) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	counts, err := quotastore.New(quotastore.Options{
		Replicas: 2, Remote: w.client(t, pki.IngressSubject(), "/store"), RemoteTimeout: wait.Limit, Clock: clock.System{}, Metrics: prometheus.NewRegistry(), Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	entries := index.New(index.NewRemote(w.client(t, pki.IngressSubject(), "/store")), index.Config{Keep: func(string) time.Duration { return time.Hour }, Log: log})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- counts.Run(ctx) }()
	go func() { ended <- entries.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	// The whole tier is given by an ingress that reaches the store.
	wait.Until(t, "the counts", func() bool { return counts.Known(t.Context(), "alice", sixADay).Replicas == 1 })
	return counts, entries
}

var sixADay = quota.Tier{PerMinute: 6, PerHour: 6, PerDay: 6, Burst: 6, ConcurrentCalls: 6, Streams: 1}

// TestKeptAnswersAreForIngressesAloneAndOutliveTheProcess asks with the certificate of a bridge
// and with that of an ingress, before and after a restart.
func TestKeptAnswersAreForIngressesAloneAndOutliveTheProcess(t *testing.T) {
	w := newWorld(t)
	w.start(t)
	kept := func(subject pki.Subject) answerstore.Client {
		return answerstore.Client{Calls: w.client(t, subject, "/store")}
	}
	ingress := kept(pki.IngressSubject())
	put := func() error { return ingress.Put(t.Context(), "uid-alice", "tools", []byte("sealed")) }
	wait.Until(t, "the store's certificate", func() bool { return put() == nil })
	for _, subject := range []pki.Subject{pki.BridgeSubject("uid-alice"), pki.BundlerSubject()} {
		if got, err := kept(subject).Get(t.Context(), "uid-alice", "tools"); err == nil {
			t.Errorf("another process is given %q", got)
		}
	}
	w.stop()
	w.start(t)
	ingress = kept(pki.IngressSubject())
	wait.Until(t, "the answer after a restart", func() bool {
		got, err := ingress.Get(t.Context(), "uid-alice", "tools")
		return err == nil && string(got) == "sealed"
	})
}

// found returns how many entries an ingress finds for alice.
func found(t *testing.T, x *index.Index) int {
	t.Helper()
	page, err := x.Search(t.Context(), audit.Query{UserID: "alice", Limit: 10})
	if err == nil && !page.Shared {
		t.Error("the answer says that it is of one replica")
	}
	if err != nil {
		return -1
	}
	return len(page.Entries)
}

// TestAStoreIsOneForAllIngressesAndOutlivesItsProcess has two ingresses, and two
// more after a restart.
func TestAStoreIsOneForAllIngressesAndOutlivesItsProcess(t *testing.T) {
	w := newWorld(t)
	w.start(t)
	countsOfA, entriesOfA := w.startIngress(t)
	countsOfB, entriesOfB := w.startIngress(t)
	for i := range 6 {
		counts := []*quotastore.Store{countsOfA, countsOfB}[i%2]
		if v := counts.Take(t.Context(), "alice", sixADay, quota.Want{Requests: 1}); !v.Allowed() || v.Left[2].Remaining != int64(5-i) {
			t.Fatalf("call %d: %+v", i, v)
		}
	}
	for _, counts := range []*quotastore.Store{countsOfA, countsOfB} {
		if v := counts.Take(t.Context(), "alice", sixADay, quota.Want{Requests: 1}); v.Refused != quota.Day {
			t.Errorf("a seventh call: %v", v.Refused)
		}
	}
	entriesOfA.Follow([]audit.Record{{Head: audit.Head{Writer: "w", Seq: 1}, Entry: audit.Entry{
		ID: "one", Time: time.Now(), UserID: "alice", Principal: audit.Principal{Kind: audit.KindUserKey},
		ReportedBy: audit.Ingress, Call: audit.Call{Method: methods.CallTool, Status: audit.Success},
	}}})
	wait.Until(t, "the entry", func() bool { return found(t, entriesOfA) == 1 && found(t, entriesOfB) == 1 })

	w.stop()
	w.start(t)
	counts, entries := w.startIngress(t)
	if v := counts.Take(t.Context(), "alice", sixADay, quota.Want{Requests: 1}); v.Refused != quota.Day {
		t.Errorf("a call after a restart: %v", v.Refused)
	}
	wait.Until(t, "the index", func() bool { return found(t, entries) >= 0 })
	if n := found(t, entries); n != 1 {
		t.Errorf("after a restart the index has %d entries", n)
	}
}

func TestAStoreAndItsIngressesKnowEachOther(t *testing.T) {
	w := newWorld(t)
	w.start(t)
	w.startIngress(t) // It has its certificate.
	for _, test := range []struct {
		name    string
		subject pki.Subject
		server  string
		ok      bool
	}{
		{"an ingress", pki.IngressSubject(), "/store", true},
		{"an ingress that means another server", pki.IngressSubject(), "/bridge/uid-1", false},
		{"a bridge", pki.BridgeSubject("uid-1"), "/store", false},
		{"another store", pki.StoreSubject(), "/store", false},
		{"the ingress's name in a server's certificate", pki.Subject{URI: pki.IngressURI(), Usage: x509.ExtKeyUsageServerAuth}, "/store", false},
	} {
		err := w.client(t, test.subject, test.server).Call(t.Context(), "/v1/quota/leave", "nobody", &jsoncall.Nothing{})
		if (err == nil) != test.ok {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestBridgesReachTheBundlesAndNothingElseOfAStore has a bridge, a bundler and the ingress at both
// addresses.
func TestBridgesReachTheBundlesAndNothingElseOfAStore(t *testing.T) {
	w := newWorld(t)
	w.start(t)
	w.startIngress(t) // It has its certificate.
	calls := w.address
	for _, test := range []struct {
		name, address, want string
		subject             pki.Subject
	}{
		{"a bridge at the calls", calls, "tls", pki.BridgeSubject("uid-1")},
		{"a bundler at the calls", calls, "tls", pki.BundlerSubject()},
		{"a bridge at the bundles", w.bundles, "404", pki.BridgeSubject("uid-1")},
		{"a bundler at the bundles", w.bundles, "404", pki.BundlerSubject()},
		{"the ingress at the bundles", w.bundles, "404", pki.IngressSubject()},
	} {
		w.address = test.address
		err := w.client(t, test.subject, "/store").Call(t.Context(), "/v1/quota/leave", "nobody", &jsoncall.Nothing{})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	bundles := must.Value(bundle.NewClient("https://"+w.bundles, w.credentials(t, pki.IngressSubject(), "/store")))(t)
	t.Cleanup(bundles.Close)
	if list := must.Value(bundles.List(t.Context()))(t); list.Limit != 1<<20 || list.Bytes != 0 {
		t.Errorf("the list is %+v", list)
	}
}

func TestTheStoresOptions(t *testing.T) {
	ca := func(string) string { return "pem" }
	o, err := parse([]string{"--directory=/data", "--namespace=system"}, ca, io.Discard)
	if err != nil || o.KeybrokerURL != "https://hosted-bridge-keybroker.system.svc:8443" || o.KeybrokerCA != "pem" {
		t.Errorf("%+v, %v", o, err)
	}
	for want, args := range map[string][]string{
		"--directory":        {},
		"--listen":           {"--directory=/data", "--listen=8443"},
		"--keybroker-url":    {"--directory=/data", "--keybroker-url=http://keybroker"},
		"--bundles-listen":   {"--directory=/data", "--bundles-listen=8444"},
		"--bundle-max-bytes": {"--directory=/data", "--bundle-max-bytes=0"},
		"not expected":       {"--directory=/data", "more"},
	} {
		if _, err := parse(args, ca, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
	if _, err := parse([]string{"--directory=/data"}, func(string) string { return "" }, io.Discard); err == nil || !strings.Contains(err.Error(), envKeybrokerCA) {
		t.Errorf("without a certificate: %v", err)
	}
}

func TestTheStoresMetricsAreDocumented(t *testing.T) {
	reg := metricstest.New()
	if _, err := register(reg, func() time.Time { return time.Time{} }, http.NotFoundHandler()); err != nil {
		t.Fatal(err)
	}
	metricstest.Documented(t, "store", reg.Metrics())
}
