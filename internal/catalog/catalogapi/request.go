// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"net/http"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// ifMatch returns the revision of If-Match, empty without one. A tag that
// is empty or an asterisk is a mistake of the client.
func ifMatch(r *http.Request) (string, error) {
	fields := r.Header["If-Match"]
	field := strings.TrimSpace(strings.Join(fields, ","))
	if len(fields) == 0 || field == catalog.AnyRevision {
		return field, nil
	}
	tags := splitTags(field)
	if len(tags) != 1 || tags[0] != field || strings.HasPrefix(field, "W/") {
		return "", errIfMatch
	}
	switch tag := strings.Trim(field, `"`); tag {
	case "", catalog.AnyRevision:
		return "", errIfMatch
	default:
		return tag, nil
	}
}

// decode reads a small body, and returns all members that do not fit.
func decode(c httpapi.Call, into any) ([]catalog.Problem, error) {
	body, err := c.Body()
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	doc, err := jsondoc.Parse(body)
	if err != nil || doc.Kind != jsondoc.Object {
		return nil, bodyProblem([]catalog.Problem{{Code: catalog.CodeSyntax, Message: "the body must be a JSON object in which each member stands once"}})
	}
	var found []catalog.Problem
	for _, p := range jsondoc.Decode(doc, into) {
		if p.Unknown {
			found = append(found, catalog.Problem{Field: p.Path, Code: catalog.CodeUnknownField, Message: "is not a field of this request"})
			continue
		}
		found = append(found, invalid(p.Path, p.Message))
	}
	return found, nil
}

func invalid(field, message string) catalog.Problem {
	return catalog.Problem{Field: field, Code: catalog.CodeInvalid, Message: message}
}
