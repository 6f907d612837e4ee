// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scimapi

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/hostedbridge/hostedbridge/internal/scim"
)

// answer answers with a resource, or a list.
func (x *exchange) answer(status int, body json.RawMessage) error {
	w := x.call.Writer()
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", scim.ContentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	// A client that closed the connection does not read it either.
	_, _ = w.Write(body)
	return nil
}

// answerRead answers with a resource, or with 304 if the directory has this version.
func (x *exchange) answerRead(version string, body func() json.RawMessage) error {
	x.call.Writer().Header().Set("ETag", version)
	if fields := x.call.Request().Header["If-None-Match"]; len(fields) > 0 && scim.Matches(fields, version) {
		return x.empty(http.StatusNotModified)
	}
	return x.answer(http.StatusOK, body())
}

func (x *exchange) empty(status int) error {
	x.call.Writer().Header().Set("Cache-Control", "no-store")
	x.call.Writer().WriteHeader(status)
	return nil
}

// discovery are the documents by which a directory learns what is served.
var discovery = map[string]func(*exchange) error{
	"/ServiceProviderConfig": func(x *exchange) error { return x.answer(http.StatusOK, x.writer.ServiceProviderConfig()) },
	"/ResourceTypes":         func(x *exchange) error { return x.answer(http.StatusOK, x.writer.ResourceTypes()) },
	"/Schemas":               func(x *exchange) error { return x.answer(http.StatusOK, x.writer.Schemas()) },
	"/ResourceTypes/:id":     func(x *exchange) error { return x.answerFound(x.writer.ResourceType(x.call.Param("id"))) },
	"/Schemas/:id":           func(x *exchange) error { return x.answerFound(x.writer.Schema(x.call.Param("id"))) },
}

// discover refuses a filter, since a directory could take all of a document for what matches
// (RFC 7644, section 4).
func discover(handle func(*exchange) error) func(*exchange) error {
	return func(x *exchange) error {
		if x.query.Filter != "" {
			return scim.ErrNoFilter
		}
		return handle(x)
	}
}

func (x *exchange) answerFound(body json.RawMessage, err error) error {
	if err != nil {
		return err
	}
	return x.answer(http.StatusOK, body)
}
