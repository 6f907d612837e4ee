// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

var link = regexp.MustCompile(`<a class="action" href="([^"]*)"`)

// linksOf returns where the links of a page lead.
func linksOf(a answer) []string {
	var links []string
	for _, found := range link.FindAllStringSubmatch(a.body, -1) {
		links = append(links, html.UnescapeString(found[1]))
	}
	return links
}

func TestPagesHaveNothingThatBrowsersRunOrShare(t *testing.T) {
	w := newWorld(t, providers(newProvider("other")))
	b := w.browser()
	choose := b.get(deskFor(alices).authorize())
	consent := b.get(back(t, b.get(linksOf(choose)[0]), "alice"))
	refused := httptest.NewRecorder()
	if err := w.replicas[0].Feature().ShowProblem(refused, httpapi.New(http.StatusTooManyRequests, "too_many", "Wait a few seconds.")); err != nil || !strings.Contains(refused.Body.String(), "Wait a few seconds.") {
		t.Errorf("a refused request: %v %s", err, refused.Body)
	}
	for name, test := range map[string]struct {
		page  answer
		forms string
	}{
		"too many requests": {answer{status: refused.Code, header: refused.Header(), body: refused.Body.String()}, "'none'"},
		"where to log in":   {choose, "'none'"},
		"consent":           {consent, "'self' https: http://127.0.0.1:49152"},
		"a message":         {b.get(pathAuthorize), "'none'"},
	} {
		t.Run(name, func(t *testing.T) {
			_, after, _ := strings.Cut(test.page.body, "<style>")
			style, _, ok := strings.Cut(after, "</style>")
			sum := sha256.Sum256([]byte(style))
			policy := "default-src 'none'; img-src data:; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action " + test.forms + "; frame-ancestors 'none'; base-uri 'none'"
			for field, want := range map[string]string{
				"Content-Security-Policy": policy, "Cache-Control": "no-store", "Referrer-Policy": "same-origin",
				"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Content-Type": "text/html; charset=utf-8",
			} {
				if got := test.page.header.Get(field); got != want {
					t.Errorf("%s is %q, want %q", field, got, want)
				}
			}
			if !ok || len(style) < 500 || strings.Contains(style, "ZgotmplZ") {
				t.Errorf("the style sheet is %q", style)
			}
			for _, part := range []string{`<html lang="en">`, "<title>", "<main>", "<h1>"} {
				if strings.Count(test.page.body, part) != 1 {
					t.Errorf("the page has not one %s", part)
				}
			}
			for _, part := range []string{"<script", " style=", " onclick", "javascript:", "http-equiv"} {
				if strings.Contains(test.page.body, part) {
					t.Errorf("the page has %s", part)
				}
			}
		})
	}
}

func TestPagesOfALoginLookAsTheInstallationIsConfigured(t *testing.T) {
	const name, contact, logo = `A & B <i>"bridges"</i>`, "<b>help@example.com</b>", "/static/logo-0123456789abcdef.png"
	never := func(httpapi.Call, httpapi.Identity, string) error { return errFake }
	w := newWorld(t, providers(newProvider("other")), func(o *Options) {
		o.Name, o.Contact, o.Logo = name, contact, logo
		o.Console, o.Connections = never, &fakeConnections{}
		o.Roles = []flow.Role{{Role: oauth.RoleAdmin, Issuer: "https://idp.example", Group: "platform"}}
	})
	w.users.invites = true
	w.provider.change(func() { w.provider.groups = map[string][]string{"ann": {"platform"}} })
	// after returns the page after a login at the first provider.
	after := func(path, who string) answer {
		b := w.browser()
		return b.get(back(t, b.get(linksOf(b.get(path))[0]), who))
	}
	refused := httptest.NewRecorder()
	if err := w.replicas[0].Feature().ShowProblem(refused, httpapi.New(http.StatusTooManyRequests, "too_many", "Wait a few seconds.")); err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string]answer{
		"where to log in":        w.browser().get(deskFor(alices).authorize()),
		"consent":                after(deskFor(alices).authorize(), "alice"),
		"which bridge":           after(ConsolePath, "amy"),
		"a token":                after(pathAdminister, "ann"),
		"an invitation":          after(w.invited(), "friend"),
		"an account":             after("/oauth/connect/alice/drive", "alice"),
		"a person without role":  after(pathAdminister, "alice"),
		"a message":              w.browser().get(pathAuthorize),
		"a request for no page":  {status: refused.Code, header: refused.Header(), body: refused.Body.String()},
		"a login that has ended": w.browser().get(pathLogin + "idp"),
	} {
		for _, want := range []string{
			`<img src="` + logo + `" alt="" `, html.EscapeString(name) + "</p></div></header>", " - " + html.EscapeString(name) + "</title>", "Questions? Ask " + html.EscapeString(contact) + ".",
		} {
			if strings.Count(got.body, want) != 1 {
				t.Errorf("%s does not have %q once: %d %s", what, want, got.status, got.body)
			}
		}
		if policy := got.header.Get("Content-Security-Policy"); !strings.Contains(policy, "img-src 'self' data:;") || strings.Contains(got.body, "<i>") || strings.Contains(got.body, "<b>") {
			t.Errorf("%s: policy %q: %s", what, policy, got.body)
		}
	}
	if got := newWorld(t).browser().get(pathAuthorize); strings.Contains(got.body, "<img") || !strings.Contains(got.body, "Questions? Ask an administrator.") {
		t.Errorf("without a logo and a contact: %s", got.body)
	}
}

func TestWhatClientsSayOfThemselvesIsShownAsText(t *testing.T) {
	const evil = `<script>alert(1)</script>"'><b>`
	w := newWorld(t)
	w.documents[siteID] = flow.Client{ID: siteID, Name: evil + "\u202e", RedirectURIs: []string{siteURI}, Document: true}
	c := deskFor(alices)
	c.id, c.redirect = siteID, siteURI
	got := w.browser().comesTo(c, "alice")
	fieldOf(t, got)
	if strings.Contains(got.body, "<script>") || strings.Contains(got.body, "<b>") || strings.Contains(got.body, "\u202e") {
		t.Errorf("the page has what the client says as it is: %s", got.body)
	}
	if !strings.Contains(got.body, html.EscapeString("<script>alert(1)</script>")) {
		t.Errorf("the page does not show it: %s", got.body)
	}
}

func TestThePageOfConsentSaysWhoIsAnswered(t *testing.T) {
	w := newWorld(t)
	registered := w.register(t, `{"client_name":"Reg","redirect_uris":["https://reg.example/cb","http://[::1]/cb"]}`)
	for _, test := range []struct {
		name, id, redirect string
		says, not          []string
		forms              string
	}{
		{"a configured client", desk, deskURI, []string{"<strong>127.0.0.1:49152</strong>", "program on the computer"}, []string{"nobody has checked", "vouches"}, "'self' https: http://127.0.0.1:49152"},
		{"a configured client that is an app", desk, "cursor://desk/callback", []string{"<strong>cursor:</strong>", "opens <strong>cursor:</strong> links"}, []string{"program on the computer"}, "'self' https: cursor:"},
		{"a client with a document", siteID, siteURI, []string{"<strong>site.example</strong> vouches for"}, []string{"nobody has checked", "on the computer", "on this computer"}, "'self' https:"},
		{"one that registered itself", registered, "https://reg.example/cb", []string{"<strong>reg.example</strong>", "nobody has checked"}, []string{"vouches", "on the computer"}, "'self' https:"},
		{"one at an address of IPv6", registered, "http://[::1]:8080/cb", []string{"<strong>[::1]:8080</strong>", "on the computer"}, nil, "'self' https: http:"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := deskFor(alices)
			c.id, c.redirect = test.id, test.redirect
			got := w.browser().comesTo(c, "alice")
			fieldOf(t, got)
			for _, words := range test.says {
				if !strings.Contains(got.body, words) {
					t.Errorf("the page does not say %q: %s", words, got.body)
				}
			}
			for _, words := range test.not {
				if strings.Contains(got.body, words) {
					t.Errorf("the page says %q: %s", words, got.body)
				}
			}
			if policy := got.header.Get("Content-Security-Policy"); !strings.Contains(policy, "form-action "+test.forms+";") {
				t.Errorf("policy %q", policy)
			}
		})
	}
}

func TestALookAtTheHeaderDoesNothing(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	link := back(t, b.get(deskFor(alices).authorize()), "alice")
	target := strings.TrimPrefix(link, issuer)
	if a := w.send(http.MethodHead, target, "", b.header()); a.status != http.StatusOK || a.header.Get("Location") != "" {
		t.Errorf("status %d", a.status)
	}
	fieldOf(t, b.get(link))
	count := len(w.store.entries)
	w.send(http.MethodHead, deskFor(alices).authorize(), "", nil)
	if len(w.store.entries) != count {
		t.Error("it began a login")
	}
}

func TestPagesSayWhatIsAway(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	w.store.fail("put")
	page(t, b.get(deskFor(alices).authorize()), http.StatusServiceUnavailable, "at the moment")
	w.store.works()
	w.provider.away = true
	page(t, b.get(deskFor(alices).authorize()), http.StatusServiceUnavailable, "You cannot log in")
	w.provider.away = false
	w.users.away = true
	page(t, b.comesTo(deskFor(alices), "alice"), http.StatusServiceUnavailable, "at the moment")
	if failed := w.steps(stepAuthorize, stepFailed); failed != 2 || strings.Count(w.logs.String(), "level=ERROR") != 3 {
		t.Errorf("%v requests failed: %s", failed, w.logs)
	}
}
