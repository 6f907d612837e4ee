// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// Cookies are the cookies of the console at the host of a request.
type Cookies struct {
	secure bool
	// session is the name of the cookie of the session, without its prefix.
	session string
}

// CookiesAt returns the cookies of the host by which a browser reached the console. By
// their prefix browsers take them from that host alone, over TLS; on this machine there is
// no TLS.
func CookiesAt(r *http.Request) Cookies { return Cookies{!isLoopback(r.Host), nameSession} }

// AdministratorCookiesAt returns those of the administrators' console, whose sessions are in
// a cookie of their own. By its prefix it belongs to the whole host and to no path.
func AdministratorCookiesAt(r *http.Request) Cookies {
	return Cookies{!isLoopback(r.Host), nameAdministrator}
}

// isLoopback reports whether a host, with or without a port, is this machine.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback() || strings.EqualFold(host, "localhost")
}

// The names of the cookies, without their prefix.
const (
	nameSession       = "hb-console"
	nameAdministrator = "hb-administrator"
	nameVisit         = "hb-visit"
	nameOnce          = "hb-once"
)

func (k Cookies) name(of string) string {
	if k.secure {
		return "__Host-" + of
	}
	return of
}

// Session returns the token of the session, empty if the browser has none. Of two that it
// sends, one is not ours.
func (k Cookies) Session(r *http.Request) string { return k.only(r, k.session) }

// Visit returns the secret by which a browser is known that has no session yet.
func (k Cookies) Visit(r *http.Request) string { return k.only(r, nameVisit) }

func (k Cookies) only(r *http.Request, of string) string {
	found := r.CookiesNamed(k.name(of))
	if len(found) != 1 {
		return ""
	}
	return found[0].Value
}

// SetSession has the browser keep the token of a session. It is sent when a person follows
// a link here, and with no other site's form.
func (k Cookies) SetSession(w http.ResponseWriter, token string, life time.Duration) {
	k.write(w, k.session, token, int(life.Seconds()))
}

// SetVisit has the browser keep the secret by which it is known, until it is closed.
func (k Cookies) SetVisit(w http.ResponseWriter, secret string) { k.write(w, nameVisit, secret, 0) }

// RemoveSession has the browser forget the session.
func (k Cookies) RemoveSession(w http.ResponseWriter) { k.write(w, k.session, "", -1) }

// OnceFor is how long a browser keeps what the next page shows: a redirect and a slow network.
const OnceFor = time.Minute

// SetOnce has the browser keep what Session.Seal sealed for the one page that shows it.
func (k Cookies) SetOnce(w http.ResponseWriter, page, sealed string) {
	k.writeOnce(w, page, sealed, int(OnceFor.Seconds()))
}

// Once returns what the browser keeps for this page, empty for nothing, and has it forget it.
func (k Cookies) Once(w http.ResponseWriter, r *http.Request) string {
	found := r.CookiesNamed(k.onceName())
	if len(found) == 0 {
		return ""
	}
	k.writeOnce(w, r.URL.Path, "", -1)
	return found[0].Value
}

// onceName has the prefix by which browsers take the cookie over TLS alone; the one for the
// whole host forbids a path.
func (k Cookies) onceName() string {
	if k.secure {
		return "__Secure-" + nameOnce
	}
	return nameOnce
}

func (k Cookies) writeOnce(w http.ResponseWriter, page, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // As in write.
		Name: k.onceName(), Value: value, Path: page, MaxAge: seconds,
		Secure: k.secure, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

func (k Cookies) write(w http.ResponseWriter, of, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // It is secure but on this machine, where there is no TLS.
		Name: k.name(of), Value: value, Path: "/", MaxAge: seconds,
		Secure: k.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// Secure reports whether the browser sends the cookies over TLS alone.
func (k Cookies) Secure() bool { return k.secure }
