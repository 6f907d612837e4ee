// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/route"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// world is an API behind a server that does what the ingress does of it.
type world struct {
	t      testing.TB
	store  *fakeStore
	api    *API
	server *httptest.Server

	mu       sync.Mutex
	acts     []httpapi.Act
	auditErr error
	// admitted are the publishers whose requests were counted, which are too many
	// while busy.
	admitted []string
	busy     bool
}

func newWorld(t testing.TB, options ...func(*Options)) *world {
	t.Helper()
	w := &world{t: t, store: newFakeStore(t)}
	o := Options{Store: w.store, Settle: wait.Limit, ReplicaLag: time.Millisecond, Log: slog.New(slog.DiscardHandler)}
	for _, option := range options {
		option(&o)
	}
	var err error
	if w.api, err = New(o); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	part := regexp.MustCompile(`:([A-Za-z]+)`)
	for _, r := range w.api.Routes() {
		mux.HandleFunc(r.Method+" "+part.ReplaceAllString(r.Path, "{$1}"), func(rw http.ResponseWriter, req *http.Request) {
			w.serve(r, rw, req)
		})
	}
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		path, query, _ := strings.Cut(r.RequestURI, "?")
		form, ok := w.api.Target(path)
		if !ok || query != "" && (form == nil || !form.MatchString(query)) {
			http.Error(rw, "the ingress refuses the target", http.StatusTeapot)
			return
		}
		// As the ingress does, which decodes nothing.
		r.URL = &url.URL{Path: path, RawPath: strings.ReplaceAll(path, "%", "%25"), RawQuery: query}
		mux.ServeHTTP(rw, r)
	}))
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) serve(route httpapi.Route, rw http.ResponseWriter, r *http.Request) {
	if route.Access == httpapi.Admin && r.Header.Get("Authorization") != "Bearer admin" {
		http.Error(rw, "admin", http.StatusUnauthorized)
		return
	}
	err := route.Handle(&call{w: w, rw: rw, r: r, maxBody: route.MaxBody})
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

// call is a request as the ingress hands it on.
type call struct {
	httpapi.SessionCall // The ingress has it alone.

	w       *world
	rw      http.ResponseWriter
	r       *http.Request
	maxBody int64
}

func (c *call) Request() *http.Request      { return c.r }
func (c *call) Writer() http.ResponseWriter { return c.rw }
func (c *call) Param(name string) string    { return c.r.PathValue(name) }
func (c *call) Now() time.Time              { return today }
func (c *call) Key() string {
	return strings.TrimPrefix(c.r.Header.Get("Authorization"), "Bearer ")
}
func (c *call) Refuse(string) error {
	return httpapi.New(http.StatusUnauthorized, "unauthorized", "")
}

func (c *call) LimitRate(holder string) error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.admitted = append(c.w.admitted, holder)
	if c.w.busy {
		return httpapi.New(http.StatusTooManyRequests, "too_many_requests", "")
	}
	return nil
}

func (c *call) Body() ([]byte, error) { return io.ReadAll(io.LimitReader(c.r.Body, c.maxBody)) }

func (c *call) KeyEnds() time.Time { return time.Time{} }

func (c *call) Audit(a httpapi.Act) error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.acts = append(c.w.acts, a)
	return c.w.auditErr
}

// told returns the acts since it was last asked.
func (w *world) told() []httpapi.Act {
	w.mu.Lock()
	defer w.mu.Unlock()
	acts := w.acts
	w.acts = nil
	return acts
}

// reply is an answer read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

// code is the problem's.
func (r reply) code() string {
	var p struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal([]byte(r.body), &p)
	return p.Code
}

// into decodes the body.
func (r reply) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.body), v); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
}

// do sends a request, with a header as name, value and so on.
func (w *world) do(method, target, body string, header ...string) reply {
	w.t.Helper()
	r := must.Value(http.NewRequest(method, w.server.URL+target, strings.NewReader(body)))(w.t)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	res := must.Value(w.server.Client().Do(r))(w.t)
	defer res.Body.Close()
	b := must.Value(io.ReadAll(res.Body))(w.t)
	return reply{res.StatusCode, res.Header, string(b)}
}

func (w *world) get(target string, header ...string) reply {
	w.t.Helper()
	return w.do(http.MethodGet, target, "", header...)
}

// admin sends a request of an administrator.
func (w *world) admin(method, target, body string, header ...string) reply {
	w.t.Helper()
	return w.do(method, target, body, append(header, "Authorization", "Bearer admin")...)
}

// publisher makes a publisher and returns the header with the key.
func (w *world) publisher(id string, publicKeys ...string) []string {
	w.t.Helper()
	b, _ := json.Marshal(map[string]any{"id": id, "publicKeys": publicKeys})
	got := w.admin(http.MethodPost, "/admin/publishers", string(b))
	if got.status != http.StatusCreated {
		w.t.Fatalf("create a publisher: %d %s", got.status, got.body)
	}
	var created createdKey
	got.into(w.t, &created)
	w.told()
	return []string{"Authorization", "Bearer " + created.Key}
}

// recipeOf returns a recipe that the catalog takes, with further members.
func recipeOf(name, version string, more ...string) string {
	return fmt.Sprintf(`{"schemaVersion":2,"id":%q,"name":"Server %[1]s","description":"Does something with %[1]s.",
		"repository":"https://example.com/%[1]s","recipeVersion":%[2]q,
		"transports":[{"type":"stdio","command":"npx","args":["-y","@example/%[1]s@1.2.3"]}],
		"install":{"method":"npx","package":"@example/%[1]s","version":"1.2.3"}%[3]s}`, name, version, strings.Join(append([]string{""}, more...), ","))
}

// seeded puts recipes into the catalog that nobody publishes.
func (w *world) seeded(names ...string) {
	w.t.Helper()
	for _, name := range names {
		doc, found := validate.Parse([]byte(recipeOf(name, "1.0.0", `"metadata":{"category":"tools","tags":["first"]}`)), validate.Checks{})
		if len(found) > 0 {
			w.t.Fatal(found)
		}
		must.Value(w.store.CreateRecipe(w.t.Context(), first(catalog.Draft{Name: name, Owner: catalog.SeedOwner, Recipe: doc.Recipe})))(w.t)
	}
}

// first writes the draft where there is nothing.
func first(d catalog.Draft) catalog.Replacement {
	return catalog.Replacement{Name: d.Name, Owner: d.Owner, Draft: func(catalog.Entry) (catalog.Draft, error) { return d, nil }}
}

// Secret implements httpapi.Call.
func (*call) Secret() ([]byte, error) { return nil, errors.ErrUnsupported }

// Bridge implements httpapi.Call.
func (*call) Bridge() (route.Backend, error) { return route.Backend{}, errors.ErrUnsupported }
