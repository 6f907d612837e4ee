// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/ingress/h1"
)

// answerFields are responseHeaders as h1 takes them, with the one that is for us,
// and trailerFields the trailer that is.
var (
	answerFields = func() map[string]string {
		names := map[string]string{audit.TrailerName: audit.TrailerName}
		for name := range responseHeaders {
			names[name] = name
		}
		return names
	}()
	trailerFields = map[string]string{audit.TrailerName: audit.TrailerName}
)

// AppendHead writes the outbound request's head, made of constants, the
// principal and the allow-listed header.
func (x *exchange) AppendHead(b []byte) []byte {
	b = append(b, x.method...)
	b = append(b, ' ')
	b = append(b, x.path...)
	if x.query != "" {
		b = append(b, '?')
		b = append(b, x.query...)
	}
	b = append(b, " HTTP/1.1\r\n"...)
	b = h1.AppendField(b, "Host", x.host)
	hopByHop := connectionNames(x.header)
	for name, values := range x.header {
		if !forwarded(name) || slices.Contains(hopByHop, name) {
			continue
		}
		for _, value := range values {
			b = h1.AppendField(b, name, value)
		}
	}
	if x.requestID != "" {
		b = h1.AppendField(b, "X-Request-Id", x.requestID)
		b = h1.AppendField(b, audit.TrailerName, audit.InStreams)
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
