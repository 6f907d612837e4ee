// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/client"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const (
	issuer   = "https://bridges.example.com"
	desk     = "desk"
	deskURI  = "http://127.0.0.1:49152/callback"
	siteID   = "https://site.example/client.json"
	siteURI  = "https://site.example/callback"
	alices   = issuer + "/u/alice/mcp"
	everyone = issuer + "/mcp"
)

// What clients and operators can rely on.
const (
	codeLife         = time.Minute
	retryFor         = 30 * time.Second
	unusedLife       = 4 * time.Hour
	secretSize       = 32
	registeredPrefix = "reg-"
	kindRefresh      = "hbr_"
	defaultLifetime  = 30 * 24 * time.Hour
)

var registeredForm = regexp.MustCompile(`^reg-[A-Za-z0-9_-]{43}$`)

// world is an installation of two replicas with one store, which are asked in
// turn by what does of requests what the ingress does.
type world struct {
	t         testing.TB
	store     *memory
	provider  *fakeProvider
	users     *fakeUsers
	documents fakeDocuments
	keys      *keys
	replicas  []*Server
	muxes     []*http.ServeMux
	logs      *logtest.Log

	mu       sync.Mutex
	at       time.Time
	turn     int
	acts     []httpapi.Act
	auditErr error
}

func newWorld(t testing.TB, options ...func(*Options)) *world {
	t.Helper()
	w := &world{
		t: t, at: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), logs: &logtest.Log{},
		provider: newProvider("idp"), keys: newKeys(t),
		users: &fakeUsers{
			bridges: map[string][]v1alpha1.UserID{"alice": {"alice"}, "amy": {"alice", "team"}}, welcome: map[string]v1alpha1.UserID{},
			foreign: map[v1alpha1.UserID]string{}, made: map[v1alpha1.UserID]int{},
		},
		documents: fakeDocuments{
			siteID:                            {ID: siteID, Name: "Site", RedirectURIs: []string{siteURI, "http://127.0.0.1/callback", "http://evil.example/"}, Document: true},
			"https://site.example/other.json": {ID: siteID, Name: "Site", RedirectURIs: []string{siteURI}, Document: true},
		},
	}
	w.store = newMemory(w.now)
	for range 2 {
		o := Options{
			Issuer: issuer, Name: "Bridges", Store: w.store, Signer: w.keys, Keys: w.keys, Users: w.users,
			Providers: []flow.Provider{w.provider}, Documents: w.documents,
			Clients:         []flow.Client{{ID: desk, Name: "Desk", RedirectURIs: []string{"http://127.0.0.1/callback", "cursor://desk/callback"}}},
			Invitations:     true,
			Registration:    client.Registration{Enabled: true, MaxClients: 3},
			RedirectSchemes: []string{"cursor"},
			Random:          rand.Reader, Now: w.now, Metrics: prometheus.NewRegistry(),
			Log: slog.New(slog.NewTextHandler(w.logs, nil)),
		}
		for _, option := range options {
			option(&o)
		}
		s := must.Value(New(o))(t)
		w.replicas, w.muxes = append(w.replicas, s), append(w.muxes, w.muxOf(s))
	}
	return w
}

// providers has people choose among several.
func providers(more ...flow.Provider) func(*Options) {
	return func(o *Options) { o.Providers = append(o.Providers, more...) }
}

func (w *world) muxOf(s *Server) *http.ServeMux {
	mux := http.NewServeMux()
	part := regexp.MustCompile(`:([A-Za-z]+)`)
	for _, r := range s.Routes() {
		mux.HandleFunc(r.Method+" "+part.ReplaceAllString(r.Path, "{$1}"), func(rw http.ResponseWriter, req *http.Request) { w.serve(r, rw, req) })
	}
	return mux
}

func (w *world) serve(route httpapi.Route, rw http.ResponseWriter, r *http.Request) {
	origin := r.Header.Get("Origin")
	if route.Access == httpapi.Page && origin != "" && origin != issuer || route.Access == httpapi.Admin && r.Header.Get("X-API-Key") != "admin" {
		http.Error(rw, "the ingress refuses", http.StatusForbidden)
		return
	}
	err := route.Handle(&call{w: w, rw: rw, r: r, route: route})
	if err == nil {
		return
	}
	p, ok := errors.AsType[*httpapi.Problem](err)
	if !ok {
		w.t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		p = httpapi.New(http.StatusInternalServerError, "internal", "")
	}
	p.SetHeader(rw.Header(), "test")
	rw.WriteHeader(p.Status)
	_, _ = rw.Write(p.Encode(nil))
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

// wait lets time pass.
func (w *world) wait(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = w.at.Add(d)
}

func (w *world) audited() []httpapi.Act {
	w.mu.Lock()
	defer w.mu.Unlock()
	acts := w.acts
	w.acts = nil
	return acts
}

// steps returns how often a step ended so, at all replicas.
func (w *world) steps(at step, outcome string) (n float64) {
	for _, s := range w.replicas {
		n += valueOf(w.t, s.metrics.Steps.WithLabelValues(string(at), outcome))
	}
	return n
}

// changeClients restarts the replicas with a changed configuration of clients.
func (w *world) changeClients(change func(*client.RegistryOptions)) {
	w.t.Helper()
	for _, s := range w.replicas {
		o := s.clients.RegistryOptions
		change(&o)
		registry := must.Value(client.NewRegistry(o))(w.t)
		s.clients = registry
	}
}

// replays returns how often that came again which may come once.
func (w *world) replays(what string) (n float64) {
	for _, s := range w.replicas {
		n += valueOf(w.t, s.metrics.Replays.WithLabelValues(what))
	}
	return n
}

func valueOf(t testing.TB, c prometheus.Metric) float64 {
	t.Helper()
	var m dto.Metric
	must.Succeed(t, c.Write(&m))
	return m.GetCounter().GetValue()
}

// call is a request as the ingress hands it on.
type call struct {
	httpapi.SessionCall // The ingress has it alone.

	w     *world
	rw    http.ResponseWriter
	r     *http.Request
	route httpapi.Route
}

func (c *call) Request() *http.Request      { return c.r }
func (c *call) Writer() http.ResponseWriter { return c.rw }
func (c *call) Param(name string) string    { return c.r.PathValue(name) }
func (c *call) Now() time.Time              { return c.w.now() }
func (c *call) Key() string                 { return "" }
func (c *call) Refuse(string) error         { return errFake }
func (c *call) LimitRate(string) error      { return nil }

func (c *call) Body() ([]byte, error) {
	want := applicationJSON
	if c.route.Form {
		want = "application/x-www-form-urlencoded"
	}
	if c.r.Header.Get("Content-Type") != want {
		return nil, httpapi.New(http.StatusUnsupportedMediaType, "media_type", "Another media type.")
	}
	body, err := io.ReadAll(c.r.Body)
	if int64(len(body)) > c.route.MaxBody {
		return nil, httpapi.New(http.StatusRequestEntityTooLarge, "body_too_large", "Too much.")
	}
	return body, err
}

func (c *call) KeyEnds() time.Time { return time.Time{} }

func (c *call) Audit(a httpapi.Act) error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if c.w.auditErr != nil {
		return httpapi.New(http.StatusServiceUnavailable, "audit_unavailable", "")
	}
	c.w.acts = append(c.w.acts, a)
	return nil
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// send asks the next replica.
func (w *world) send(method, target, body string, header http.Header) answer {
	w.mu.Lock()
	w.turn++
	s, mux := w.replicas[w.turn%2], w.muxes[w.turn%2]
	w.mu.Unlock()
	path, query, _ := strings.Cut(target, "?")
	form, ok := s.Target(path)
	if !ok || query != "" && (form == nil || !form.MatchString(query)) {
		return answer{status: http.StatusTeapot}
	}
	r := httptest.NewRequestWithContext(w.t.Context(), method, target, strings.NewReader(body))
	maps.Copy(r.Header, header)
	rec := httptest.NewRecorder()
	mux.ServeHTTP(rec, r)
	return answer{rec.Code, rec.Header(), rec.Body.String()}
}

// program sends a form as a program does.
func (w *world) program(path string, form url.Values) answer {
	return w.send(http.MethodPost, path, form.Encode(), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
}

// json returns a member of an answer.
func (a answer) json(name string) string {
	var members map[string]any
	if json.Unmarshal([]byte(a.body), &members) != nil {
		return "no JSON: " + a.body
	}
	text, _ := members[name].(string)
	return text
}

// location returns where an answer sends a browser.
func (a answer) location(t testing.TB) *url.URL {
	t.Helper()
	u, err := url.Parse(a.header.Get("Location"))
	if err != nil || a.status != http.StatusSeeOther {
		t.Fatalf("status %d, location %q: %.600s", a.status, a.header.Get("Location"), a.body)
	}
	return u
}

// browser is somebody's.
type browser struct {
	w       *world
	cookies map[string]string
}

func (w *world) browser() *browser { return &browser{w, map[string]string{}} }

func (b *browser) header() http.Header {
	var pairs []string
	for name, value := range b.cookies {
		pairs = append(pairs, name+"="+value)
	}
	if len(pairs) == 0 {
		return http.Header{}
	}
	return http.Header{"Cookie": {strings.Join(pairs, "; ")}}
}

func (b *browser) keep(a answer) answer {
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		b.cookies[c.Name] = c.Value
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return a
}

func (b *browser) get(target string) answer {
	return b.keep(b.w.send(http.MethodGet, strings.TrimPrefix(target, issuer), "", b.header()))
}

func (b *browser) post(path string, form url.Values) answer {
	header := b.header()
	header.Set("Content-Type", "application/x-www-form-urlencoded")
	header.Set("Origin", issuer)
	return b.keep(b.w.send(http.MethodPost, path, form.Encode(), header))
}

// testClient is a program that asks for something.
type testClient struct {
	id, redirect, resource string
	verifier               string
	// more replaces parameters of the authorization request, and removes those
	// without a value.
	more url.Values
}

func deskFor(resource string) testClient {
	return testClient{id: desk, redirect: deskURI, resource: resource, verifier: strings.Repeat("v", 43)}
}

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func (c testClient) authorize() string {
	q := url.Values{
		"response_type": {"code"}, "client_id": {c.id}, "redirect_uri": {c.redirect}, "resource": {c.resource},
		"state": {"a state/of=its own"}, "code_challenge": {challengeOf(c.verifier)}, "code_challenge_method": {"S256"},
	}
	for name, values := range c.more {
		delete(q, name)
		if len(values) > 0 {
			q[name] = values
		}
	}
	return pathAuthorize + "?" + q.Encode()
}

// redeems returns the form by which it redeems a code, and refreshes the one for a
// refresh token.
func (c testClient) redeems(code string) url.Values {
	return url.Values{"grant_type": {"authorization_code"}, "code": {code}, "client_id": {c.id}, "redirect_uri": {c.redirect}, "code_verifier": {c.verifier}, "resource": {c.resource}}
}

func (c testClient) refreshes(token string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {c.id}}
}

// back returns the provider's link by which who comes back.
func back(t testing.TB, a answer, who string) string {
	t.Helper()
	q := a.location(t).Query()
	return q.Get("redirect_uri") + "?" + url.Values{"state": {q.Get("state")}, "code": {"as-" + who}}.Encode()
}

// comesTo logs who in for a client, and returns the page after that.
func (b *browser) comesTo(c testClient, who string) answer {
	b.w.t.Helper()
	return b.get(back(b.w.t, b.get(c.authorize()), who))
}

var loginField = regexp.MustCompile(`name="login" value="([^"]*)"`)

// fieldOf returns the secret of a consent page.
func fieldOf(t testing.TB, a answer) string {
	t.Helper()
	found := loginField.FindStringSubmatch(a.body)
	if a.status != http.StatusOK || found == nil {
		t.Fatalf("status %d, no page of consent: %.900s", a.status, a.body)
	}
	return html.UnescapeString(found[1])
}

var bridgeField = regexp.MustCompile(`name="bridge" value="([^"]*)"`)

// bridgesOf returns the bridges of a consent page, as its form names them.
func bridgesOf(a answer) (values []string) {
	for _, found := range bridgeField.FindAllStringSubmatch(a.body, -1) {
		values = append(values, html.UnescapeString(found[1]))
	}
	return values
}

// answers sends the person's answer to a consent page, with its bridge if there is one
// to choose.
func (b *browser) answers(page answer, text string) answer {
	b.w.t.Helper()
	if of := bridgesOf(page); len(of) == 1 {
		return b.chooses(page, text, of[0])
	}
	return b.chooses(page, text, "")
}

// chooses sends the person's answer to a consent page, with one of its bridges.
func (b *browser) chooses(page answer, text, bridge string) answer {
	b.w.t.Helper()
	return b.post(pathConsent, url.Values{"login": {fieldOf(b.w.t, page)}, "answer": {text}, "bridge": {bridge}})
}

// agrees logs who in for a client, who agrees, and returns the code.
func (b *browser) agrees(c testClient, who string) string {
	b.w.t.Helper()
	q := b.answers(b.comesTo(c, who), "allow").location(b.w.t).Query()
	if q.Get("code") == "" || q.Get("iss") != issuer {
		b.w.t.Fatalf("the client got %v", q)
	}
	return q.Get("code")
}

// mustRedeem returns the tokens for a form.
func (w *world) mustRedeem(form url.Values) (access, refresh string) {
	w.t.Helper()
	a := w.program(pathToken, form)
	if a.status != http.StatusOK {
		w.t.Fatalf("status %d: %s", a.status, a.body)
	}
	return a.json("access_token"), a.json("refresh_token")
}

// logIn returns the tokens of who for a client.
func (w *world) logIn(c testClient, who string) (access, refresh string) {
	w.t.Helper()
	return w.mustRedeem(c.redeems(w.browser().agrees(c, who)))
}

// refused fails the test unless a program was refused so.
func refused(t testing.TB, a answer, status int, code string) {
	t.Helper()
	if a.status != status || a.json("error") != code || a.json("error_description") == "" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("status %d, %v: %s; want %d %s", a.status, a.header, a.body, status, code)
	}
}

// page fails the test unless an answer is a page of that status, from which
// nothing leads on.
func page(t testing.TB, a answer, status int, words string) {
	t.Helper()
	if a.status != status || a.header.Get("Location") != "" || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") || !strings.Contains(a.body, words) {
		t.Errorf("status %d, location %q, want a page of %d with %q: %s", a.status, a.header.Get("Location"), status, words, a.body)
	}
}

// Secret implements httpapi.Call.
func (*call) Secret() ([]byte, error) { return nil, errors.ErrUnsupported }

// Bridge implements httpapi.Call.
func (*call) Bridge() (route.Backend, error) { return route.Backend{}, errors.ErrUnsupported }
