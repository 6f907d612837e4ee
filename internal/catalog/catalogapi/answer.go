// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// ours is the media type of answers.
const ours = "application/json"

// revalidated lets caches keep an answer and revalidate it each time: that is
// cheap, and a change is seen at once.
const revalidated = "public, no-cache"

// page is an answer that anyone may read and cache. Its body is in pieces, which answers
// share where they can.
type page struct {
	body [][]byte
	etag string
}

// pageOf returns a page of one piece.
func pageOf(body []byte, etag string) page { return page{[][]byte{body}, etag} }

// write answers with the page, or with 304 if the client has it.
func (p page) write(c httpapi.Call) error {
	w := c.Writer()
	h := w.Header()
	h.Set("Cache-Control", revalidated)
	h.Set("ETag", p.etag)
	if has(c.Request().Header["If-None-Match"], p.etag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", ours)
	size := 0
	for _, piece := range p.body {
		size += len(piece)
	}
	h.Set("Content-Length", strconv.Itoa(size))
	for _, piece := range p.body {
		if _, err := w.Write(piece); err != nil {
			return nil //nolint:nilerr // A client that closed the connection reads no more of it.
		}
	}
	return nil
}

// has reports whether If-None-Match names the ETag. A weak tag counts like a
// strong one there.
func has(fields []string, etag string) bool {
	etag = strings.TrimPrefix(etag, "W/")
	for _, field := range fields {
		if strings.TrimSpace(field) == "*" {
			return true
		}
		for _, tag := range splitTags(field) {
			if strings.TrimPrefix(tag, "W/") == etag {
				return true
			}
		}
	}
	return false
}

// splitTags returns the entity tags of a field. A tag may contain a comma;
// reading stops at anything that is not a tag.
func splitTags(field string) []string {
	var tags []string
	rest := field
	for {
		rest = strings.TrimLeft(rest, " \t,")
		quote := strings.IndexByte(rest, '"')
		if quote < 0 || quote > 0 && rest[:quote] != "W/" {
			return tags
		}
		end := strings.IndexByte(rest[quote+1:], '"')
		if end < 0 {
			return tags
		}
		end += quote + 2
		tags = append(tags, rest[:end])
		rest = rest[end:]
	}
}

// tagged sets the answer's ETag to the revision of its subject.
func tagged(c httpapi.Call, revision string) {
	c.Writer().Header().Set("ETag", `"`+revision+`"`)
}

// done answers an act without content.
func done(c httpapi.Call) error {
	httpapi.AnswerNothing(c)
	return nil
}
