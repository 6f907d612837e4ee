// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// loginPage asks who a person is.
type loginPage struct {
	frame

	// Visit is what the form repeats of the browser's cookie, and Next the page after it.
	Visit, Next string
	// Login leads to the providers, empty where there are none.
	Login string
	// Error says what is wrong with the key.
	Error string
}

// homeOrWelcome is the page at the address of the installation.
func (d *door) homeOrWelcome(v *visit) error {
	known, err := d.resume(v)
	if err != nil {
		return err
	}
	if known {
		return d.home.home(v)
	}
	return d.showLogin(v, "welcome", http.StatusOK, &loginPage{frame: frame{Title: "All your tools behind one address"}, Next: pathHome})
}

// whyTexts say why a person has to log in again.
var whyTexts = map[string]string{
	"ended": "Your session ended. Log in to return to this page.",
	"out":   "You are logged out in all browsers.",
}

// loginForm is the page on which a person logs in.
func (d *door) loginForm(v *visit) error {
	next := nextPage(v.query("next"))
	f := frame{Title: "Log in", Said: whyTexts[v.query("why")]}
	return d.showLogin(v, "login", http.StatusOK, &loginPage{frame: f, Next: next})
}

// showLogin shows a page with the form of logins. The browser gets a cookie, without
// which the form is not taken: a form that logs a person in as somebody else is a write.
func (d *door) showLogin(v *visit, name string, status int, p *loginPage) error {
	secret := v.cookies.Visit(v.Request())
	if !flow.IsSecret(secret) {
		var err error
		if secret, err = flow.NewSecret(d.Sessions.Random); err != nil {
			return err
		}
		v.cookies.SetVisit(v.Writer(), secret)
	}
	p.Visit, p.Next = flow.Hash(secret), nextPage(p.Next)
	if p.Login = d.Login; p.Login != "" && p.Next != pathHome {
		p.Login = LoginAt(p.Login, p.Next)
	}
	return d.show(v, name, status, p)
}

// errNoCookie is for a browser that did not keep what the form's page gave it.
var errNoCookie = httpapi.New(http.StatusForbidden, "no_cookie",
	"Your browser did not send the cookie of this form back. Allow cookies for this site, and use its https:// address. Then open the page again.")

// logIn begins the session of a person who entered their key.
func (d *door) logIn(v *visit) error {
	body, err := v.Body()
	if err != nil {
		return err
	}
	if v.form, err = url.ParseQuery(string(body)); err != nil {
		return errForm
	}
	visit := v.cookies.Visit(v.Request())
	if !flow.IsSecret(visit) || !flow.Same(v.form.Get("visit"), flow.Hash(visit)) {
		return errNoCookie
	}
	who, err := v.Identify(strings.TrimSpace(v.form.Get("key")))
	if err != nil {
		return d.keyRefused(v, err)
	}
	if err := d.begin(v, who); err != nil {
		return err
	}
	v.redirect(nextPage(v.form.Get("next")))
	return nil
}

// keyRefused shows the form again. What was typed is not repeated: it may be a key.
func (d *door) keyRefused(v *visit, err error) error {
	p, ok := errors.AsType[*httpapi.Problem](err)
	if !ok || p.Status >= http.StatusInternalServerError {
		return err
	}
	page := &loginPage{frame: frame{Title: "Log in"}, Next: v.form.Get("next"), Error: p.Detail}
	if p.Status == http.StatusUnauthorized {
		page.Error = "This key is not valid here. A key begins with hb_ and has three parts; it may have been revoked or have expired."
	}
	return d.showLogin(v, "login", p.Status, page)
}

// errNotEnded is for a person whose session ended in this browser alone.
var errNotEnded = httpapi.New(http.StatusServiceUnavailable, "session_not_ended",
	"You are logged out in this browser. The API server did not answer, so a copy of this session may go on for up to eight hours. "+
		"To end all your sessions, log in and log out again in a minute.")

// logOut ends the person's sessions, in this browser also if others cannot be ended now.
func (d *door) logOut(v *visit) error {
	v.cookies.RemoveSession(v.Writer())
	if err := d.Sessions.End(v.Request().Context(), *v.session); err != nil {
		return fmt.Errorf("%w: %w", errNotEnded, err)
	}
	if err := v.Audit(httpapi.Act{Self: true, Name: "console.logout", User: string(v.user())}); err != nil {
		return err
	}
	v.redirect(pathLogin + "?why=out")
	return nil
}
