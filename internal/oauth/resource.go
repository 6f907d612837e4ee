// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"strings"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// metadataPrefix is where RFC 9728, section 3, has the metadata of a resource.
const metadataPrefix = "/.well-known/oauth-protected-resource"

// Resource returns the URL of a resource, which is what a token for it has as its
// audience: publicURL, the installation's origin such as https://host, and the
// path, which begins with a slash.
func Resource(publicURL, path string) string { return strings.TrimSuffix(publicURL, "/") + path }

// MetadataPath returns where the metadata of the resource at that path is.
func MetadataPath(resourcePath string) string {
	if resourcePath == "/" {
		return metadataPrefix
	}
	return metadataPrefix + resourcePath
}

// ProtectedResource returns the metadata of a resource by RFC 9728, section 2, as
// JSON. name is for people. authorizationServers are the URLs of issuers: MCP
// wants at least one; scopes are what a client should ask them for, and are
// left out if there are none.
func ProtectedResource(resource, name string, authorizationServers, scopes []string) []byte {
	return jsondoc.EncodeExact(struct {
		Resource             string   `json:"resource"`
		AuthorizationServers []string `json:"authorization_servers,omitempty"`
		Scopes               []string `json:"scopes_supported,omitempty"`
		Methods              []string `json:"bearer_methods_supported"`
		Name                 string   `json:"resource_name,omitempty"`
	}{resource, authorizationServers, scopes, []string{"header"}, name})
}

// Challenge returns the WWW-Authenticate header of an answer by RFC 6750, section
// 3, and RFC 9728, section 5.1: where the metadata is, what was wrong, such as
// invalid_token, in words, and which scopes to ask for. What is empty is left out.
func Challenge(metadataURL, errorCode, description string, scopes []string) string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+`="`+strings.Map(quotable, value)+`"`)
		}
	}
	add("error", errorCode)
	add("error_description", description)
	add("resource_metadata", metadataURL)
	add("scope", strings.Join(scopes, " "))
	return strings.TrimSuffix("Bearer "+strings.Join(parts, ", "), " ")
}

// quotable keeps the characters that RFC 6750 allows in a challenge. None of them
// needs a backslash, which clients do not all understand, and none ends a header.
func quotable(r rune) rune {
	switch {
	case r == '"':
		return '\''
	case r < ' ' || r > '~' || r == '\\':
		return '?'
	}
	return r
}
