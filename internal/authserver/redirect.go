// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

const (
	schemeHTTP  = "http"
	schemeHTTPS = "https"
	// maxRedirect is the longest redirect URI, in bytes: what all browsers take in
	// an address.
	maxRedirect = 2048
)

// redirects says where clients may be answered.
type redirects struct {
	// own is the installation's origin, of which no page is a client's.
	own     string
	schemes []string
}

// schemeForm is of a scheme as it is registered and compared.
var schemeForm = regexp.MustCompile(`^[a-z][a-z0-9+.-]{0,63}$`)

// neverSchemes are those by which a browser runs, or reads, what stands in the
// URI.
var neverSchemes = []string{schemeHTTP, schemeHTTPS, "about", "blob", "content", "data", "file", "filesystem", "ftp",
	"intent", "javascript", "mailto", "tel", "vbscript", "view-source", "ws", "wss"}

func newRedirects(own string, schemes []string) (redirects, error) {
	for _, scheme := range schemes {
		if !schemeForm.MatchString(scheme) || slices.Contains(neverSchemes, scheme) {
			return redirects{}, fmt.Errorf("redirect scheme %.80q: it must be a private-use scheme in lower case, such as cursor", scheme)
		}
	}
	return redirects{own: own, schemes: schemes}, nil
}

var (
	errRedirectForm   = errors.New("it is not an absolute URI of at most 2048 characters without a user or a fragment")
	errRedirectScheme = errors.New("it must be https, http on the loopback interface, or a private-use scheme that the installation allows")
	errRedirectOwn    = errors.New("it is a page of this installation")
	errRedirectQuery  = errors.New("its query has a parameter that an answer has")
)

// uriForm has the characters of URIs (RFC 3986, section 2) but for the number
// sign, so that no two readers of one could see different hosts in it.
var uriForm = regexp.MustCompile(`^[a-z][a-z0-9+.-]*:([A-Za-z0-9._~:/?\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+$`)

// check returns why a URI is none at which a client may be answered.
func (r redirects) check(uri string) error {
	if len(uri) > maxRedirect || !uriForm.MatchString(uri) {
		return errRedirectForm
	}
	u, err := url.Parse(uri)
	if err != nil || u.User != nil {
		return errRedirectForm
	}
	answers := []string{parameterCode, parameterError, parameterDescription, parameterIssuer, parameterState}
	switch {
	case slices.ContainsFunc(answers, u.Query().Has):
		return errRedirectQuery
	case r.isOwn(u):
		return errRedirectOwn
	case !r.leadsToClient(uri, u.Scheme, u.Hostname()):
		return errRedirectScheme
	}
	return nil
}

// leadsToClient reports whether what is at a URI can be a client, and nobody on
// the way reads what is sent there.
func (r redirects) leadsToClient(uri, scheme, host string) bool {
	switch scheme {
	case schemeHTTPS:
		return host != ""
	case schemeHTTP:
		return loopback.MatchString(uri)
	default:
		return slices.Contains(r.schemes, scheme)
	}
}

// isOwn reports whether a URI is of the installation's origin.
func (r redirects) isOwn(u *url.URL) bool {
	port := u.Port()
	if port == "" || u.Scheme == schemeHTTPS && port == "443" || u.Scheme == schemeHTTP && port == "80" {
		return r.own == u.Scheme+"://"+strings.TrimSuffix(strings.ToLower(u.Host), ":"+port)
	}
	return r.own == u.Scheme+"://"+strings.ToLower(u.Host)
}

// loopback is an http URI of the loopback interface, in three parts: its host, its
// port, and the rest. It looks at the text, so that there is nothing to disagree
// about with who resolves it.
var loopback = regexp.MustCompile(`^(http://(?:127\.0\.0\.1|\[::1\]|localhost))((?::[0-9]{1,5})?)((?:[/?].*)?)$`)

// isLoopbackOrigin reports whether an origin is http on the loopback interface.
func isLoopbackOrigin(origin string) bool {
	parts := loopback.FindStringSubmatch(origin)
	return parts != nil && parts[3] == ""
}

// registered reports whether a client that registered these URIs may be answered
// at the asked one: the very same, but for the port of a loopback address, which
// a program on a person's machine does not choose (RFC 8252, section 7.3).
func registered(uris []string, asked string) bool {
	if slices.Contains(uris, asked) {
		return true
	}
	parts := loopback.FindStringSubmatch(asked)
	if parts == nil {
		return false
	}
	return slices.ContainsFunc(uris, func(uri string) bool {
		of := loopback.FindStringSubmatch(uri)
		return of != nil && of[1] == parts[1] && of[3] == parts[3]
	})
}

// with returns a redirect URI with parameters behind those that it has.
func with(uri string, parameters url.Values) string {
	switch {
	case strings.HasSuffix(uri, "?"), strings.HasSuffix(uri, "&"):
		return uri + parameters.Encode()
	case strings.Contains(uri, "?"):
		return uri + "&" + parameters.Encode()
	default:
		return uri + "?" + parameters.Encode()
	}
}

// hostOf returns what a person is shown of a URI that passed check: its host with
// the port, or where it has none, its scheme.
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

// formTargets returns where a page's form may lead, for its content security
// policy. Browsers hold redirects after the form to it too, also those by which
// the client goes on from its redirect URI to another site of its own: so that
// beside the URI's own origin all of https is allowed.
func formTargets(uri string) string {
	targets := "'self' https:"
	u, err := url.Parse(uri)
	switch {
	case err != nil || u.Scheme == schemeHTTPS || u.Scheme == "":
		return targets
	case u.Scheme == schemeHTTP && !strings.HasPrefix(u.Host, "["):
		return targets + " http://" + u.Host
	default:
		// An IPv6 address has no form there.
		return targets + " " + u.Scheme + ":"
	}
}
