// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/pages"
)

//go:embed pages
var pageFiles embed.FS

// loginPages are what people see. There is no script in them.
type loginPages struct {
	look                                                           look
	MessagePage, ChoosePage, ConsentPage, InvitedPage, ConnectPage *template.Template
	AdministratorPage, ConsolePage                                 *template.Template
	// style is the hash of the style sheet, by which the policy lets it in.
	style string
}

// look is what pages of an installation have in common.
type look struct {
	// Installation is what people read that it is called, and Contact whom they are told to
	// ask, empty for an administrator.
	Installation, Contact string
	// Logo is the path of a picture of this host, empty for the product's.
	Logo string
}

// newPages returns the pages of an installation.
func newPages(look look) *loginPages {
	look.Contact = cmp.Or(look.Contact, "an administrator")
	p := &loginPages{look: look}
	layout := template.Must(template.New("layout.html").Funcs(pages.Funcs()).ParseFS(pageFiles, "pages/layout.html", "pages/bridge.html"))
	template.Must(layout.New("style").Parse(pages.Style))
	of := func(name string) *template.Template {
		return template.Must(template.Must(layout.Clone()).ParseFS(pageFiles, "pages/"+name+".html"))
	}
	p.MessagePage, p.ChoosePage, p.ConsentPage, p.InvitedPage, p.ConnectPage = of("message"), of("choose"), of("consent"), of("invited"), of("connect")
	p.AdministratorPage, p.ConsolePage = of("administrator"), of("console")
	sum := sha256.Sum256(styleOf(p.MessagePage))
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
	Title string
	look
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
	Client  string
	Server  string
	Invited v1alpha1.UserID
	// Administers and Console say what else the login is for.
	Administers, Console bool
	Providers            []providerLink
}

// providerLink is a provider to log in at.
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

// administratorPage shows an administrator and an owner of SharedServers a token each, which is
// good for so many minutes.
type administratorPage struct {
	heading
	Person string
	Roles  []oauth.Role
	Token  string
	// Shared are the SharedServers that SharedToken names.
	Shared      []string
	SharedToken string
	Minutes     int
	Address     string
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

// Titled returns a page's heading.
func (p *loginPages) Titled(title string) heading { return heading{title, p.look} }

// Show answers with a page. forms is where its forms may lead, empty where it has
// none.
func (p *loginPages) Show(c httpapi.Call, page *template.Template, status int, forms string, data any) error {
	return p.write(c.Writer(), page, status, forms, data)
}

// ShowProblem answers a request that did not reach its page.
func (p *loginPages) ShowProblem(w http.ResponseWriter, problem *httpapi.Problem) error {
	return p.write(w, p.MessagePage, problem.Status, "", messagePage{heading: p.Titled(problem.Title()), Text: problem.Detail})
}

func (p *loginPages) write(w http.ResponseWriter, page *template.Template, status int, forms string, data any) error {
	var b bytes.Buffer
	if err := page.Execute(&b, data); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	p.SetHeader(w.Header(), forms)
	w.WriteHeader(status)
	// Whoever hung up does not read it either.
	_, _ = w.Write(b.Bytes())
	return nil
}

// SetHeader sets what browsers keep to. There is no opener policy: a client that
// opens the login in a window of its own waits there for the answer, which one
// would cut off. No referrer goes to other sites; with none to our own either,
// browsers would send forms without their origin. Images are the logo and an empty icon,
// so that browsers ask for no other.
func (p *loginPages) SetHeader(h http.Header, forms string) {
	if forms == "" {
		forms = "'none'"
	}
	images := "data:"
	if p.look.Logo != "" {
		images = "'self' data:"
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; img-src "+images+"; style-src 'sha256-"+p.style+"'; form-action "+forms+"; frame-ancestors 'none'; base-uri 'none'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

// backTo returns the link by which a person tells the client what happened, from its
// redirect URI with the answer. The URI passed Redirects.Check, so that no browser runs
// it.
func backTo(uri string) *backLink {
	return &backLink{Host: hostOf(uri), URL: template.URL(uri)} //nolint:gosec // As above.
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
