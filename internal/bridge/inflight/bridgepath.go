// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

// BridgePath is the list of bridges that a connection's requests have passed.
type BridgePath struct {
	Own  string // this bridge's id
	Came string // the hops of the request for which the connection was made
}

// Hops returns the list of hops that the server gets with a request of x, which may be nil: the
// request's hops, and this bridge.
func (w BridgePath) Hops(x *Call) string {
	came := w.Came
	if x != nil && x.Hops != "" {
		came = x.Hops
	}
	switch {
	case came == "":
		return w.Own
	case w.Own == "":
		return came
	}
	return came + "," + w.Own
}
