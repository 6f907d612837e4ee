// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/graceful"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/pki/pkitest"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/quota/quotastore"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// hosts are the loopback addresses on which bridges listen, all on one port,
// as pods do on theirs. The first of all is not among them: connections begin
// there, and one could have taken the port of a bridge that starts again.
var hosts = []string{"127.0.0.2", "127.0.0.3", "127.0.0.4"}

// adminKey is the key of every world's administrators.
const adminKey = "an-admin-key-of-tests"

// world is an ingress with bridges behind it.
type world struct {
	t         testing.TB
	authority *pki.Authority
	roots     *x509.CertPool
	// listenAt and dialContext are of the network on which everything of the world is.
	listenAt    func(addr string) (net.Listener, error)
	dialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	listeners   map[string]net.Listener
	port        int
	routes      *fakeRoutes
	reports     fakeReports
	// lastReport is what is known of bridges that do not run.
	lastReport management.LastReport
	servers    map[string]*http.Server
	activity   *fakeActivity
	secrets    *fakeSecrets
	keeper     keeper // of secrets: the fake one, unless a test has another
	audit      *fakeAudit
	keys       *fakeKeys
	index      *fakeIndex
	inventory  *fakeInventory
	programs   *fakePrograms
	// installed is what the API serves of them.
	installed *management.Programs
	// away keeps the API server from answering, and changing choices.
	away      atomic.Bool
	users     fakeUsers
	logs      *lockedBuffer
	registry  *prometheus.Registry
	readiness *graceful.Readiness
	ways      *bridgeclient.Client
	tiers     atomic.Pointer[quota.Tiers]
	adminKey  []byte
	server    *Server
	addr      string
	probeAddr string
	stop      context.CancelFunc
	ended     chan error
	client    *http.Client

	mu      sync.Mutex
	bridges []*v1alpha1.HostedBridge
	pods    []*corev1.Pod
	persons []*v1alpha1.BridgePerson
}

// defaults is the configuration of worlds that do not ask for another.
func defaults() Config {
	return Config{Wait: wait.Limit, MaxHeldPerUser: 4, MaxHeld: 8, MaxBodyMemory: 16 << 20, LegacySSE: true}
}

// placed has for each test whether it is in a bubble.
var placed sync.Map

// besideOthers has the test run beside others, once for all of its worlds, unless
// it called alone or is in a bubble.
func besideOthers(t testing.TB) {
	if test, ok := t.(*testing.T); ok && place(t, false) {
		test.Parallel()
	}
}

// alone keeps worlds from having their test run beside others. It is for tests that
// measure the process, fill it, or change what worlds have in common.
func alone(t testing.TB) { place(t, false) }

// place notes where a test runs, and reports whether that was not known.
func place(t testing.TB, bubble bool) bool {
	_, known := placed.LoadOrStore(t, bubble)
	if !known {
		t.Cleanup(func() { placed.Delete(t) })
	}
	return !known
}

// newWorld returns a world without users; drain may set how it ends.
func newWorld(t testing.TB, config Config, drain ...func(*graceful.Service)) *world {
	t.Helper()
	return newWorldWith(t, config, func(*Deps) {}, drain...)
}

// newWorldWith is newWorld with other dependencies.
func newWorldWith(t testing.TB, config Config, change func(*Deps), drain ...func(*graceful.Service)) *world {
	t.Helper()
	besideOthers(t)
	w := &world{
		t: t, adminKey: []byte(adminKey), routes: newFakeRoutes(), reports: fakeReports{}, lastReport: nothingReported, servers: map[string]*http.Server{}, activity: &fakeActivity{},
		secrets: newFakeSecrets(), audit: &fakeAudit{}, keys: newFakeKeys(), index: &fakeIndex{}, inventory: &fakeInventory{}, programs: newFakePrograms(), logs: &lockedBuffer{}, registry: prometheus.NewRegistry(), ended: make(chan error, 1),
	}
	w.setTiers(testTiers())
	w.keeper.UserSecrets = w.secrets
	w.readiness = &graceful.Readiness{Check: func() bool { return w.routes.Current() != nil }}
	var err error
	if w.authority, err = pki.NewAuthority([32]byte{1}); err != nil {
		t.Fatal(err)
	}
	w.roots = x509.NewCertPool()
	w.roots.AppendCertsFromPEM(w.authority.CertificatePEM())
	w.connect()
	deps := Deps{
		Routes: w.routes, Bridges: w.ways, Activity: w.activity,
		Quotas: w.quotas(), Tiers: func() quota.Tiers { return *w.tiers.Load() }, Audit: w.audit, Hasher: testHasher(t), AdminKey: func() []byte { return w.adminKey },
		Metrics: w.registry,
		Log:     slog.New(slog.NewJSONHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	w.programs.world = w
	w.installed = w.programs.api()
	deps.Features = []httpapi.Feature{
		w.installed.Feature(),
		management.Health(w.reports, func(ctx context.Context, b route.Backend) health.Report { return w.lastReport(ctx, b) }), management.Secrets(&w.keeper),
		management.Admin(management.AdminOptions{Routes: w.routes, Keys: w.userKeys(), Users: &w.users, Wake: w.activity.Wake, AuditIndex: w.index, Inventory: w.inventory.get}),
		management.NewSelf(w.selfOptions(deps.Quotas)).Feature(),
		fakeCatalog{}.feature(),
	}
	w.users.world = w
	change(&deps)
	limitRates(deps.Features, config)
	if w.server, err = New(config, deps); err != nil {
		t.Fatal(err)
	}
	service := &graceful.Service{DrainTimeout: wait.Limit}
	for _, d := range drain {
		d(service)
	}
	w.start(service)
	w.client = &http.Client{Transport: &http.Transport{DisableCompression: true, DialContext: w.dialContext}, Timeout: wait.Limit}
	t.Cleanup(w.close)
	w.publish()
	return w
}

// keeper is what keeps secrets.
type keeper struct{ management.UserSecrets }

// limitRates gives features the rates of a configuration.
func limitRates(features []httpapi.Feature, config Config) {
	for i := range features {
		switch f := &features[i]; f.Name {
		case routeCatalog:
			f.SourceRate, f.TooManyFromSource = config.CatalogReads, problems.TooManyReads
			f.HolderRate, f.TooManyOfHolder = config.CatalogWrites, problems.TooManyWrites
		case routeLogin:
			f.SourceRate, f.TooManyFromSource = config.LoginRequests, problems.TooManyLogins
		}
	}
}

// testTier is that of users who are not to meet its limits.
const testTier = "test"

// maxBody is the largest body in it.
const maxBody = quota.DefaultBody

func testTiers() quota.Tiers {
	const many = 1 << 20
	return quota.Tiers{testTier: {PerMinute: many, PerHour: many, PerDay: many, Burst: many, ConcurrentCalls: many, Streams: many}}
}

// setTiers changes the installation's tiers.
func (w *world) setTiers(t quota.Tiers) { w.tiers.Store(&t) }

// sharedQuotas is the URL of the store in which worlds count together, empty if
// each counts for itself.
var sharedQuotas string

// ingresses is how many worlds divide quotas while they do not count together.
var ingresses = 1

// quotas returns a store of this process, or one that it shares.
func (w *world) quotas() limits.Counts {
	o := quotastore.Options{Replicas: ingresses, Clock: clock.System{}, Metrics: w.registry, Log: slog.New(slog.DiscardHandler)}
	if sharedQuotas != "" {
		o.Redis = &quotastore.Redis{URL: sharedQuotas, Timeout: wait.Limit}
	}
	s, err := quotastore.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	if o.Redis == nil {
		return s
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	w.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
	return s
}

// start serves as cmd does.
func (w *world) start(service *graceful.Service) {
	public, probes := w.listen("127.0.0.1:0"), w.listen("127.0.0.1:0")
	w.addr, w.probeAddr = public.Addr().String(), probes.Addr().String()
	server := w.server.HTTPServer()
	server.ReadHeaderTimeout = wait.Limit // A busy machine may take longer than clients do.
	service.Public = []graceful.Endpoint{{Server: server, Listener: public, OnDrain: w.server.Drain, Wait: w.server.Wait}}
	service.Probes = graceful.Endpoint{Server: graceful.NewProbes(w.readiness, w.registry, w.server.observer.log), Listener: probes}
	service.Readiness, service.Log = w.readiness, w.server.observer.log
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	go func() { w.ended <- service.Serve(ctx) }()
}

func (w *world) close() {
	w.client.CloseIdleConnections()
	w.stop()
	if err := <-w.ended; err != nil {
		w.t.Errorf("serve: %v", err)
	}
	w.ways.Close()
	for _, l := range w.listeners {
		_ = l.Close()
	}
	ports.Delete(w.port)
}

// connect gives the world the system's network, or one of its bubble.
func (w *world) connect() {
	w.t.Helper()
	if bubble, _ := placed.Load(w.t); bubble != true {
		w.listenAt, w.dialContext = func(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }, (&net.Dialer{}).DialContext
		w.listeners, w.port = listenOnOnePort(w.t)
		w.ways = bridgeclient.New(w, w.port)
		return
	}
	p := newPipes()
	w.listenAt, w.dialContext, w.port, w.listeners = p.listen, p.dial, 8443, map[string]net.Listener{}
	for _, host := range hosts {
		w.listenAgain(host)
	}
	w.ways = bridgeclient.NewOver(w.dialContext, w, w.port)
}

func (w *world) listen(addr string) net.Listener {
	w.t.Helper()
	l, err := w.listenAt(addr)
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

// ports are those of all worlds. A world keeps its port while it listens there on
// no address, so that no other world's bridge is found there.
var ports sync.Map

// listenOnOnePort listens on all hosts, on a port that is free on each.
func listenOnOnePort(t testing.TB) (map[string]net.Listener, int) {
	t.Helper()
	for range 50 {
		listeners := map[string]net.Listener{}
		port := "0"
		for _, host := range hosts {
			l, err := net.Listen("tcp", net.JoinHostPort(host, port))
			if err != nil {
				break
			}
			listeners[host] = l
			_, port, _ = net.SplitHostPort(l.Addr().String())
		}
		if n, _ := strconv.Atoi(port); len(listeners) == len(hosts) {
			if _, taken := ports.LoadOrStore(n, true); !taken {
				return listeners, n
			}
		}
		for _, l := range listeners {
			_ = l.Close()
		}
	}
	t.Fatal("no port is free on all loopback addresses")
	return nil, 0
}

// ClientTLS implements Credentials.
func (w *world) ClientTLS(server *url.URL) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		Certificates:       []tls.Certificate{w.ingressCertificate()},
		InsecureSkipVerify: true, // VerifyConnection checks the chain and the URI.
		VerifyConnection:   pki.VerifyPeer(w.roots, server, x509.ExtKeyUsageServerAuth, time.Now),
	}
}

var ingressCertificates sync.Map

func (w *world) ingressCertificate() tls.Certificate {
	if c, ok := ingressCertificates.Load(w.authority); ok {
		return c.(tls.Certificate)
	}
	c := pkitest.Certificate(w.t, w.authority, pki.IngressSubject())
	ingressCertificates.Store(w.authority, c)
	return c
}

// serveBridge has a bridge of the given UID listen on host, the way a pod does.
func (w *world) serveBridge(host, uid string, handler http.HandlerFunc) {
	w.t.Helper()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: wait.Limit, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	l := tls.NewListener(w.listeners[host], &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{pkitest.Certificate(w.t, w.authority, pki.BridgeSubject(uid))},
		ClientAuth:   tls.RequireAnyClientCert, ClientCAs: w.roots,
		VerifyConnection: pki.VerifyPeer(w.roots, pki.IngressURI(), x509.ExtKeyUsageClientAuth, time.Now),
	})
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	w.t.Cleanup(func() { _ = server.Close(); <-done })
	w.servers[host] = server
}

// stopBridge ends the bridge on host, connections included.
func (w *world) stopBridge(host string) {
	_ = w.servers[host].Close()
}

// listenAgain makes host's address free for another bridge.
func (w *world) listenAgain(host string) {
	w.t.Helper()
	w.listeners[host] = w.listen(net.JoinHostPort(host, strconv.Itoa(w.port)))
}

// addUser adds user's bridge without a pod and returns its key.
func (w *world) addUser(user string) string {
	w.t.Helper()
	key, id, err := apikey.Mint(rand.Reader, apikey.KindUser)
	if err != nil {
		w.t.Fatal(err)
	}
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: user, UID: types.UID("uid-" + user)}}
	b.Spec.Tier = testTier
	b.Spec.APIKeys = []v1alpha1.APIKey{{ID: id, Hash: apikey.HashFor(user, key).String()}}
	w.change(func() { w.bridges = append(w.bridges, b) })
	return key
}

// setPod makes user's pod the one on host, ready, and forgets others.
func (w *world) setPod(user, pod, host string) { w.setPodThatIs(corev1.ConditionTrue, user, pod, host) }

// setCandidate is setPod for one that is not ready.
func (w *world) setCandidate(user, pod, host string) {
	w.setPodThatIs(corev1.ConditionFalse, user, pod, host)
}

func (w *world) setPodThatIs(ready corev1.ConditionStatus, user, pod, host string) {
	w.change(func() {
		w.pods = removePods(w.pods, user)
		w.pods = append(w.pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "tenants", Name: pod, UID: types.UID("uid-" + pod),
				Labels:      map[string]string{v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelComponent: v1alpha1.ComponentBridge},
				Annotations: map[string]string{v1alpha1.AnnotationBridgeUID: "uid-" + user, v1alpha1.AnnotationUserID: user},
			},
			Status: corev1.PodStatus{
				Phase: corev1.PodRunning, PodIP: host, PodIPs: []corev1.PodIP{{IP: host}},
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
			},
		})
	})
}

func (w *world) removePod(user string) {
	w.change(func() { w.pods = removePods(w.pods, user) })
}

func removePods(pods []*corev1.Pod, user string) []*corev1.Pod {
	var kept []*corev1.Pod
	for _, p := range pods {
		if p.Annotations[v1alpha1.AnnotationUserID] != user {
			kept = append(kept, p)
		}
	}
	return kept
}

// changeBridge edits user's HostedBridge.
func (w *world) changeBridge(user string, edit func(*v1alpha1.HostedBridge)) {
	w.change(func() {
		for _, b := range w.bridges {
			if b.Name == user {
				edit(b)
			}
		}
	})
}

func (w *world) change(edit func()) {
	w.mu.Lock()
	edit()
	w.mu.Unlock()
	w.publish()
}

func (w *world) publish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.routes.set(route.Build(w.bridges, w.pods, w.persons...))
}

// request returns a request of user's endpoint with key.
func (w *world) request(method, path, key, body string) *http.Request {
	w.t.Helper()
	r, err := http.NewRequest(method, "http://"+w.addr+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// reply is an answer read to its end.
type reply struct {
	status int
	header http.Header
	body   string
	// closes is whether the connection ends with the answer.
	closes bool
}

func (w *world) do(r *http.Request) reply {
	w.t.Helper()
	res, err := w.client.Do(r)
	if err != nil {
		w.t.Fatalf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatalf("%s %s: read: %v", r.Method, r.URL.Path, err)
	}
	return reply{res.StatusCode, res.Header, string(body), res.Close}
}

// dial returns a connection to the ingress that the end of the test closes, if
// nothing does before.
func (w *world) dial() net.Conn {
	w.t.Helper()
	conn, err := w.dialContext(w.t.Context(), "tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// raw sends bytes as they are and returns the first answer.
func (w *world) raw(message string) reply {
	w.t.Helper()
	conn := w.dial()
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(wait.Limit))
	if _, err := io.WriteString(conn, message); err != nil {
		w.t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		w.t.Fatalf("read answer to %q: %v", message, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatalf("read answer to %q: %v", message, err)
	}
	return reply{res.StatusCode, res.Header, string(body), res.Close}
}

// metric returns the sum of our metric of that name over the series that have
// all of the label values.
func (w *world) metric(name string, labels ...string) float64 {
	w.t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	var sum float64
	for _, family := range families {
		if family.GetName() != "hostedbridge_ingress_"+name {
			continue
		}
		for _, m := range family.GetMetric() {
			values := map[string]bool{}
			for _, label := range m.GetLabel() {
				values[label.GetValue()] = true
			}
			if !slices.ContainsFunc(labels, func(l string) bool { return !values[l] }) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

// fakeRoutes publishes tables.
type fakeRoutes struct {
	mu      sync.Mutex
	table   *route.Table
	changed chan struct{}
}

func newFakeRoutes() *fakeRoutes { return &fakeRoutes{changed: make(chan struct{})} }

func (f *fakeRoutes) Current() *route.Table {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.table
}

func (f *fakeRoutes) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

func (f *fakeRoutes) set(t *route.Table) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.table = t
	close(f.changed)
	f.changed = make(chan struct{})
}

type fakeReports map[types.UID]health.Report

func (f fakeReports) Report(bridge types.UID) (health.Report, bool) {
	r, ok := f[bridge]
	return r, ok
}

// nothingReported knows no earlier report of any bridge.
func nothingReported(context.Context, route.Backend) health.Report {
	return health.Report{Servers: map[string]health.Server{}}
}

type fakeActivity struct {
	inFlight atomic.Int64

	mu    sync.Mutex
	calls []types.UID
	woken []types.UID
	keys  []string
	wake  func(context.Context, route.Backend) error
}

func (f *fakeActivity) Called(b route.Backend, _ time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, b.BridgeUID)
}

func (f *fakeActivity) Began(b route.Backend, at time.Time) {
	f.Called(b, at)
	f.inFlight.Add(1)
}

func (f *fakeActivity) Ended(route.Backend, time.Time) { f.inFlight.Add(-1) }

func (f *fakeActivity) Wake(ctx context.Context, b route.Backend) error {
	f.mu.Lock()
	f.woken = append(f.woken, b.BridgeUID)
	wake := f.wake
	f.mu.Unlock()
	if wake == nil {
		return nil
	}
	return wake(ctx, b)
}

func (f *fakeActivity) KeyUsed(b route.Backend, keyID string, _ time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys = append(f.keys, string(b.BridgeUID)+" "+keyID)
}

// usedKeys returns which bridge was called with which key.
func (f *fakeActivity) usedKeys() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.keys)
}

// count returns how often bridges were used.
func (f *fakeActivity) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.calls)
}

// wakes returns which bridges were woken.
func (f *fakeActivity) wakes() []types.UID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.woken)
}

// lockedBuffer collects the log.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
