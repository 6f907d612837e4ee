// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

const (
	// maxRegistered is how many redirect URIs a client may register: one for each way to
	// start it.
	maxRegistered = 20
	// MaxAllRedirects is their total length in bytes. It limits a registered client to
	// about 10 KiB in the store.
	MaxAllRedirects = 8 << 10
)

// Metadata is what a client registers with (RFC 7591, section 2), and what it is
// answered (section 3.2.1). Other members are ignored.
type Metadata struct {
	ID            string   `json:"client_id"`
	Issued        int64    `json:"client_id_issued_at"`
	Name          string   `json:"client_name,omitempty"`
	RedirectURIs  []string `json:"redirect_uris"`
	Auth          string   `json:"token_endpoint_auth_method"`
	Grants        []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
	Scope         string   `json:"scope"`
}

// MetadataError is why a client cannot register with its metadata. Code is one of RFC 7591,
// section 3.2.2.
type MetadataError struct{ Code, Description string }

// Error implements error.
func (e *MetadataError) Error() string { return e.Code }

const (
	codeInvalidMetadata = "invalid_client_metadata"
	codeInvalidRedirect = "invalid_redirect_uri"

	grantCode    = "authorization_code"
	grantRefresh = "refresh_token"
	responseCode = "code"
	authNone     = "none"
)

var (
	errForm    = &MetadataError{codeInvalidMetadata, "The body is not a JSON object in which each member stands once and has its type."}
	errGrants  = &MetadataError{codeInvalidMetadata, "grant_types must have authorization_code, and response_types code."}
	errNowhere = &MetadataError{codeInvalidRedirect, "redirect_uris must be a list of 1 to 20 URIs."}
	errLong    = &MetadataError{codeInvalidRedirect, "redirect_uris together may have 8192 characters."}
)

// ReadMetadata returns the metadata that a client gets for what it sent. Its errors are
// *MetadataError.
func ReadMetadata(body []byte, redirects Redirects) (Metadata, error) {
	doc, err := jsondoc.Parse(body)
	if err != nil || doc.Kind != jsondoc.Object {
		return Metadata{}, errForm
	}
	var asked Metadata
	err = json.Unmarshal(body, &asked)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return Metadata{}, &MetadataError{codeInvalidMetadata, fmt.Sprintf("%s is a %s, which is not its type.", wrong.Field, wrong.Value)}
	}
	if err != nil {
		return Metadata{}, errForm
	}
	if len(asked.RedirectURIs) == 0 || len(asked.RedirectURIs) > maxRegistered {
		return Metadata{}, errNowhere
	}
	if length := len(strings.Join(asked.RedirectURIs, "")); length > MaxAllRedirects {
		return Metadata{}, errLong
	}
	for i, uri := range asked.RedirectURIs {
		if err := redirects.Check(uri); err != nil {
			return Metadata{}, &MetadataError{codeInvalidRedirect, fmt.Sprintf("redirect_uris[%d] is refused: %s.", i, err)}
		}
	}
	return asked.granted()
}

// granted returns the metadata that a client gets. A client that asked for a secret
// gets none: the answer says so (section 2).
func (r Metadata) granted() (Metadata, error) {
	may := []string{grantCode, grantRefresh}
	if len(r.Grants) == 0 {
		r.Grants = []string{grantCode} // Section 2's default.
	}
	r.Grants = slices.DeleteFunc(may, func(grant string) bool { return !slices.Contains(r.Grants, grant) })
	if !slices.Contains(r.Grants, grantCode) || len(r.ResponseTypes) > 0 && !slices.Contains(r.ResponseTypes, responseCode) {
		return Metadata{}, errGrants
	}
	r.ResponseTypes = []string{responseCode}
	r.Auth = authNone
	r.Name = flow.ShownName(r.Name)
	names := slices.DeleteFunc(strings.Fields(r.Scope), func(name string) bool { return !slices.Contains(oauth.AllScopes(), name) })
	if len(names) == 0 {
		names = oauth.Scopes()
	}
	r.Scope = strings.Join(names, " ")
	return r, nil
}
