// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
)

const (
	// maxID is the longest id of a client. Ids of real clients have less than 100
	// characters, and pages show a part of them.
	maxID = 512
	// maxRedirects is how many redirect URIs a document may have.
	maxRedirects = 50
)

// faulty returns the error for a client that is at fault, rather than the network or
// this server.
func faulty(reason string) error { return fmt.Errorf("%w: %s", flow.ErrClient, reason) }

// idForm has the characters of a URL without the number sign, which begins a
// fragment. A backslash is not one of them.
var idForm = regexp.MustCompile(`^https://[!-"$-\[\]-~]+$`)

// checkID refuses an id that is not a client identifier (section 3 of the draft), and
// URLs that could be read in two ways.
func checkID(id string) error {
	if len(id) > maxID {
		return faulty(fmt.Sprintf("its URL has more than %d characters", maxID))
	}
	u, err := url.Parse(id)
	if err != nil || !idForm.MatchString(id) || u.Hostname() == "" {
		return faulty("its id is no https URL, or one with a fragment")
	}
	switch {
	case strings.ContainsFunc(u.Host, func(r rune) bool { return r > unicode.MaxASCII }):
		return faulty("its URL has a host that is not written as in DNS") // Such a name can be written in many ways.
	case u.User != nil:
		return faulty("its URL has a user")
	case u.Path == "":
		return faulty("its URL has no path")
	case hasDots(u.EscapedPath()):
		return faulty("its URL has segments of dots alone")
	}
	return nil
}

// hasDots reports whether a path has dot segments, also in a spelling that only
// browsers read as one.
func hasDots(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case ".", "..":
			return true
		}
	}
	return false
}

// document has the members of a document that matter here. All others are ignored.
type document struct {
	ID           string   `json:"client_id"`
	Name         string   `json:"client_name"`
	URI          string   `json:"client_uri"`
	RedirectURIs []string `json:"redirect_uris"`
	// Method is how the client authenticates at the token endpoint. Methods are the
	// ways in which it can, if the authorization server may choose (OpenID Connect
	// Relying Party Metadata Choices 1.0).
	Method  string          `json:"token_endpoint_auth_method"`
	Methods json.RawMessage `json:"token_endpoint_auth_methods_supported"`
	// A public document cannot have a secret.
	Secret        *string `json:"client_secret"`
	SecretExpires *int64  `json:"client_secret_expires_at"`
}

// client returns the client that a document at the URL id describes.
func (d document) client(id string) (flow.Client, error) {
	switch {
	case d.ID != id: // Compared byte by byte (RFC 3986, section 6.2.1).
		return flow.Client{}, faulty("its document is of another client_id")
	case !d.isPublic():
		return flow.Client{}, faulty("its token_endpoint_auth_method is not none, and its token_endpoint_auth_methods_supported do not have it")
	case d.Secret != nil || d.SecretExpires != nil:
		return flow.Client{}, faulty("the client document must not contain a client secret")
	}
	if err := checkRedirects(d.RedirectURIs); err != nil {
		return flow.Client{}, err
	}
	return flow.Client{ID: id, Name: flow.ShownName(d.Name), URI: homepage(d.URI, id), RedirectURIs: d.RedirectURIs, Document: true}, nil
}

// isPublic reports whether a client can work without authentication, as all clients
// of this server do. ChatGPT prefers private_key_jwt and can work without it.
func (d document) isPublic() bool {
	const none = "none"
	if d.Method == "" || d.Method == none {
		return true
	}
	var methods []string
	return json.Unmarshal(d.Methods, &methods) == nil && slices.Contains(methods, none)
}

// checkRedirects refuses URIs that are no redirect URIs. Redirects.Check decides later
// whether the requested one may be used.
func checkRedirects(uris []string) error {
	if len(uris) == 0 || len(uris) > maxRedirects {
		return faulty(fmt.Sprintf("its document must have 1 to %d redirect_uris", maxRedirects))
	}
	for _, uri := range uris {
		if u, err := url.Parse(uri); err != nil || !u.IsAbs() || len(uri) > maxRedirect {
			return faulty("one of its redirect_uris is no absolute URI")
		}
	}
	return nil
}

// homepage returns a client's own page, if it is on the host of the client's id. With
// a page of another host, the client could pose as another one.
func homepage(page, id string) string {
	p, err := url.Parse(page)
	i, _ := url.Parse(id)
	if err != nil || p.Scheme != "https" || p.User != nil || p.Host != i.Host || len(page) > maxID {
		return ""
	}
	return page
}
