// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import "net/http"

// headerTrace is that of the W3C's Trace Context.
const headerTrace = "Traceparent"

// way is what a link knows of the way that its requests came.
type way struct {
	own  string // this bridge's id
	came string // the way of the request for which the link was made
}

// wayKey is the context key of the way that an HTTP request came.
type wayKey struct{}

// mark writes the way of a request of x, which may be nil, into its header.
func (w way) mark(header http.Header, x *exchange) {
	if hops := w.hops(x); hops != "" {
		header.Set(headerHops, hops)
	}
}

// hops returns what a server is told with a request of x, which may be nil: the
// way that it came, and this bridge.
func (w way) hops(x *exchange) string {
	came := w.came
	if x != nil && x.hops != "" {
		came = x.hops
	}
	switch {
	case came == "":
		return w.own
	case w.own == "":
		return came
	}
	return came + "," + w.own
}
