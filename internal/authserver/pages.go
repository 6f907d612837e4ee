// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/client"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

const (
	schemeHTTP  = "http"
	schemeHTTPS = "https"
)

//go:embed pages
var pageFiles embed.FS

// pages are what people see. There is no script in them.
type pages struct {
	installation                               string
	message, choose, consent, invited, connect *template.Template
	// style is the hash of the style sheet, by which the policy lets it in.
	style string
}

func newPages(installation string) *pages {
	p := &pages{installation: installation}
	layout := template.Must(template.ParseFS(pageFiles, "pages/layout.html", "pages/style.html", "pages/bridge.html"))
	of := func(name string) *template.Template {
		return template.Must(template.Must(layout.Clone()).ParseFS(pageFiles, "pages/"+name+".html"))
	}
	p.message, p.choose, p.consent, p.invited, p.connect = of("message"), of("choose"), of("consent"), of("invited"), of("connect")
	sum := sha256.Sum256(styleOf(p.message))
	p.style = base64.StdEncoding.EncodeToString(sum[:])
	return p
}

// styleOf returns the style sheet as it is in a page: the templates' own escaping
// may have changed it.
func styleOf(page *template.Template) []byte {
	var b bytes.Buffer
	if err := page.Execute(&b, messagePage{}); err != nil {
		panic(err)
	}
	_, after, _ := bytes.Cut(b.Bytes(), []byte("<style>"))
	style, _, _ := bytes.Cut(after, []byte("</style>"))
	return style
}

// heading is what all pages have.
type heading struct {
	Title, Installation string
}

// messagePage says something. Code is for whoever looks into it, and Who what
// spec.oauth.subjects would have to name.
type messagePage struct {
	heading
	Text, Code string
	Who        *flow.Identity
	Addresses  []string
	Back       *backLink
}

// backLink leads to the client, which hears why it gets nothing.
type backLink struct {
	Host string
	URL  template.URL
}

// choosePage asks where to log in.
type choosePage struct {
	heading
	Client    string
	Server    string
	Invited   v1alpha1.UserID
	Providers []providerLink
}

type providerLink struct{ Name, URL string }

// consentPage asks whether a client may act for the person.
type consentPage struct {
	heading
	Person, Provider, Client string
	// ClientHost is who vouches for the client, and Unchecked that nobody does.
	ClientHost string
	Unchecked  bool
	// RedirectHost is where the answer goes: Loopback that it is this computer,
	// and Scheme that it is an app.
	RedirectHost string
	Loopback     bool
	Scheme       string
	// Bridges are those of which the person allows one.
	Bridges []bridgeOption
	Scopes  []string
	Action  string
	Login   string
}

// bridgeOption is a bridge that a person may agree to. Value names it in the form.
type bridgeOption struct {
	Value     string
	User      v1alpha1.UserID
	Namespace string
	// Offered is whether it is made when they agree, and Onboarded whether a first
	// login of theirs made it.
	Offered, Onboarded bool
	// Foreign is whether only the authors of its namespace say that it is for them.
	Foreign bool
}

// invitedPage says that an invitation was taken.
type invitedPage struct {
	heading
	Person  string
	User    v1alpha1.UserID
	Address string
}

// connectPage shows where the account of a server is.
type connectPage struct {
	heading
	Person string
	Bridge bridgeOption
	Server string
	// Host is where the account is, and TokenOrigin where its tokens are made.
	Host, TokenOrigin string
	// ServerOrigin is where the tokens are sent, empty for a program in the bridge, and
	// ServerForeign whether the account is elsewhere.
	ServerOrigin  string
	ServerForeign bool
	Scopes        []string
	Action        string
	Login         string
}

// titled returns a page's heading.
func (p *pages) titled(title string) heading { return heading{title, p.installation} }

// show answers with a page. forms is where its forms may lead, empty where it has
// none.
func (p *pages) show(c httpapi.Call, page *template.Template, status int, forms string, data any) error {
	var b bytes.Buffer
	if err := page.Execute(&b, data); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	p.setHeader(c.Writer().Header(), forms)
	c.Writer().WriteHeader(status)
	// Whoever hung up does not read it either.
	_, _ = c.Writer().Write(b.Bytes())
	return nil
}

// setHeader sets what browsers keep to. There is no opener policy: a client that
// opens the login in a window of its own waits there for the answer, which one
// would cut off. No referrer goes to other sites; with none to our own either,
// browsers would send forms without their origin. The one image is an empty icon,
// so that browsers ask for none.
func (p *pages) setHeader(h http.Header, forms string) {
	if forms == "" {
		forms = "'none'"
	}
	h.Set(headerCache, cacheNever)
	h.Set("Content-Security-Policy", "default-src 'none'; img-src data:; style-src 'sha256-"+p.style+"'; form-action "+forms+"; frame-ancestors 'none'; base-uri 'none'")
	h.Set(headerType, "text/html; charset=utf-8")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

// backTo returns the link by which a person tells the client what happened. The
// redirect URI passed Redirects.Check, so that no browser runs it.
func backTo(uri string, answer url.Values) *backLink {
	return &backLink{Host: hostOf(uri), URL: template.URL(client.AddQuery(uri, answer))} //nolint:gosec // As above.
}

// hostOf returns what a page shows of a URI that passed Redirects.Check: its host and
// port, or its scheme if it has no host.
func hostOf(uri string) string {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return ""
	case u.Scheme == schemeHTTPS || u.Scheme == schemeHTTP:
		return u.Host
	default:
		return u.Scheme + ":"
	}
}

// formTargets returns where a page's form may lead, for its content security policy.
// Browsers apply it also to redirects after the form, such as those from the client's
// redirect URI to another site of the client. So it allows all of https beside the
// URI's own origin.
func formTargets(uri string) string {
	targets := "'self' https:"
	u, err := url.Parse(uri)
	switch {
	case err != nil || u.Scheme == schemeHTTPS || u.Scheme == "":
		return targets
	case u.Scheme == schemeHTTP && !strings.HasPrefix(u.Host, "["):
		return targets + " http://" + u.Host
	default:
		// A policy cannot name an IPv6 address.
		return targets + " " + u.Scheme + ":"
	}
}
