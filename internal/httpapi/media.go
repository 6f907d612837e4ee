// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"mime"
	"net/http"
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
