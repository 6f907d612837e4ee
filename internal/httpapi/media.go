// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"cmp"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// IsJSON reports whether a Content-Type is that of JSON.
func IsJSON(contentType string) bool {
	const name = "application/json"
	return contentType == name || IsMediaType(contentType, name)
}

// FormType is the media type of what a page's form sends.
const FormType = "application/x-www-form-urlencoded"

// IsMediaType reports whether a Content-Type is of a media type, whatever its parameters are.
func IsMediaType(contentType, name string) bool {
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && mediaType == name
}

// Browses reports whether a request is one by which a person's browser opens an address: it
// only reads, prefers a page to what programs ask for, and has no credential of a program.
func Browses(r *http.Request) bool {
	h := r.Header
	if r.Method != http.MethodGet && r.Method != http.MethodHead || h.Get("Authorization") != "" || h.Get("X-API-Key") != "" {
		return false
	}
	page, program := 0.0, 0.0
	for accepted := range strings.SplitSeq(strings.Join(h["Accept"], ","), ",") {
		switch kind, quality := preference(accepted); {
		case kind == "text/html":
			page = max(page, quality)
		case kind == "text/event-stream" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "json"):
			program = max(program, quality)
		}
	}
	return page > program
}

// preference returns the media type of an element of Accept and its quality, nothing for an
// invalid one.
func preference(accepted string) (kind string, quality float64) {
	kind, parameters, err := mime.ParseMediaType(accepted)
	if err != nil {
		return "", 0
	}
	quality, err = strconv.ParseFloat(cmp.Or(parameters["q"], "1"), 64) // 1 is the default of RFC 9110.
	if err != nil {
		return "", 0
	}
	return kind, quality
}

// WantsPage reports whether a request is one by which a browser opens a page. Programs and
// requests for what is in a page do not ask for HTML by its name.
func WantsPage(h http.Header) bool {
	for accepted := range strings.SplitSeq(h.Get("Accept"), ",") {
		kind, _, _ := strings.Cut(accepted, ";")
		if strings.EqualFold(strings.TrimSpace(kind), "text/html") {
			return true
		}
	}
	return false
}
