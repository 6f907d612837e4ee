// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// The statuses of problems, by RFC 7644.
const (
	badRequest         = 400
	forbidden          = 403
	notFound           = 404
	conflict           = 409
	preconditionFailed = 412
	tooManyRequests    = 429
	notImplemented     = 501
	unavailable        = 503
)

// The scimTypes of RFC 7644, section 3.12, that are used here. They are the codes of
// problems.
const (
	invalidFilter = "invalidFilter"
	invalidPath   = "invalidPath"
	invalidSyntax = "invalidSyntax"
	invalidValue  = "invalidValue"
	mutability    = "mutability"
	noTarget      = "noTarget"
	uniqueness    = "uniqueness"
)

var scimTypes = []string{invalidFilter, invalidPath, invalidSyntax, invalidValue, mutability, noTarget, uniqueness}

// Problems that others find. They are the same for a resource that was deleted and one that
// never was.
var (
	ErrNotFound = httpapi.New(notFound, "not_found", "There is no resource with this id.")
	ErrVersion  = httpapi.New(preconditionFailed, "version_changed", "The resource has another version than If-Match names: read it again.")
	ErrBusy     = httpapi.New(unavailable, "cluster_unavailable", "The API server did not answer. A change may have been made or not: send the request again.")
)

// ErrNotServed is about what RFC 7644 describes and is not served: bulk requests, and the user of
// a token, which is a directory's.
var ErrNotServed = httpapi.New(notImplemented, "not_implemented", "This is not served. /ServiceProviderConfig and /ResourceTypes describe what is.")

// ErrNoFilter is about a filter of the documents that describe what is served.
var ErrNoFilter = httpapi.New(forbidden, "filter_not_served", "This is not filtered. Leave out filter: the answer has all there is.")

// ErrTooFast says that a directory adds more in a short time than it may.
var ErrTooFast = httpapi.New(tooManyRequests, "too_many_changes", "The directory adds people or members faster than it may. Send the request again later.")

// ErrNotTheDirectorys says that a group was made by a manifest.
var ErrNotTheDirectorys = httpapi.New(badRequest, mutability, "This group was made by an administrator with kubectl, and the directory cannot change it. Delete the BridgeGroup, and let the directory create the group.")

// TooMany returns the problem of a directory that has as many resources as it may.
func TooMany(what string, limit int) error {
	return invalid(invalidValue, "The directory has %d %s, as many as it may have. An administrator of the installation can raise scim.directories[].limits.", limit, what)
}

// ErrNoExternalID says that a group has no externalId, by which profiles name those of its
// directory.
var ErrNoExternalID = httpapi.New(badRequest, invalidValue, "externalId is required: profiles name the groups of this directory by it.")

// invalid returns the problem of a request that cannot be done as it is.
func invalid(scimType, format string, args ...any) error {
	return httpapi.New(badRequest, scimType, fmt.Sprintf(format, args...))
}

// Taken returns the problem of an attribute whose value is that of another resource.
func Taken(attribute string) error {
	return httpapi.New(conflict, uniqueness, "Another resource has this "+attribute+".")
}

// EncodeProblem returns a problem as RFC 7644 has it, section 3.12.
func EncodeProblem(p *httpapi.Problem) (contentType string, body []byte) {
	e := struct {
		Schemas  []string `json:"schemas"`
		Status   string   `json:"status"`
		SCIMType string   `json:"scimType,omitempty"`
		Detail   string   `json:"detail"`
	}{Schemas: []string{messages + "Error"}, Status: strconv.Itoa(p.Status), Detail: p.Detail}
	if slices.Contains(scimTypes, p.Code) {
		e.SCIMType = p.Code
	}
	return ContentType, jsondoc.EncodeExact(e)
}
