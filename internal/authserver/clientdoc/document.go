// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package clientdoc

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
	// maxID is how long a client's id may be. Those of real clients have less than
	// 100 characters, and people are shown a part of it.
	maxID = 512
	// maxRedirects is how many redirect URIs a client may have, and maxRedirect how
	// long one may be, as browsers bound what they are sent to.
	maxRedirects, maxRedirect = 50, 2048
)

// faulty says what is wrong with a client, not with us or the network.
func faulty(reason string) error { return fmt.Errorf("%w: %s", flow.ErrClient, reason) }

// idForm is what a client's id is made of: the characters of a URL, of which a
// backslash is none, and # begins a fragment.
var idForm = regexp.MustCompile(`^https://[!-"$-\[\]-~]+$`)

// checkID refuses what is no client identifier by section 3 of the draft, and
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
		return faulty("its URL has a host that is not written as in DNS") // What is one name could be written in many ways.
	case u.User != nil:
		return faulty("its URL has a user")
	case u.Path == "":
		return faulty("its URL has no path")
	case hasDots(u.EscapedPath()):
		return faulty("its URL has segments of dots alone")
	}
	return nil
}

// hasDots reports whether a path has segments that stand for another one, also
// those that a browser reads like that.
func hasDots(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case ".", "..":
			return true
		}
	}
	return false
}

// document is what is read of a document. Others of its members do not matter
// here, whatever they are.
type document struct {
	ID           string   `json:"client_id"`
	Name         string   `json:"client_name"`
	URI          string   `json:"client_uri"`
	RedirectURIs []string `json:"redirect_uris"`
	// Method is how the client proves that it is itself at the token endpoint, and
	// Methods is how it can, if it leaves that to the authorization server (OpenID
	// Connect Relying Party Metadata Choices 1.0).
	Method  string          `json:"token_endpoint_auth_method"`
	Methods json.RawMessage `json:"token_endpoint_auth_methods_supported"`
	// Secret is nothing that a document could have.
	Secret        *string `json:"client_secret"`
	SecretExpires *int64  `json:"client_secret_expires_at"`
}

// client returns the client that a document at the URL id describes.
func (d document) client(id string) (flow.Client, error) {
	switch {
	case d.ID != id: // Byte by byte, by RFC 3986, section 6.2.1.
		return flow.Client{}, faulty("its document is of another client_id")
	case !d.isPublic():
		return flow.Client{}, faulty("its token_endpoint_auth_method is not none, and its token_endpoint_auth_methods_supported do not have it")
	case d.Secret != nil || d.SecretExpires != nil:
		return flow.Client{}, faulty("its document has a secret, which is none")
	}
	if err := checkRedirects(d.RedirectURIs); err != nil {
		return flow.Client{}, err
	}
	return flow.Client{ID: id, Name: flow.ShownName(d.Name), URI: homepage(d.URI, id), RedirectURIs: d.RedirectURIs, Document: true}, nil
}

// isPublic reports whether a client can do with proving nothing, which is all that
// our metadata offer. ChatGPT prefers private_key_jwt and can do without.
func (d document) isPublic() bool {
	const none = "none"
	if d.Method == "" || d.Method == none {
		return true
	}
	var methods []string
	return json.Unmarshal(d.Methods, &methods) == nil && slices.Contains(methods, none)
}

// checkRedirects refuses what are no redirect URIs. Which of them may be used is
// for the authorization server to say.
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

// homepage returns a client's own page, if it is on the host that its id is on:
// with another's page a client would look like that one.
func homepage(page, id string) string {
	p, err := url.Parse(page)
	i, _ := url.Parse(id)
	if err != nil || p.Scheme != "https" || p.User != nil || p.Host != i.Host || len(page) > maxID {
		return ""
	}
	return page
}
