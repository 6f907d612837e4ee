// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/console/session"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// searchText is the form of a text that a person searches for.
const searchText = `q=([A-Za-z0-9_.*+-]|%[0-9A-Fa-f]{2})*`

// The forms of queries. None has anything that needs decoding.
var (
	toolsQuery    = regexp.MustCompile(`^(` + searchText + `|done=[a-z-]{1,32}|after=[0-9]{1,5}(&` + searchText + `)?)$`)
	searchQuery   = regexp.MustCompile(`^(` + searchText + `|done=[a-z-]{1,32})$`)
	activityQuery = regexp.MustCompile(`^before=[A-Za-z0-9_.:~=-]{1,200}$`)
)

// visit is a request of a person's browser.
type visit struct {
	httpapi.Call

	cookies session.Cookies
	// session is nil for a browser without one, and bridge the person's own.
	session *session.Session
	bridge  route.Backend
	// form is what a person sent.
	form url.Values
}

func (v *visit) user() v1alpha1.UserID { return userOf(v.session) }

// query returns a parameter of the query, empty for none.
func (v *visit) query(name string) string { return v.Request().URL.Query().Get(name) }

// origin returns where the installation is: as it is configured, or else as the browser
// reached it.
func (v *visit) origin(configured string) string {
	return originOf(v.Request(), configured)
}

func originOf(r *http.Request, configured string) string {
	scheme := "https://"
	if r.TLS == nil && !session.CookiesAt(r).Secure() {
		scheme = "http://"
	}
	return cmp.Or(strings.TrimSuffix(configured, "/"), scheme+r.Host)
}

// handler handles a visit. Its error is shown to the person.
type handler func(*visit) error

// page returns the handler of a page that needs no session.
func (d *door) page(handle handler) func(httpapi.Call) error {
	return func(call httpapi.Call) error {
		v := &visit{Call: call, cookies: session.CookiesAt(call.Request())}
		if err := handle(v); err != nil {
			return d.showError(v, err)
		}
		return nil
	}
}

// view returns the handler of a page of a person with a session. Others are sent to log
// in, and come back.
func (d *door) view(handle handler) func(httpapi.Call) error {
	return d.page(func(v *visit) error {
		if err := d.enter(v); err != nil {
			return err
		}
		return handle(v)
	})
}

// form returns the handler of a form of a person with a session.
func (d *door) form(handle handler) func(httpapi.Call) error {
	return d.view(func(v *visit) error {
		var err error
		if v.form, err = ReadForm(v, v.session.CSRF); err != nil {
			return err
		}
		return handle(v)
	})
}

// secretForm is form for one that has a secret: its text is read into memory that is
// cleared, and only what is no secret becomes a form.
func (d *door) secretForm(handle func(v *visit, value []byte) error) func(call httpapi.Call) error {
	return d.view(func(v *visit) error {
		body, err := v.Secret()
		if err != nil {
			return err
		}
		var value []byte
		if v.form, value, err = splitSecret(body); err != nil {
			return errForm
		}
		if !flow.Same(v.form.Get(fieldCSRF), v.session.CSRF) {
			return errForm
		}
		return handle(v, value)
	})
}

// fieldCSRF is the field by which a form shows that a page of the session sent it.
const fieldCSRF = "csrf"

// enter makes the person of the browser's session the caller.
func (d *door) enter(v *visit) error {
	known, err := d.resume(v)
	if err != nil {
		return err
	}
	if !known {
		return d.sendToLogin(v, "")
	}
	return nil
}

// resume reports whether the browser has a session, and makes its person the caller.
func (d *door) resume(v *visit) (bool, error) {
	token := v.cookies.Session(v.Request())
	if token == "" {
		return false, nil
	}
	ctx := v.Request().Context()
	s, err := d.Sessions.Open(ctx, token)
	if errors.Is(err, session.ErrNone) {
		return false, d.sendToLogin(v, "ended")
	}
	if err != nil {
		return false, fmt.Errorf("%w: %w", errAway, err)
	}
	if err := v.Enter(s.Identity); err != nil {
		return false, d.notEntered(v, err)
	}
	v.session = &s
	if v.bridge, err = v.Bridge(); err != nil {
		return false, d.notEntered(v, err)
	}
	return true, d.renew(v)
}

// notEntered returns what a person sees whose session gives no access now.
func (d *door) notEntered(v *visit, err error) error {
	if p, ok := errors.AsType[*httpapi.Problem](err); ok && (p.Status == http.StatusUnauthorized || p.Status == http.StatusNotFound) {
		return d.sendToLogin(v, "ended")
	}
	return err
}

// renew gives the browser another token for a session that goes on, unless its login was
// ended. One that cannot be had now is tried for again at the next request.
func (d *door) renew(v *visit) error {
	if !d.Sessions.Due(*v.session) {
		return nil
	}
	ctx := v.Request().Context()
	ended, err := d.isEnded(ctx, v.session)
	if ended {
		return d.sendToLogin(v, "ended")
	}
	var token string
	var life time.Duration
	if err == nil {
		token, life, err = d.Sessions.Issue(ctx, *v.session)
	}
	if err != nil {
		d.Log.WarnContext(ctx, "a session of the console was not renewed", slog.Any("error", err))
		return nil
	}
	v.cookies.SetSession(v.Writer(), token, life)
	return nil
}

// isEnded reports whether an administrator has ended the login of a session.
func (d *door) isEnded(ctx context.Context, s *session.Session) (bool, error) {
	if s.Subject == nil || d.Ended == nil {
		return false, nil
	}
	return d.Ended(ctx, s.User, s.Since)
}

const (
	// bridgePatience is how long a login waits for a bridge that was just made to be known
	// here, which takes some milliseconds, and bridgePause is between two looks.
	bridgePatience = 3 * time.Second
	bridgePause    = 50 * time.Millisecond
)

// awaitBridge waits until a person who logged in may use their bridge.
func (d *door) awaitBridge(v *visit, who httpapi.Identity) error {
	var err error
	if late := wait.PollUntilContextTimeout(v.Request().Context(), bridgePause, bridgePatience, true, func(context.Context) (bool, error) {
		err = v.Enter(who)
		p, ok := errors.AsType[*httpapi.Problem](err)
		return !ok || p.Status != http.StatusUnauthorized, nil
	}); late != nil {
		return errAway
	}
	return err
}

// begin gives the browser the session of a person who has just logged in.
func (d *door) begin(v *visit, who httpapi.Identity) error {
	s, err := d.Sessions.Begin(session.Session{Identity: who})
	if err != nil {
		return fmt.Errorf("%w: %w", errAway, err)
	}
	token, life, err := d.Sessions.Issue(v.Request().Context(), s)
	if err != nil {
		return fmt.Errorf("%w: %w", errAway, err)
	}
	act := httpapi.Act{Self: true, Name: "console.login", UserKey: who.KeyID, User: string(who.User)}
	if who.Subject != nil {
		act.Login = who.Subject.String()
	}
	if err := v.Audit(act); err != nil {
		return err
	}
	v.cookies.SetSession(v.Writer(), token, life)
	return nil
}

// errRedirected ends a visit that was answered with a redirect.
var errRedirected = errors.New("the browser was sent elsewhere")

// sendToLogin sends the browser to log in, and back to its page then. why is the reason,
// empty for a browser that had no session.
func (d *door) sendToLogin(v *visit, why string) error {
	if why != "" {
		v.cookies.RemoveSession(v.Writer())
	}
	to := LoginAt(pathLogin, Filtered(formPage(v.Request().URL.Path), v.Request()))
	if why != "" {
		to += "&why=" + why
	}
	v.redirect(to)
	return errRedirected
}

// formPage returns the page on which the form of a path is.
func formPage(path string) string {
	if at := strings.LastIndexByte(path, '/'); at > 0 && !strings.HasSuffix(path[:at], "/tools") { // The names of tools are anybody's.
		switch path[at:] {
		case "/choice", "/request", "/withdraw", "/disconnect", "/delete", "/revoke":
			path = path[:at]
		}
	}
	if path == pathLogout || strings.HasPrefix(path, pathSecrets+"/") || strings.HasPrefix(path, pathKeys+"/") {
		return path[:max(1, strings.LastIndexByte(path, '/'))]
	}
	return path
}

// pathForm is the form of the path of a page to which a person comes back.
var pathForm = regexp.MustCompile(`^/([A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_.-]+)*)?$`)

// nextPage returns the page that a login leads to.
func nextPage(asked string) string {
	if path, ok := NextPath(asked); ok {
		return path
	}
	return pathHome
}

// redirect sends the browser to a path of this host, by GET.
func (v *visit) redirect(to string) { Redirect(v.Writer(), to) }

// done sends the browser to a page that says what was done.
func (v *visit) done(page, what string) error {
	v.redirect(page + "?done=" + what)
	return nil
}
