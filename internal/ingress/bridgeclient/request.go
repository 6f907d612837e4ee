// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeclient

import (
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/ingress/h1"
)

// answerFields are responseHeaders as h1 takes them, with those that are for us,
// and trailerFields the trailers that are.
var (
	answerFields = func() map[string]string {
		names := maps.Clone(trailerFields)
		for name := range responseHeaders {
			names[name] = name
		}
		return names
	}()
	trailerFields = map[string]string{audit.TrailerName: audit.TrailerName, bridgeconfig.HeaderLists: bridgeconfig.HeaderLists}
)

// Request is one request on its way to its bridge, without its body.
type Request struct {
	// Method, Path and Query, checked, are the bridge's, and Host is where its
	// pod listens.
	Method, Path, Query, Host string
	// Header is the client's. AppendHead says what of it goes on.
	Header http.Header
	// RequestID goes out in place of the client's.
	RequestID string
	// Post is what the bridge is to do with the answer to a message of HTTP+SSE, or
	// empty.
	Post string
	// Lists is what the bridge is told of lists that are kept, or empty.
	Lists string
}

// AppendHead writes the outbound request's head, made of constants, the
// principal and the allow-listed header.
func (r *Request) AppendHead(b []byte) []byte {
	b = append(b, r.Method...)
	b = append(b, ' ')
	b = append(b, r.Path...)
	if r.Query != "" {
		b = append(b, '?')
		b = append(b, r.Query...)
	}
	b = append(b, " HTTP/1.1\r\n"...)
	b = h1.AppendField(b, "Host", r.Host)
	hopByHop := connectionNames(r.Header)
	for name, values := range r.Header {
		if !Forwarded(name) || slices.Contains(hopByHop, name) {
			continue
		}
		for _, value := range values {
			b = h1.AppendField(b, name, value)
		}
	}
	if r.RequestID != "" {
		b = h1.AppendField(b, "X-Request-Id", r.RequestID)
		b = h1.AppendField(b, audit.TrailerName, audit.InStreams)
	}
	if r.Post != "" {
		b = h1.AppendField(b, audit.PostName, r.Post)
	}
	if r.Lists != "" {
		b = h1.AppendField(b, bridgeconfig.HeaderLists, r.Lists)
	}
	return b
}

// connectionNames returns the canonical names of the headers that Connection
// names. They are for this hop alone, whichever they are.
func connectionNames(h http.Header) (names []string) {
	for _, value := range h["Connection"] {
		for name := range strings.SplitSeq(value, ",") {
			names = append(names, textproto.CanonicalMIMEHeaderKey(textproto.TrimString(name)))
		}
	}
	return names
}
