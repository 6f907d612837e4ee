// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package flow

// Metadata is what RFC 8414 and those that extend it have a server say of itself.
type Metadata struct {
	Issuer          string   `json:"issuer"`
	Authorize       string   `json:"authorization_endpoint"`
	Token           string   `json:"token_endpoint"`
	Keys            string   `json:"jwks_uri"`
	Register        string   `json:"registration_endpoint,omitempty"`
	Revoke          string   `json:"revocation_endpoint"`
	RevokeAuth      []string `json:"revocation_endpoint_auth_methods_supported"`
	Scopes          []string `json:"scopes_supported"`
	ResponseTypes   []string `json:"response_types_supported"`
	ResponseModes   []string `json:"response_modes_supported"`
	Grants          []string `json:"grant_types_supported"`
	TokenAuth       []string `json:"token_endpoint_auth_methods_supported"`
	Challenges      []string `json:"code_challenge_methods_supported"`
	NamesItself     bool     `json:"authorization_response_iss_parameter_supported"`
	ClientDocuments bool     `json:"client_id_metadata_document_supported"`
}
