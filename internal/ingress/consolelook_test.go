// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"encoding/base64"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// Logos of an installation. Of a picture only the beginning is looked at.
const (
	logoPNG = "\x89PNG\r\n\x1a\nof an installation"
	logoSVG = `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`
)

var logoOfPage = regexp.MustCompile(`<img src="(/static/logo-[0-9a-f]{16}\.(?:png|svg))" alt="" `)

// checkLook reports a page that does not look as the installation is configured, and returns
// the path of its logo.
func checkLook(t *testing.T, what string, got reply, name, contact string) string {
	t.Helper()
	name, contact = html.EscapeString(name), html.EscapeString(contact)
	images := logoOfPage.FindAllStringSubmatch(got.body, -1)
	if len(images) != 1 || strings.Count(got.body, "<img") != 1 {
		t.Fatalf("%s has not the one logo: %d %s", what, got.status, got.body)
	}
	for _, want := range []string{" - " + name + "</title>", name + "</a>", "Questions? Ask " + contact + "."} {
		if !strings.Contains(got.body, want) {
			t.Errorf("%s does not have %q: %s", what, want, got.body)
		}
	}
	if policy := got.header.Get("Content-Security-Policy"); !strings.Contains(policy, "img-src 'self' data:;") {
		t.Errorf("%s: the policy %q does not let the logo in", what, policy)
	}
	return images[0][1]
}

func TestPagesLookAsTheInstallationIsConfigured(t *testing.T) {
	const name, contact = `A & B <i>"bridges"</i>`, "<b>help@example.com</b>"
	for mediaType, logo := range map[string]string{"image/png": logoPNG, "image/svg+xml": logoSVG} {
		t.Run(mediaType, func(t *testing.T) {
			w := newConsoleWorld(t, func(o *console.Options) { o.Name, o.Contact, o.Logo = name, contact, []byte(logo) })
			in, out := w.logged(w.alice), w.visitor()
			pages := map[string]reply{
				"first visit": out.open("/"), "login": out.open("/login"), "a refused login": out.logIn("x", "/"),
				"nothing": in.open("/servers/nothing"), "a refused form": in.post("/keys", url.Values{}), "a request that reaches no page": in.post("/keys", url.Values{}, "Accept", "text/html", "Sec-Fetch-Site", "cross-site"),
			}
			for _, path := range consolePages {
				pages[path] = in.open(path)
			}
			if got := pages["a request that reaches no page"]; got.status != http.StatusForbidden || got.body == pages["a refused form"].body {
				t.Errorf("it reaches one: %d %s", got.status, got.body)
			}
			path := ""
			for what, got := range pages {
				path = checkLook(t, what, got, name, contact)
			}
			got := out.open(path)
			if got.status != http.StatusOK || got.body != logo {
				t.Errorf("%s: %d %q", path, got.status, got.body)
			}
			for header, want := range map[string]string{
				"Content-Type": mediaType, "Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff",
				"Content-Security-Policy": "default-src 'none'; sandbox", // A picture opened by itself runs no script.
			} {
				if got.header.Get(header) != want {
					t.Errorf("%s: %s is %q", path, header, got.header.Get(header))
				}
			}
			if known, err := console.LogoPath([]byte(logo)); err != nil || known != path {
				t.Errorf("other pages would name it %s: %v", known, err)
			}
		})
	}
}

func TestPagesHaveTheProductsLookUnlessConfigured(t *testing.T) {
	w := newConsoleWorld(t, func(o *console.Options) { o.Name, o.Contact = "", "" })
	for _, got := range []reply{w.visitor().open("/login"), w.logged(w.alice).open("/keys")} {
		if strings.Contains(got.body, "<img") || !strings.Contains(got.body, " - hosted-bridge</title>") || !strings.Contains(got.body, "Questions? Ask an administrator.") {
			t.Errorf("%s", got.body)
		}
	}
}

func TestPagesOfAdministratorsLookAsThoseOfUsers(t *testing.T) {
	w := newAdminWorld(t)
	v := w.with(oauth.RoleAdmin)
	pages := map[string]reply{"login": w.visitor().open("/console/login"), "nothing": v.open("/console/nothing")}
	for path := range adminPages {
		pages[path] = v.open(path)
	}
	for what, got := range pages {
		checkLook(t, what, got, "Example bridges", "ask@example.com")
	}
}

var appLink = regexp.MustCompile(`href="((?:vscode|cursor):[^"]*)"`)

// installed is a server as an app installs it from a link.
type installed struct {
	Name   string
	Config map[string]any
}

// readVSCode reads a link as VS Code does: what follows the question mark is JSON in percent
// encoding, which it may decode twice.
func readVSCode(link string) (i installed, ok bool) {
	query, ok := strings.CutPrefix(link, "vscode:mcp/install?")
	once, err := url.PathUnescape(query)
	twice, errTwice := url.PathUnescape(once)
	if !ok || err != nil || errTwice != nil || once != twice || json.Unmarshal([]byte(once), &i.Config) != nil {
		return i, false
	}
	i.Name, ok = i.Config["name"].(string)
	delete(i.Config, "name")
	return i, ok
}

// readCursor reads a link as Cursor does: the parameter config is JSON in base64.
func readCursor(link string) (i installed, ok bool) {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "cursor" || u.Host != "anysphere.cursor-deeplink" || u.Path != "/mcp/install" {
		return i, false
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil || len(q) != 2 || len(q["name"]) != 1 || len(q["config"]) != 1 {
		return i, false
	}
	config, err := base64.StdEncoding.DecodeString(q.Get("config"))
	i.Name = q.Get("name")
	return i, err == nil && json.Unmarshal(config, &i.Config) == nil
}

func TestLinksInstallTheBridgeInApps(t *testing.T) {
	const base = "https://bridges.example.com"
	for _, name := range []string{"Example bridges", `A & B "x"</a>?#%22+=`} {
		w := newConsoleWorld(t, func(o *console.Options) { o.Name, o.BaseURL, o.Login = name, base, "/oauth/console" })
		w.bindSubject("alice", "ann")
		v, _ := w.logsIn("ann")
		page := v.open("/connect")
		found := appLink.FindAllStringSubmatch(page.body, -1)
		if len(found) != 2 {
			t.Fatalf("%q: the page has %d links to apps: %s", name, len(found), page.body)
		}
		vscode, ok := readVSCode(html.UnescapeString(found[1][1]))
		want := installed{"hb", map[string]any{"type": "http", "url": base + "/u/alice/mcp"}}
		if diff := cmp.Diff(want, vscode); !ok || diff != "" {
			t.Errorf("%q: VS Code reads %s (-want +got):\n%s", name, found[1][1], diff)
		}
		cursor, ok := readCursor(html.UnescapeString(found[0][1]))
		delete(want.Config, "type")
		if diff := cmp.Diff(want, cursor); !ok || diff != "" {
			t.Errorf("%q: Cursor reads %s (-want +got):\n%s", name, found[0][1], diff)
		}
		if strings.Contains(page.body, w.alice) || strings.Contains(page.body, "hb_") {
			t.Errorf("%q: the page has a key: %s", name, page.body)
		}
	}
}

var copied = regexp.MustCompile(`(?s)<code class="copy">(\{.*?)</code>`)

func TestConfigurationsOfAppsAreJSONWithoutAKey(t *testing.T) {
	for _, login := range []string{"", "/oauth/console"} {
		w := newConsoleWorld(t, func(o *console.Options) { o.Login = login })
		page := w.logged(w.alice).open("/connect")
		found := copied.FindAllStringSubmatch(page.body, -1)
		if len(found) != 8 { // Of all but Claude Code, a command, Codex, in TOML, and Goose, an address.
			t.Errorf("the page has %d configurations: %s", len(found), page.body)
		}
		for _, text := range found {
			config := html.UnescapeString(text[1])
			if !json.Valid([]byte(config)) || !strings.Contains(config, `rl": "`+w.visitor().url()+`/u/alice/mcp"`) {
				t.Errorf("with the login %q: %s", login, config)
			}
		}
		if strings.Contains(page.body, w.alice) {
			t.Errorf("with the login %q the page has a key: %s", login, page.body)
		}
	}
}
