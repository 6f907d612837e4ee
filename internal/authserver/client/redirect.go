// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

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
	// maxRedirect is the longest redirect URI, in bytes: all browsers take addresses
	// of that length.
	maxRedirect = 2048
)

// Redirects decides which redirect URIs clients may use.
type Redirects struct {
	// own is the installation's origin. None of its pages is a client's.
	own     string
	schemes []string
}

// schemeForm is the form of a scheme as it is registered and compared.
var schemeForm = regexp.MustCompile(`^[a-z][a-z0-9+.-]{0,63}$`)

// neverSchemes are the schemes by which a browser runs, or reads, what the URI
// contains.
var neverSchemes = []string{schemeHTTP, schemeHTTPS, "about", "blob", "content", "data", "file", "filesystem", "ftp",
	"intent", "javascript", "mailto", "tel", "vbscript", "view-source", "ws", "wss"}

// NewRedirects returns the rules of an installation with this origin, which allows
// these private-use schemes.
func NewRedirects(own string, schemes []string) (Redirects, error) {
	for _, scheme := range schemes {
		if !schemeForm.MatchString(scheme) || slices.Contains(neverSchemes, scheme) {
			return Redirects{}, fmt.Errorf("redirect scheme %.80q: it must be a private-use scheme in lower case, such as cursor", scheme)
		}
	}
	return Redirects{own: own, schemes: schemes}, nil
}

var (
	errRedirectForm   = errors.New("it is not an absolute URI of at most 2048 characters without a user or a fragment")
	errRedirectScheme = errors.New("it must be https, http on the loopback interface, or a private-use scheme that the installation allows")
	errRedirectOwn    = errors.New("it is a page of this installation")
	errRedirectQuery  = errors.New("its query has a parameter that an answer has")
)

// answerParameters are those that the server adds to a redirect URI.
var answerParameters = []string{"code", "error", "error_description", "iss", "state"}

// uriForm has the characters of URIs (RFC 3986, section 2) except the number sign,
// so that no two readers of a URI can see different hosts in it.
var uriForm = regexp.MustCompile(`^[a-z][a-z0-9+.-]*:([A-Za-z0-9._~:/?\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+$`)

// Check returns why no client may use a redirect URI, nil if one may.
func (r Redirects) Check(uri string) error {
	if len(uri) > maxRedirect || !uriForm.MatchString(uri) {
		return errRedirectForm
	}
	u, err := url.Parse(uri)
	if err != nil || u.User != nil {
		return errRedirectForm
	}
	switch {
	case slices.ContainsFunc(answerParameters, u.Query().Has):
		return errRedirectQuery
	case r.isOwn(u):
		return errRedirectOwn
	case !r.leadsToClient(uri, u.Scheme, u.Hostname()):
		return errRedirectScheme
	}
	return nil
}

// leadsToClient reports whether a client can be at a URI, and nobody on the way can
// read what is sent there.
func (r Redirects) leadsToClient(uri, scheme, host string) bool {
	switch scheme {
	case schemeHTTPS:
		return host != ""
	case schemeHTTP:
		return IsLoopback(uri)
	default:
		return slices.Contains(r.schemes, scheme)
	}
}

// isOwn reports whether a URI has the installation's origin.
func (r Redirects) isOwn(u *url.URL) bool {
	port := u.Port()
	if port == "" || u.Scheme == schemeHTTPS && port == "443" || u.Scheme == schemeHTTP && port == "80" {
		return r.own == u.Scheme+"://"+strings.TrimSuffix(strings.ToLower(u.Host), ":"+port)
	}
	return r.own == u.Scheme+"://"+strings.ToLower(u.Host)
}

// loopback is an http URI of the loopback interface, in three parts: its host, its
// port, and the rest. It looks at the text, so that no resolver can disagree.
var loopback = regexp.MustCompile(`^(http://(?:127\.0\.0\.1|\[::1\]|localhost))((?::[0-9]{1,5})?)((?:[/?].*)?)$`)

// IsLoopback reports whether a URI is http on the loopback interface.
func IsLoopback(uri string) bool { return loopback.MatchString(uri) }

// CheckOrigin returns why the issuer of an installation is not an origin that browsers trust:
// https, or http on the loopback interface.
func CheckOrigin(issuer string) error {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || issuer != u.Scheme+"://"+u.Host {
		return errors.New("the issuer is not an origin, such as https://bridges.example.com")
	}
	if u.Scheme != schemeHTTPS && !IsLoopback(issuer) {
		return errors.New("the issuer is neither https nor on this machine")
	}
	return nil
}

// IsRegistered reports whether a client that registered these URIs may use the
// requested one. It must be one of them, except for the port of a loopback address,
// which a program on a person's machine cannot choose (RFC 8252, section 7.3).
func IsRegistered(uris []string, requested string) bool {
	if slices.Contains(uris, requested) {
		return true
	}
	parts := loopback.FindStringSubmatch(requested)
	if parts == nil {
		return false
	}
	return slices.ContainsFunc(uris, func(uri string) bool {
		other := loopback.FindStringSubmatch(uri)
		return other != nil && other[1] == parts[1] && other[3] == parts[3]
	})
}

// AddQuery adds parameters to a redirect URI, behind those that it has.
func AddQuery(uri string, parameters url.Values) string {
	switch {
	case strings.HasSuffix(uri, "?"), strings.HasSuffix(uri, "&"):
		return uri + parameters.Encode()
	case strings.Contains(uri, "?"):
		return uri + "&" + parameters.Encode()
	default:
		return uri + "?" + parameters.Encode()
	}
}
