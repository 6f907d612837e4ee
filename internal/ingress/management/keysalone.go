// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// maxRegistration is how many bytes of a registration or a form are let in: as many as where
// there are logins. None of them is read.
const maxRegistration = 64 << 10

// discovery matches the paths of metadata by which clients look for logins: at the root, and
// before the path of a bridge (RFC 8414, RFC 9728).
var discovery = regexp.MustCompile(`^/\.well-known/(` + strings.Join(metadataNames, "|") + `)(/[a-z0-9/-]*)?$`)

var metadataNames = []string{"oauth-protected-resource", "oauth-authorization-server", "openid-configuration"}

// KeysAlone returns the feature of an installation without logins that answers clients that
// look for them. Where clients find no metadata, they register at /register, and show the
// person what that says; the endpoints below /oauth are for those that knew the installation
// with logins. Metadata are answered with 404, at which clients try the next place. where says
// where a person gets a key.
func KeysAlone(where string) httpapi.Feature {
	// Clients hide what follows "Bearer " and "Authorization: " in errors, since it may be a key.
	text := "This installation takes API keys, not logins. " +
		"Send your key in the header X-API-Key, or in Authorization after the word Bearer. " + where
	noMetadata := httpapi.New(http.StatusNotFound, "access_denied", text)
	// RFC 7591, section 3.2.2 and RFC 6749, section 5.2.
	noEndpoint := httpapi.New(http.StatusBadRequest, "access_denied", text)
	f := httpapi.Feature{Name: "login", MaxPath: maxPath, EncodeProblem: oauthError}
	for _, name := range metadataNames {
		for _, below := range []string{"", "/*resource"} {
			f.Routes = append(f.Routes, httpapi.Route{
				Method: http.MethodGet, Path: "/.well-known/" + name + below, Access: httpapi.Public,
				Handle: func(httpapi.Call) error { return noMetadata },
			})
		}
	}
	endpoints := []string{"/register", "/token", "/oauth/register", "/oauth/token"}
	for _, path := range endpoints {
		f.Routes = append(f.Routes, httpapi.Route{
			Method: http.MethodPost, Path: path, Access: httpapi.Program, MaxBody: maxRegistration,
			Handle: func(httpapi.Call) error { return noEndpoint },
		})
	}
	f.Target = func(path string) (query *regexp.Regexp, ok bool) {
		return nil, slices.Contains(endpoints, path) || discovery.MatchString(path)
	}
	return f
}

// oauthError returns a problem in the form of RFC 6749, section 5.2.
func oauthError(p *httpapi.Problem) (contentType string, body []byte) {
	return "application/json", jsondoc.EncodeExact(struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}{p.Code, p.Detail})
}
