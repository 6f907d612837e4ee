// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/pages"
)

//go:embed pages
var pageFiles embed.FS

// pageNames are the templates of the pages, each in a file of its own.
var pageNames = []string{"welcome", "login", "home", "connect", "catalog", "server", "confirm", "secrets", "keys", "tools", "tool", "activity", "message", "stranger"}

func parsePages() map[string]*template.Template {
	layout := Layout()
	pages := map[string]*template.Template{}
	for _, name := range pageNames {
		pages[name] = template.Must(template.Must(layout.Clone()).ParseFS(pageFiles, "pages/"+name+".html"))
	}
	return pages
}

// frame is what each page has.
type frame struct {
	Title, Name, Contact string
	// Small is a page without navigation.
	Small bool
	// Home is the first page, Items the navigation, Who the person, and Logout where they log
	// out. Without a session there is only Home.
	Home        string
	Items       []Item
	Who, Logout string
	CSRF        string
	// Path is the part of the navigation to which the page belongs.
	Path        string
	Style, Logo string
	// Said is what was done, and Trouble what could not be shown and what works all the
	// same.
	Said, Trouble string
	// Changing is after how many seconds a page of which something is under way looks again, 0
	// for all other pages.
	Changing int
}

// UpdateEvery is how often a page of which something is under way looks again, in seconds: a
// server needs some seconds to start, and each look is a page.
const UpdateEvery = 5

// items are the navigation. It is the same on all pages.
var items = []Item{{pathHome, "Home"}, {pathCatalog, "Catalog"}, {pathTools, "Tools"}, {pathActivity, "Activity"}, {pathSecrets, "Secrets"}, {pathKeys, "Keys"}}

// content is a page's own part, which has a frame.
type content interface{ framed() *frame }

func (f *frame) framed() *frame { return f }

// show answers with a page.
func (c *core) show(v *visit, name string, status int, data content) error {
	f := data.framed()
	if v.session != nil {
		f.Items, f.Who, f.Logout, f.CSRF = items, string(v.user()), pathLogout, v.session.CSRF
	} else {
		f.Small = true
	}
	if v.Request().Method != http.MethodGet {
		f.Changing = 0 // Its address is that of the form, which shows another page.
	}
	if done := v.query("done"); f.Said == "" && (done != doneSecret || f.Trouble == "") {
		f.Said = doneTexts[done]
	}
	return c.write(v.Writer(), name, status, data)
}

// write answers with a page that needs no visit.
func (c *core) write(w http.ResponseWriter, name string, status int, data content) error {
	f := data.framed()
	f.Home, f.Name, f.Contact, f.Style, f.Logo = pathHome, c.Name, c.contact(), c.style.path(), c.logo.path()
	var b bytes.Buffer
	if err := c.templates[name].Execute(&b, data); err != nil {
		return fmt.Errorf("write page %s: %w", name, err)
	}
	WritePage(w, status, b.Bytes())
	return nil
}

// script is one that some pages have.
type script struct {
	// mark is in each of these pages, and in no text of others, whose quotes are escaped.
	mark string
	text string
	// hash is by which a policy allows it, and needs what else the policy allows for it.
	hash, needs string
}

func newScript(mark, text, needs string) script {
	sum := sha256.Sum256([]byte(text))
	return script{mark, text, " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'", needs}
}

// scripts are all that pages have.
var scripts = []script{
	newScript(`class="copy"`, pages.CopyScript, ""),
	newScript(`class="changes"`, pages.UpdateScript, "; connect-src 'self'"),
}

// WritePage answers with a page. One with a text to copy, or of which something is under way,
// has the script for it, and its policy allows this script alone; no other page may run any.
func WritePage(w http.ResponseWriter, status int, page []byte) {
	setHeader(w.Header())
	var added []byte
	allowed, needs := "", ""
	for _, s := range scripts {
		if bytes.Contains(page, []byte(s.mark)) {
			added = fmt.Appendf(added, "<script>%s</script>\n", s.text)
			allowed, needs = allowed+s.hash, needs+s.needs
		}
	}
	if at := bytes.LastIndex(page, []byte("</body>")); at >= 0 && added != nil {
		w.Header().Set("Content-Security-Policy", w.Header().Get("Content-Security-Policy")+"; script-src"+allowed+needs)
		page = slices.Concat(page[:at], added, page[at:])
	}
	w.WriteHeader(status)
	// Whoever hung up does not read it either.
	_, _ = w.Write(page)
}

// showProblem answers a request that did not reach its page.
func (c *core) showProblem(w http.ResponseWriter, p *httpapi.Problem) error {
	m := &message{frame: frame{Title: p.Title(), Small: true}, Text: p.Detail, Back: pathHome}
	return c.write(w, "message", p.Status, m)
}

// setHeader sets what browsers keep to. No script runs. With no referrer to our own
// pages browsers would send forms without their origin.
func setHeader(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

// The refusals of the console itself.
var (
	errForm     = httpapi.New(http.StatusForbidden, "form_refused", "This form is of another session, or was changed on its way. Go back, reload the page, and send the form again.")
	errAway     = httpapi.New(http.StatusServiceUnavailable, "console_unavailable", "Sessions cannot be checked at the moment. Your apps work on. Try again in a minute.")
	errBridge   = httpapi.New(http.StatusBadGateway, "bridge_failed", "The bridge did not answer.")
	errNoIndex  = httpapi.New(http.StatusServiceUnavailable, "audit_index_disabled", "This installation keeps no list of what was done.")
	errNotFound = httpapi.New(http.StatusNotFound, "not_found", "Check the address, or go on from the first page.")
)

// message is a page that says one thing.
type message struct {
	frame

	Text string
	// Back is where the person goes on.
	Back string
}

// showError shows an error to the person.
func (c *core) showError(v *visit, err error) error {
	if errors.Is(err, errRedirected) {
		return nil
	}
	p, known := errors.AsType[*httpapi.Problem](err)
	if !known || v.Request().Context().Err() != nil {
		return err
	}
	if p.Status >= http.StatusInternalServerError {
		c.Log.WarnContext(v.Request().Context(), "a page of the console failed", slog.String("code", p.Code), slog.Any("error", err))
	}
	h := v.Writer().Header()
	p.SetHeader(h, "hosted-bridge")
	h.Del("WWW-Authenticate") // A browser would ask for a password.
	m := &message{frame: frame{Title: p.Title()}, Text: p.Detail, Back: pathHome}
	return c.show(v, "message", p.Status, m)
}

// troubleOf returns what a page says in place of a part that cannot be shown.
func (c *core) troubleOf(v *visit, what string, err error) string {
	if errors.Is(err, errNoIndex) {
		return errNoIndex.Detail
	}
	detail := "It cannot be reached at the moment."
	if p, ok := errors.AsType[*httpapi.Problem](err); ok {
		detail = p.Detail
	}
	c.Log.WarnContext(v.Request().Context(), "a part of a page of the console failed", slog.String("part", what), slog.Any("error", err))
	return fmt.Sprintf("%s cannot be shown now: %s Everything else on this page is current, and your apps work on.", what, detail)
}

// asset is a file that pages name. The name has a hash of its content.
type asset struct {
	kind, suffix, mediaType, hash string
	content                       []byte
}

func newAsset(kind, suffix, mediaType string, content []byte) asset {
	return asset{kind, suffix, mediaType, hashOf(content), content}
}

// hashOf returns the part of a path by which another content has another one.
func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}

func styleAsset() asset {
	return newAsset("style", "css", "text/css; charset=utf-8", []byte(pages.Style))
}

// maxLogo is the largest logo, in bytes: it is on each page.
const maxLogo = 64 << 10

func logoAsset(content []byte) (asset, error) {
	switch text := bytes.TrimSpace(content); {
	case len(content) > maxLogo:
		return asset{}, fmt.Errorf("console: the logo has more than %d bytes", maxLogo)
	case bytes.HasPrefix(content, []byte("\x89PNG\r\n\x1a\n")):
		return newAsset("logo", "png", "image/png", content), nil
	case bytes.HasPrefix(text, []byte("<svg")), bytes.HasPrefix(text, []byte("<?xml")):
		return newAsset("logo", "svg", "image/svg+xml", content), nil
	}
	return asset{}, errors.New("console: the logo is neither PNG nor SVG")
}

func (a asset) path() string {
	if a.kind == "" {
		return ""
	}
	return "/static/" + a.kind + "-" + a.hash + "." + a.suffix
}

// serveFile answers with a file of the pages. One of another replica's hash is answered
// with ours, and not kept: during an upgrade both are asked for.
func (c *core) serveFile(call httpapi.Call) error {
	name := call.Param("file")
	of := c.style
	if strings.HasPrefix(name, "logo-") {
		of = c.logo
	}
	if of.kind == "" {
		return errNotFound
	}
	h := call.Writer().Header()
	h.Set("Content-Type", of.mediaType)
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if "/static/"+name == of.path() {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	call.Writer().WriteHeader(http.StatusOK)
	_, _ = call.Writer().Write(of.content)
	return nil
}

// acting is a button of a server in a page.
type acting struct {
	Server, CSRF, Back string
	Button             *button
}

// act returns what the template of a button needs. A page that has another button than that
// of the server's row passes it.
func act(r row, csrf, back string, other ...*button) acting {
	a := acting{Server: r.Name, CSRF: csrf, Back: back, Button: r.Button}
	for _, b := range other {
		a.Button = b
	}
	return a
}
