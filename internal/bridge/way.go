// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import "context"

// headerTrace is that of the W3C's Trace Context.
const headerTrace = "Traceparent"

// way is what a link knows of the way that its requests came.
type way struct {
	own  string // this bridge's id
	came string // the way of the request for which the link was made
}

// wayKey is the context key of the way that an HTTP request came.
type wayKey struct{}

// hops returns what a server is told with a request: the way that it came, and
// this bridge.
func (w way) hops(ctx context.Context) string {
	came := w.came
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok && x.hops != "" {
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
