// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

const (
	// maxCookie is how long the value of a cookie may be, in bytes: browsers keep 4096 of
	// name, value and attributes together (RFC 6265, section 6.1).
	maxCookie = 3800
	// maxParts is how many cookies a login may take: a redirect URI and a state of 2 KiB
	// each, an id of a client as long, and what else is kept.
	maxParts = 3
	// maxOthers is how long the cookies of a browser's other logins may be together, in
	// bytes, so that with them a request stays below what proxies take. The oldest go.
	maxOthers = 8 << 10
)

// loginCookie is what a login knows its browser by. One browser may have several
// logins under way.
type loginCookie struct {
	name   string
	secure bool
}

// loginCookieOf returns the cookie of an installation. By its prefix browsers take it from this
// origin alone, over TLS; on a laptop the name has no prefix.
func loginCookieOf(issuer string) loginCookie {
	if strings.HasPrefix(issuer, "https://") {
		return loginCookie{"__Host-hb-login", true}
	}
	return loginCookie{"hb-login", false}
}

// Browser returns the secret of a browser, empty where it has none. Of two that it
// sends, one is not ours.
func (k loginCookie) Browser(r *http.Request) string {
	found := r.CookiesNamed(k.name)
	if len(found) != 1 || !flow.IsSecret(found[0].Value) {
		return ""
	}
	return found[0].Value
}

// SetBrowser has the browser keep the secret for as long as a login may take.
func (k loginCookie) SetBrowser(w http.ResponseWriter, secret string, life time.Duration) {
	k.write(w, k.name, secret, int(life.Seconds()))
}

// write has the browser keep a cookie for seconds, or remove it where they are
// negative. Browsers send it where a person follows a provider's link here, and with no
// other site's form.
func (k loginCookie) write(w http.ResponseWriter, name, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // It is secure but on this machine, where there is no TLS.
		Name: name, Value: value, Path: "/", MaxAge: seconds,
		Secure: k.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// partOf names a part of the login that was left with a secret of this hash.
func (k loginCookie) partOf(hash string, part int) string {
	return k.name + "-" + hash + "-" + strconv.Itoa(part)
}

// SetLogin has the browser keep a sealed login, in as many cookies as it takes. It
// reports whether the login is short enough.
func (k loginCookie) SetLogin(c httpapi.Call, hash, text string, life time.Duration) bool {
	if len(text) > maxParts*maxCookie {
		return false
	}
	k.removeOldest(c)
	for part := 0; text != ""; part++ {
		n := min(len(text), maxCookie)
		k.write(c.Writer(), k.partOf(hash, part), text[:n], int(life.Seconds()))
		text = text[n:]
	}
	return true
}

// removeOldest removes logins that were begun in the browser and left, as far as those
// after them are too long together. Browsers send the oldest first (RFC 6265, section
// 5.4).
func (k loginCookie) removeOldest(c httpapi.Call) {
	length := 0
	for _, found := range slices.Backward(c.Request().Cookies()) {
		if !strings.HasPrefix(found.Name, k.name+"-") {
			continue
		}
		if length += len(found.Value); length > maxOthers {
			k.write(c.Writer(), found.Name, "", -1)
		}
	}
}

// Login returns the sealed login that was left with a secret of this hash, empty
// where the browser has none.
func (k loginCookie) Login(r *http.Request, hash string) string {
	var text strings.Builder
	for part := range maxParts {
		found := r.CookiesNamed(k.partOf(hash, part))
		if len(found) != 1 {
			break
		}
		text.WriteString(found[0].Value)
	}
	return text.String()
}

// RemoveLogin has the browser forget a login.
func (k loginCookie) RemoveLogin(c httpapi.Call, hash string) {
	for part := range maxParts {
		if name := k.partOf(hash, part); len(c.Request().CookiesNamed(name)) > 0 {
			k.write(c.Writer(), name, "", -1)
		}
	}
}
