// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// loginPage asks who an administrator is.
type loginPage struct {
	frame

	// Visit is what the form repeats of the browser's cookie, and Next the page after it.
	Visit, Next string
	// Login leads to the providers, empty where nobody has a role.
	Login string
	// Error says what is wrong with the key.
	Error string
}

// whyTexts say why an administrator has to log in again.
var whyTexts = map[string]string{
	"ended": "Your session ended. Sessions of administrators last an hour. Log in to return to this page.",
	"out":   "You are logged out.",
}

// loginForm is the page on which an administrator logs in.
func (d *door) loginForm(v *visit) error {
	f := frame{Title: "Log in as an administrator", Said: whyTexts[v.query("why")]}
	return d.showLogin(v, http.StatusOK, &loginPage{frame: f, Next: v.query("next")})
}

// showLogin shows the form of logins. The browser gets a cookie, without which the form is
// not taken: a form that logs a person in as somebody else is a write.
func (d *door) showLogin(v *visit, status int, p *loginPage) error {
	secret := v.cookies.Visit(v.Request())
	if !flow.IsSecret(secret) {
		var err error
		if secret, err = flow.NewSecret(d.Sessions.Random); err != nil {
			return err
		}
		v.cookies.SetVisit(v.Writer(), secret)
	}
	p.Visit, p.Next = flow.Hash(secret), nextPage(p.Next)
	if d.Login != "" {
		p.Login = console.LoginAt(d.Login, p.Next)
	}
	return d.show(v, "login", status, p)
}

// logIn begins the session of an administrator who entered the admin key.
func (d *door) logIn(v *visit) error {
	body, err := v.Body()
	if err != nil {
		return err
	}
	if v.form, err = url.ParseQuery(string(body)); err != nil {
		return console.ErrForm
	}
	visit := v.cookies.Visit(v.Request())
	if !flow.IsSecret(visit) || !flow.Same(v.form.Get("visit"), flow.Hash(visit)) {
		return console.ErrNoCookie
	}
	who, err := v.IdentifyAdministrator(strings.TrimSpace(v.form.Get("key")))
	if err != nil {
		return d.keyRefused(v, err)
	}
	if err := v.EnterAdministrator(who); err != nil {
		return err
	}
	if err := v.Audit(httpapi.Act{Name: "console.login"}); err != nil {
		return err
	}
	return d.begin(v, who, v.form.Get("next"))
}

// keyRefused shows the form again. What was typed is not repeated: it may be a key.
func (d *door) keyRefused(v *visit, err error) error {
	p, ok := errors.AsType[*httpapi.Problem](err)
	if !ok {
		return err
	}
	page := &loginPage{frame: frame{Title: "Log in as an administrator"}, Next: v.form.Get("next"), Error: p.Detail}
	if p.Status == http.StatusUnauthorized {
		page.Error = "This is not the admin key of this installation."
	}
	return d.showLogin(v, p.Status, page)
}

// errNotEnded is for an administrator whose session ended in this browser alone.
var errNotEnded = httpapi.New(http.StatusServiceUnavailable, "session_not_ended",
	"You are logged out in this browser. The API server did not answer, so a copy of this session may go on until an hour after its login.")

// logOut ends the session, in this browser also if its copies cannot be ended now.
func (d *door) logOut(v *visit) error {
	v.cookies.RemoveSession(v.Writer())
	if err := d.Sessions.End(v.Request().Context(), *v.session); err != nil {
		return fmt.Errorf("%w: %w", errNotEnded, err)
	}
	if err := v.Audit(httpapi.Act{Name: "console.logout"}); err != nil {
		return err
	}
	console.Redirect(v.Writer(), pathLogin+"?why=out")
	return nil
}
