// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/console/session"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// visit is a request of an administrator's browser.
type visit struct {
	httpapi.Call

	cookies session.Cookies
	// session is nil for a browser without one.
	session *session.Session
	// form is what the administrator sent.
	form url.Values
}

// who is the administrator.
func (v *visit) who() httpapi.Administrator { return *v.session.Administrator }

// user is the user of the path.
func (v *visit) user() v1alpha1.UserID { return v1alpha1.UserID(v.Param("userId")) }

// query returns a parameter of the query, empty for none.
func (v *visit) query(name string) string { return v.Request().URL.Query().Get(name) }

// filters returns the parameters of the query that say something: a form without a script
// sends its empty fields too.
func (v *visit) filters() url.Values {
	given := v.Request().URL.Query()
	for name, values := range given {
		if len(values) == 1 && values[0] == "" {
			delete(given, name)
		}
	}
	return given
}

// handler handles a visit. Its error is shown to the administrator.
type handler func(*visit) error

// page returns the handler of a page that needs no session.
func (d *door) page(handle handler) func(httpapi.Call) error {
	return func(call httpapi.Call) error {
		v := &visit{Call: call, cookies: session.AdministratorCookiesAt(call.Request())}
		if err := handle(v); err != nil {
			return d.showError(v, err)
		}
		return nil
	}
}

// view returns the handler of a page of an administrator with a session and a role that
// suffices. Without a session, the administrator is sent to log in, and comes back.
func (d *door) view(handle handler) func(httpapi.Call) error {
	return d.page(func(v *visit) error {
		if err := d.enter(v); err != nil {
			return err
		}
		return handle(v)
	})
}

// form returns the handler of a form of an administrator with a session and a role that
// suffices.
func (d *door) form(handle handler) func(httpapi.Call) error {
	return d.view(func(v *visit) error {
		var err error
		if v.form, err = console.ReadForm(v, v.session.CSRF); err != nil {
			return err
		}
		return handle(v)
	})
}

// enter makes the administrator of the browser's session the caller.
func (d *door) enter(v *visit) error {
	token := v.cookies.Session(v.Request())
	if token == "" {
		return d.sendToLogin(v, "")
	}
	s, err := d.Sessions.Open(v.Request().Context(), token)
	switch {
	case errors.Is(err, session.ErrNone), err == nil && s.Administrator == nil:
		return d.sendToLogin(v, "ended")
	case err != nil:
		return fmt.Errorf("%w: %w", console.ErrAway, err)
	}
	// Whose page it is decides how the refusal of another role's looks.
	v.session = &s
	err = v.EnterAdministrator(*s.Administrator)
	if p, ok := errors.AsType[*httpapi.Problem](err); ok {
		switch p.Status {
		case http.StatusUnauthorized:
			v.session = nil
			return d.sendToLogin(v, "ended")
		case http.StatusNotFound:
			return console.ErrNotFound
		}
	}
	return err
}

// Begin gives the browser the session of an administrator who has just logged in, and sends
// it to their first page, or to next if that is a page of the console.
func (c *Console) Begin(call httpapi.Call, who httpapi.Administrator, next string) error {
	return c.door.begin(&visit{Call: call, cookies: session.AdministratorCookiesAt(call.Request())}, who, next)
}

func (d *door) begin(v *visit, who httpapi.Administrator, next string) error {
	s, err := d.Sessions.Begin(session.Session{Identity: httpapi.Identity{Since: who.Since}, Administrator: &who})
	if err != nil {
		return fmt.Errorf("%w: %w", console.ErrAway, err)
	}
	token, life, err := d.Sessions.Issue(v.Request().Context(), s)
	if err != nil {
		return fmt.Errorf("%w: %w", console.ErrAway, err)
	}
	v.cookies.SetSession(v.Writer(), token, life)
	if next = nextPage(next); next == pathHome {
		next = homeOf(who)
	}
	console.Redirect(v.Writer(), next)
	return nil
}

// errRedirected ends a visit that was answered with a redirect.
var errRedirected = errors.New("the browser was sent elsewhere")

// sendToLogin sends the browser to log in, and back to its page then. why is the reason,
// empty for a browser that had no session.
func (d *door) sendToLogin(v *visit, why string) error {
	to := console.LoginAt(pathLogin, console.Filtered(formPage(v), v.Request()))
	if why != "" {
		v.cookies.RemoveSession(v.Writer())
		to += "&why=" + why
	}
	console.Redirect(v.Writer(), to)
	return errRedirected
}

// formPage returns the page to which a visit belongs: that of the form that was sent. A page
// that asks before an act has the path of the act.
func formPage(v *visit) string {
	if v.Request().URL.Path == pathLogout {
		return pathHome
	}
	return v.Request().URL.Path
}

// nextPage returns the page that a login leads to.
func nextPage(asked string) string {
	path, ok := console.NextPath(asked)
	if ok && !strings.Contains(path, "..") && (path == pathHome || strings.HasPrefix(path, pathHome+"/")) {
		return path
	}
	return pathHome
}

// done sends the browser to a page that says what was done.
func (v *visit) done(page, what string) error {
	console.Redirect(v.Writer(), page+"?done="+what)
	return nil
}
