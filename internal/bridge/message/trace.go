// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
)

const (
	// MetaTraceparent is the _meta key of the W3C header traceparent.
	MetaTraceparent = "traceparent"
	// MetaTracestate is the _meta key of the W3C header tracestate.
	MetaTracestate = "tracestate"

	headerTracestate = "Tracestate"
)

// traceparent is a trace context of version 00 (W3C Trace Context, section 3.2).
var traceparent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// TraceContext returns the trace context of a request, empty if it has none. The metadata of the
// request takes precedence over the header.
func TraceContext(header http.Header, meta map[string]any) (parent, state string) {
	parent, _ = meta[MetaTraceparent].(string)
	state, _ = meta[MetaTracestate].(string)
	if parent == "" {
		parent, state = header.Get(HeaderTrace), header.Get(headerTracestate)
	}
	if !traceparent.MatchString(parent) || strings.Trim(parent[3:35], "0") == "" || strings.Trim(parent[36:52], "0") == "" {
		return "", ""
	}
	return parent, state
}

// ChildOf returns the trace context of a new span within parent.
func ChildOf(parent string) string {
	var span [8]byte
	if _, err := rand.Read(span[:]); err != nil {
		return parent
	}
	return parent[:36] + hex.EncodeToString(span[:]) + parent[52:]
}

// HeaderTrace is the header of the W3C trace context.
const HeaderTrace = "Traceparent"
