// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// strangersWorld is a world with a console whose address is known.
func strangersWorld(t *testing.T) *consoleWorld {
	t.Helper()
	return newConsoleWorld(t, func(o *console.Options) { o.BaseURL = publicURL })
}

// ask sends a request without a session.
func (w *consoleWorld) ask(method, path, accept string, header ...string) reply {
	w.t.Helper()
	r := w.request(method, path, "", "")
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return w.do(r)
}

func TestABrowserAtAnAddressOfProgramsSeesTheNextStep(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := strangersWorld(t)
		address := func(user string) string { return `<code class="copy">` + publicURL + "/u/" + user + "/mcp</code>" }
		for path, want := range map[string]struct {
			status int
			says   []string
		}{
			"/u/alice/mcp":       {http.StatusUnauthorized, []string{"<h1>This address is for your apps</h1>", address("alice"), `href="/connect"`}},
			"/u/alice/mcp/":      {http.StatusUnauthorized, []string{address("alice")}},
			"/u/alice":           {http.StatusNotFound, []string{"<h1>This address is for your apps</h1>", address("alice"), `href="/connect"`}},
			"/u/alice/mpc?x=<b>": {http.StatusNotFound, []string{address("alice")}},
			"/u/ALICE/mcp":       {http.StatusNotFound, []string{"/u/USER/mcp", `href="/connect"`}},
			"/u/":                {http.StatusNotFound, []string{"/u/USER/mcp"}},
			"/mcp":               {http.StatusUnauthorized, []string{`<code class="copy">` + publicURL + `/mcp</code>`}},
			"/no/such/page":      {http.StatusNotFound, []string{"<h1>There is no such page</h1>", "Check the address", `href="/">Go to the first page</a>`}},
			"/favicon.txt":       {http.StatusNotFound, []string{"<h1>There is no such page</h1>"}},
			"/servers":           {http.StatusNotFound, []string{"<h1>There is no such page</h1>", "Check the address"}},
		} {
			got := w.ask(http.MethodGet, path, acceptOfBrowser)
			if got.status != want.status || got.header.Get("Content-Type") != "text/html; charset=utf-8" || got.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %d %v", path, got.status, got.header)
			}
			for _, says := range want.says {
				if strings.Count(got.body, says) != 1 {
					t.Errorf("%s does not say %s once: %s", path, says, got.body)
				}
			}
			if strings.Contains(got.body, "<b>") {
				t.Errorf("%s repeats the query: %s", path, got.body)
			}
		}
		// The page leads on: whoever has no session logs in, and comes back.
		if got := w.visitor().open("/connect"); got.status != http.StatusSeeOther || got.header.Get("Location") != "/login?next=/connect" {
			t.Errorf("the next step: %d %v", got.status, got.header)
		}
	})
}

func TestWhatABrowserSeesDoesNotTellWhoseBridgesThereAre(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := strangersWorld(t)
		session := w.logged(w.alice)
		seen := func(got reply, user string) (int, http.Header, string) {
			header := got.header.Clone()
			for _, varies := range []string{"Date", "X-Request-Id"} {
				header.Del(varies)
			}
			header.Set("Www-Authenticate", strings.ReplaceAll(header.Get("Www-Authenticate"), user, "USER"))
			header.Del("Content-Length") // It differs as the names do.
			return got.status, header, strings.ReplaceAll(got.body, user, "USER")
		}
		for _, path := range []string{"/u/USER/mcp", "/u/USER", "/u/USER/secrets", "/u/USER/health"} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				at := func(user string) string { return strings.ReplaceAll(path, "USER", user) }
				status, header, body := seen(w.ask(method, at("alice"), acceptOfBrowser), "alice")
				otherStatus, otherHeader, otherBody := seen(w.ask(method, at("nobody"), acceptOfBrowser), "nobody")
				if diff := cmp.Diff(header, otherHeader); status != otherStatus || body != otherBody || diff != "" {
					t.Errorf("%s %s: %d and %d, %s\n%s\n%s", method, path, status, otherStatus, diff, body, otherBody)
				}
			}
			r, err := http.NewRequest(http.MethodGet, session.url()+strings.ReplaceAll(path, "USER", "alice"), nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept", acceptOfBrowser)
			_, _, body := seen(session.send(r), "alice")
			if _, _, without := seen(w.ask(http.MethodGet, strings.ReplaceAll(path, "USER", "alice"), acceptOfBrowser), "alice"); body != without {
				t.Errorf("%s with a session: %s", path, body)
			}
		}
	})
}

func TestProgramsAreAnsweredWithoutPages(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := strangersWorld(t)
		for _, path := range []string{"/u/alice/mcp", "/u/alice", "/mcp", "/no/such/page", "/u/alice/secrets"} {
			want := w.ask(http.MethodGet, path, "")
			if want.header.Get("Content-Type") != httpapi.ContentType {
				t.Fatalf("%s without Accept: %v", path, want.header)
			}
			for _, accept := range []string{
				"*/*", "application/json", "application/json, text/event-stream", "text/event-stream", "application/json, text/plain, */*",
				"application/json, text/html;q=0.9", "text/html, application/json, text/event-stream", "text/html;q=0", "text/*", "text/css,*/*;q=0.1", "text/html;q=x;", "image/png",
			} {
				if got := w.ask(http.MethodGet, path, accept); got.status != want.status || got.body != want.body || got.header.Get("Content-Type") != httpapi.ContentType {
					t.Errorf("%s for %q: %d %v %s", path, accept, got.status, got.header, got.body)
				}
			}
			for name, credential := range map[string]string{"Authorization": "Bearer hb_wrong", "X-API-Key": "hb_wrong"} {
				if got := w.ask(http.MethodGet, path, acceptOfBrowser, name, credential); got.status != want.status || got.header.Get("Content-Type") != httpapi.ContentType {
					t.Errorf("%s with %s: %d %v", path, name, got.status, got.header)
				}
			}
			if got := w.ask(http.MethodPost, path, acceptOfBrowser); strings.Contains(got.header.Get("Content-Type"), "html") {
				t.Errorf("POST %s: %v", path, got.header)
			}
		}
	})
}
