// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"net/http"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

// cookie is what a login knows its browser by. One browser may have several
// logins under way.
type cookie struct {
	name   string
	secure bool
}

// cookieOf returns the cookie of an installation. By its prefix browsers take it
// from this origin alone, over TLS; on this machine there is none.
func cookieOf(issuer string) cookie {
	if strings.HasPrefix(issuer, schemeHTTPS+"://") {
		return cookie{"__Host-hb-login", true}
	}
	return cookie{"hb-login", false}
}

// read returns the secret of a browser, empty where it has none. Of two that it
// sends, one is not ours.
func (k cookie) read(r *http.Request) string {
	found := r.CookiesNamed(k.name)
	if len(found) != 1 || !flow.IsSecret(found[0].Value) {
		return ""
	}
	return found[0].Value
}

// set has the browser keep the secret for as long as a login may take. Browsers
// send it where a person follows a provider's link here, and with no other site's
// form.
func (k cookie) set(w http.ResponseWriter, secret string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // It is secure but on this machine, where there is no TLS.
		Name: k.name, Value: secret, Path: "/", MaxAge: int(life.Seconds()),
		Secure: k.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}
