// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
)

// fakeCatalog is a catalog that tells what reached it.
type fakeCatalog struct{}

var (
	fakePath  = regexp.MustCompile(`^/(recipes(/[a-z]+)?|admin/recipes/[a-z]+|v0\.1/servers/[a-z]+%2F[a-z]+)$`)
	fakeQuery = regexp.MustCompile(`^q=[a-z]*$`)
)

func (f fakeCatalog) feature() httpapi.Feature {
	return httpapi.Feature{Name: routeCatalog, Routes: f.Routes(), Target: f.Target, MaxPath: 512, MaxQuery: maxCatalogQuery}
}

// maxCatalogQuery is the longest query of the catalog.
const maxCatalogQuery = 2048

func withoutCatalog(d *Deps) {
	d.Features = slices.DeleteFunc(d.Features, func(f httpapi.Feature) bool { return f.Name == routeCatalog })
}

func (fakeCatalog) Target(path string) (*regexp.Regexp, bool) {
	if path == "/recipes" {
		return fakeQuery, true
	}
	return nil, fakePath.MatchString(path)
}

func (fakeCatalog) Routes() []httpapi.Route {
	echo := func(c httpapi.Call) error {
		_, err := c.Writer().Write([]byte(c.Request().URL.Path + "?" + c.Request().URL.RawQuery + " " + c.Param("name")))
		return err
	}
	write := func(c httpapi.Call) error {
		if c.Key() != "right" {
			return c.Refuse("some-id")
		}
		if err := c.LimitRate("acme"); err != nil {
			return err
		}
		body, err := c.Body()
		if err != nil {
			return err
		}
		if string(body) == `"bad"` {
			return httpapi.New(http.StatusUnprocessableEntity, "bad", "It is bad.").With([]string{"why"})
		}
		act := httpapi.Act{Name: "recipes.create", Target: c.Param("name"), Publisher: "acme", KeyID: "k1", Unsure: string(body) == `"unsure"`}
		if err := c.Audit(act); err != nil {
			return err
		}
		_, err = c.Writer().Write(body)
		return err
	}
	return []httpapi.Route{
		{Method: http.MethodGet, Path: "/recipes", Handle: echo},
		{Method: http.MethodGet, Path: "/recipes/:name", Handle: echo},
		{Method: http.MethodGet, Path: "/v0.1/servers/:name", Handle: echo},
		{Method: http.MethodPut, Path: "/recipes/:name", Access: httpapi.Keyed, MaxBody: 16, Handle: write},
		{Method: http.MethodPut, Path: "/admin/recipes/:name", Access: httpapi.Admin, MaxBody: 16, Handle: func(c httpapi.Call) error {
			return c.Audit(httpapi.Act{Name: "recipes.quality", Target: c.Param("name")})
		}},
	}
}

func TestTheCatalogGetsWhatItsPathsAndQueriesAllow(t *testing.T) {
	w := newWorld(t, defaults())
	for target, want := range map[string]struct {
		status int
		body   string
	}{
		"/recipes":              {200, "/recipes? "},
		"/recipes?q=a":          {200, "/recipes?q=a "},
		"/recipes?q=%41":        {400, "query_invalid"},
		"/recipes?q=a;b":        {400, "query_invalid"},
		"/recipes/notes":        {200, "/recipes/notes? notes"},
		"/recipes/notes?q=a":    {400, "query_invalid"},
		"/recipes/notes/":       {404, "not_found"},
		"/recipes/%6eotes":      {404, "not_found"},
		"/recipes//notes":       {404, "not_found"},
		"/v0.1/servers/a%2Fb":   {200, "/v0.1/servers/a%2Fb? a%2Fb"},
		"/v0.1/servers/a%252Fb": {404, "not_found"},
		"/v0.1/servers/a/b":     {404, "not_found"},
		"/v0.1/servers/..%2Fb":  {404, "not_found"},
		"/u/alice%2Fmcp":        {404, "not_found"},
		"/recipes?q=" + strings.Repeat("a", maxCatalogQuery): {400, "query_invalid"},
	} {
		t.Run(target[:min(len(target), 40)], func(t *testing.T) {
			got := w.raw("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n")
			if got.status != want.status || !strings.Contains(got.body, want.body) {
				t.Errorf("%d %s, want %d %s", got.status, got.body, want.status, want.body)
			}
		})
	}
	if got := w.metric("requests_total", routeCatalog, "200"); got != 4 {
		t.Errorf("%v requests are counted as the catalog's, want 4", got)
	}
}

func TestAnyPageReadsTheCatalogAndNoneWritesIt(t *testing.T) {
	w := newWorld(t, defaults())
	read := w.request(http.MethodGet, "/recipes", "", "")
	read.Header.Set("Origin", "https://elsewhere.example")
	if got := w.do(read); got.status != http.StatusOK || got.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("a page of another site reads: %d %v", got.status, got.header)
	}
	head := w.request(http.MethodHead, "/recipes", "", "")
	if got := w.do(head); got.status != http.StatusOK || got.body != "" {
		t.Errorf("HEAD: %d %q", got.status, got.body)
	}
	write := w.request(http.MethodPut, "/recipes/notes", "right", `{}`)
	write.Header.Set("Origin", "https://elsewhere.example")
	if got := w.do(write); got.status != http.StatusForbidden {
		t.Errorf("a page of another site writes: %d", got.status)
	}
	if got := w.do(w.request(http.MethodGet, "/recipes", "", "body")); got.status != http.StatusBadRequest {
		t.Errorf("a read with a body: %d", got.status)
	}
}

func TestAWriteOfTheCatalogIsReadBoundedAndAudited(t *testing.T) {
	w := newWorld(t, defaults())
	put := func(key, body string) reply {
		r := w.request(http.MethodPut, "/recipes/notes", key, body)
		r.Header.Set("Content-Type", "application/json")
		return w.do(r)
	}
	for name, test := range map[string]struct {
		got    reply
		status int
		body   string
	}{
		"no key":     {put("", `{}`), 401, "unauthorized"},
		"wrong key":  {put("wrong", `{}`), 401, "unauthorized"},
		"too large":  {put("right", `"0123456789abcdef"`), 413, "limited to 16 bytes"},
		"the part's": {put("right", `"bad"`), 422, `"problems":["why"]`},
		"fits":       {put("right", `"0123456789abcd"`), 200, `"0123456789abcd"`},
		"unsure":     {put("right", `"unsure"`), 200, ``},
	} {
		if test.got.status != test.status || !strings.Contains(test.got.body, test.body) {
			t.Errorf("%s: %d %s", name, test.got.status, test.got.body)
		}
	}
	text := w.request(http.MethodPut, "/recipes/notes", "right", "x")
	text.Header.Set("Content-Type", "text/plain")
	if got := w.do(text); got.status != http.StatusUnsupportedMediaType {
		t.Errorf("text: %d", got.status)
	}
	if got := w.do(w.request(http.MethodPut, "/admin/recipes/notes", "right", "")); got.status != http.StatusUnauthorized {
		t.Errorf("a publisher's key as the admin key: %d", got.status)
	}
	if got := w.do(w.request(http.MethodPut, "/admin/recipes/notes", adminKey, "")); got.status != http.StatusOK {
		t.Errorf("the admin key: %d", got.status)
	}
	type entry struct{ Who, Method, On, Status string }
	var got []entry
	for _, e := range w.audit.all() {
		got = append(got, entry{string(e.Principal.Kind) + " " + e.Principal.ID, e.Method, e.Action, string(e.Status)})
	}
	slices.SortFunc(got, func(a, b entry) int { return strings.Compare(a.Method+a.Status, b.Method+b.Status) })
	want := []entry{
		{"admin_key ", "admin/recipes.quality", "notes", string(audit.Success)},
		{"publisher_key acme/k1", "publish/recipes.create", "notes", string(audit.Success)},
		{"publisher_key acme/k1", "publish/recipes.create", "notes", string(audit.UpstreamError)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if w.server.router.bounds.memory.Bodies.Held() != 0 {
		t.Errorf("%d bytes of bodies are still held", w.server.router.bounds.memory.Bodies.Held())
	}
	w.audit.fail(errors.New("no room"))
	if got := put("right", `{}`); got.status != http.StatusServiceUnavailable || strings.Contains(got.body, `{}`) {
		t.Errorf("an act that is not audited is answered: %d %s", got.status, got.body)
	}
}

func TestOneSourceReadsTheCatalogAtALimitedRate(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		config := defaults()
		config.CatalogReads = 1
		w := newWorld(t, config)
		refused := 0
		for range 2 * limits.RateBurst {
			got := w.do(w.request(http.MethodGet, "/recipes", "", ""))
			if got.status == http.StatusTooManyRequests {
				refused++
				if got.header.Get("Retry-After") == "" || got.code(t) != "too_many_requests" {
					t.Errorf("a refusal says %v %s", got.header, got.body)
				}
			}
		}
		if refused == 0 {
			t.Error("nothing was refused")
		}
		l := limits.NewRate(1)
		now := time.Unix(1, 0)
		for range limits.RateBurst {
			if wait := l.Take(1, now); wait != 0 {
				t.Fatalf("a read within the burst waits %v", wait)
			}
		}
		if l.Take(1, now) == 0 || l.Take(1, now.Add(time.Second)) != 0 {
			t.Error("the limit is not one in a second")
		}
	})
}

func TestOnePublisherWritesAtALimitedRate(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		config := defaults()
		config.CatalogWrites = 1
		w := newWorld(t, config)
		put := func(key string) reply {
			r := w.request(http.MethodPut, "/recipes/notes", key, `{}`)
			r.Header.Set("Content-Type", "application/json")
			return w.do(r)
		}
		for range 2 * limits.RateBurst {
			if got := put("wrong"); got.status != http.StatusUnauthorized {
				t.Fatalf("a wrong key: %d", got.status)
			}
		}
		refused := 0
		for n := range 2 * limits.RateBurst {
			got := put("right")
			switch {
			case got.status == http.StatusOK:
			case got.status == http.StatusTooManyRequests && n >= limits.RateBurst && got.header.Get("Retry-After") != "" && got.code(t) == "too_many_requests":
				refused++
			default:
				t.Fatalf("request %d: %d %v %s", n, got.status, got.header, got.body)
			}
		}
		if refused == 0 {
			t.Error("nothing was refused")
		}
		if got := w.do(w.request(http.MethodGet, "/recipes", "", "")); got.status != http.StatusOK {
			t.Errorf("a read: %d", got.status)
		}
		if c := (&featureCall{feature: w.server.paths.features[len(w.server.paths.features)-1]}); c.LimitRate("other") != nil || c.LimitRate("acme") == nil {
			t.Error("another publisher's requests are counted with these")
		}
	})
}

func TestBrowsersMayAskBeforeTheyReadTheCatalog(t *testing.T) {
	config := defaults()
	config.AllowedOrigins, config.AllowedHosts = []string{app}, []string{"127.0.0.1"}
	w := newWorld(t, config)
	granted := map[string]string{
		"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "ETag, Retry-After, X-Request-Id",
		"Access-Control-Allow-Methods": "GET, HEAD", "Access-Control-Allow-Headers": "Content-Type, If-None-Match, Mcp-Protocol-Version", "Access-Control-Max-Age": "600",
	}
	seen := map[string]string{"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "ETag, Retry-After, X-Request-Id"}
	none := map[string]string{}
	for _, tt := range []struct {
		name, path, asks, host string
		status                 int
		want                   map[string]string
	}{
		{"a list", "/recipes", "GET", "", 204, granted},
		{"a list with a query", "/recipes?q=a", "GET", "", 204, granted},
		{"a recipe", "/recipes/notes", "HEAD", "", 204, granted},
		{"a write grants reading alone", "/recipes/notes", "PUT", "", 204, granted},
		{"a query that is none", "/recipes?q=%41", "GET", "", 400, seen},
		{"another host", "/recipes", "GET", "evil.example", 403, seen},
		{"no question", "/recipes", "", "", 405, seen},
		{"an administrator's", "/admin/recipes/notes", "PUT", "", 405, none},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := w.request(http.MethodOptions, tt.path, "", "")
			r.Host = tt.host
			r.Header.Set("Origin", app)
			r.Header.Set("Access-Control-Request-Headers", "if-none-match,authorization")
			if tt.asks != "" {
				r.Header.Set("Access-Control-Request-Method", tt.asks)
			}
			got := w.do(r)
			if diff := cmp.Diff(tt.want, corsHeader(got.header)); got.status != tt.status || diff != "" {
				t.Errorf("status %d, want %d (-want +got):\n%s", got.status, tt.status, diff)
			}
		})
	}
	if got := w.do(w.request(http.MethodOptions, "/recipes/notes", "", "")); got.header.Get("Allow") != "GET, HEAD, PUT" {
		t.Errorf("the methods of a path are %q", got.header.Get("Allow"))
	}
}

func TestWithoutACatalogItsPathsAreNone(t *testing.T) {
	w := newWorldWith(t, defaults(), withoutCatalog)
	if got := w.do(w.request(http.MethodGet, "/recipes", "", "")); got.status != http.StatusNotFound {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// fakeLogin is an authorization server that tells what reached it.
type fakeLogin struct{}

func (f fakeLogin) feature() httpapi.Feature {
	return httpapi.Feature{Name: routeLogin, Routes: f.Routes(), Target: f.Target, MaxPath: 128, MaxQuery: 8192}
}

func (fakeLogin) Target(path string) (*regexp.Regexp, bool) {
	return regexp.MustCompile(`^state=[a-z]*$`), strings.HasPrefix(path, "/oauth/")
}

func (fakeLogin) Routes() []httpapi.Route {
	echo := func(c httpapi.Call) error {
		body, err := c.Body()
		if err != nil {
			return err
		}
		if err := c.Audit(httpapi.Act{Name: "consent", Target: "desk", Login: "whose", User: "alice"}); err != nil {
			return err
		}
		_, err = c.Writer().Write(append(body, c.Request().URL.RawQuery...))
		return err
	}
	return []httpapi.Route{
		{Method: http.MethodPost, Path: "/oauth/token", Access: httpapi.Program, MaxBody: 16, Form: true, LetsIn: true, Handle: echo},
		{Method: http.MethodPost, Path: "/oauth/register", Access: httpapi.Program, Rare: true, MaxBody: 16, Handle: echo},
		{Method: http.MethodGet, Path: "/oauth/authorize", Access: httpapi.Page, Handle: echo},
		{Method: http.MethodPost, Path: "/oauth/consent", Access: httpapi.Page, MaxBody: 16, Form: true, Handle: echo},
	}
}

func withLogin(d *Deps) {
	d.Features = append(d.Features, fakeLogin{}.feature())
	d.OAuth = &authn.OAuth{PublicURL: publicURL, Tokens: &fakeTokens{}}
}

func TestProgramsAndPagesOfALogin(t *testing.T) {
	w := newWorldWith(t, defaults(), withLogin)
	const form = "application/x-www-form-urlencoded"
	for _, test := range []struct {
		name, method, path, contentType, origin, body string
		status                                        int
		cors                                          string
	}{
		{"a program sends a form", "POST", "/oauth/token", form, "", "a=b", 200, "*"},
		{"with a character set", "POST", "/oauth/token", form + "; charset=utf-8", "", "a=b", 200, "*"},
		{"so does any site's page", "POST", "/oauth/token", form, "https://elsewhere.example", "a=b", 200, "*"},
		{"JSON is no form", "POST", "/oauth/token", "application/json", "", "{}", 415, "*"},
		{"a form is no JSON", "POST", "/oauth/register", form, "", "a=b", 415, "*"},
		{"JSON where it is asked for", "POST", "/oauth/register", "application/json", "", "{}", 200, "*"},
		{"too long", "POST", "/oauth/token", form, "", strings.Repeat("a", 17), 413, "*"},
		{"a page is looked at", "GET", "/oauth/authorize?state=a", "", "", "", 200, ""},
		{"not with another query", "GET", "/oauth/authorize?state=%41", "", "", "", 400, ""},
		{"our own page sends", "POST", "/oauth/consent", form, publicURL, "a=b", 200, ""},
		{"another site's page does not", "POST", "/oauth/consent", form, "https://elsewhere.example", "a=b", 403, ""},
		{"nor one that does not say which", "POST", "/oauth/consent", form, "null", "a=b", 403, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := w.request(test.method, test.path, "", test.body)
			r.Header.Del("Content-Type")
			if test.contentType != "" {
				r.Header.Set("Content-Type", test.contentType)
			}
			if test.origin != "" {
				r.Header.Set("Origin", test.origin)
			}
			got := w.do(r)
			if got.status != test.status || got.header.Get("Access-Control-Allow-Origin") != test.cors {
				t.Errorf("%d %q %s, want %d %q", got.status, got.header.Get("Access-Control-Allow-Origin"), got.body, test.status, test.cors)
			}
		})
	}
	entries := w.audit.all()
	if e := entries[0]; e.Principal != (audit.Principal{Kind: audit.KindOAuth, ID: "whose", Issuer: publicURL}) || e.UserID != "alice" || e.Method != "login/consent" || e.Action != "desk" {
		t.Errorf("the entry of an act: %+v", e)
	}
	if got := w.metric("requests_total", routeLogin, "200"); got != 6 {
		t.Errorf("%v requests are counted as logins, want 6", got)
	}
}

func TestLoginsOfOneSourceAreLimited(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		config := defaults()
		config.LoginRequests = 1
		w := newWorldWith(t, config, withLogin)
		for range limits.RateBurst {
			if got := w.do(w.request(http.MethodGet, "/oauth/authorize", "", "")); got.status != http.StatusOK {
				t.Fatalf("within the burst: %d %s", got.status, got.body)
			}
		}
		if got := w.do(w.request(http.MethodGet, "/oauth/authorize", "", "")); got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "1" {
			t.Errorf("after the burst: %d %v", got.status, got.header)
		}
	})
}

func TestWhatIsRareIsLimitedByItself(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorldWith(t, defaults(), withLogin)
		register := func() int { return w.do(w.request(http.MethodPost, "/oauth/register", "", "{}")).status }
		for range rareBurst {
			if got := register(); got != http.StatusOK {
				t.Fatalf("within the burst: %d", got)
			}
		}
		if got := register(); got != http.StatusTooManyRequests {
			t.Errorf("after the burst: %d", got)
		}
		if got := w.do(w.request(http.MethodGet, "/oauth/authorize", "", "")); got.status != http.StatusOK {
			t.Errorf("another request: %d", got.status)
		}
	})
}

// Whoever announces bodies that do not come keeps their own address waiting, and that
// of nobody who was let in before.
func TestStrangersBodiesKeepNoTokenFromBeingRenewed(t *testing.T) {
	config := defaults()
	config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	w := newWorldWith(t, config, withLogin)
	m := w.server.router.bounds.memory
	renews := func(source string) int {
		r := w.request(http.MethodPost, "/oauth/token", "", "a=b")
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("X-Forwarded-For", source)
		return w.do(r).status
	}
	if got := renews("198.51.100.1"); got != http.StatusOK {
		t.Fatalf("status %d", got)
	}
	for n := range 64 {
		for m.Strangers.For(netip.AddrFrom4([4]byte{203, 0, 113, byte(n)})).Reserve(1<<16) == nil {
		}
	}
	if full := m.Strangers.Held(); full != limits.MaxStrangers {
		t.Fatalf("%d bytes are taken", full)
	}
	for source, want := range map[string]int{
		"198.51.100.1": http.StatusOK, "198.51.100.2": http.StatusServiceUnavailable, "203.0.113.1": http.StatusServiceUnavailable,
	} {
		if got := renews(source); got != want {
			t.Errorf("from %s: status %d, want %d", source, got, want)
		}
	}
}

// TestASiteIsNotAsManySourcesAsItHasNetworks asks from the networks of one /48.
func TestASiteIsNotAsManySourcesAsItHasNetworks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		config := defaults()
		config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		w := newWorldWith(t, config, withLogin)
		register := func(source string) int {
			r := w.request(http.MethodPost, "/oauth/register", "", "{}")
			r.Header.Set("X-Forwarded-For", source)
			return w.do(r).status
		}
		passed := 0
		for n := range 40 * rareBurst {
			if register(fmt.Sprintf("2001:db8:0:%x::1", n%256*256)) == http.StatusOK {
				passed++
			}
		}
		// Networks may share a cell.
		if passed < 12*rareBurst || passed > 32*rareBurst {
			t.Errorf("%d pass", passed)
		}
		for _, source := range []string{"2001:db8:1::1", "192.0.2.1"} {
			if got := register(source); got != http.StatusOK {
				t.Errorf("from %s: status %d", source, got)
			}
		}
	})
}
