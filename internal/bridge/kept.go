// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/callaudit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
)

// outdatedFor is for how long after a server has started a client that begins to listen may have
// lists of before, which the ingress has given it: clients list before they listen, or right after.
const outdatedFor = time.Minute

// declines answers a request if a server is starting, for an ingress that has
// an answer of before.
func (v *serverSet) declines(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get(bridgeconfig.HeaderLists) != bridgeconfig.ListsKept || !slices.ContainsFunc(v.servers(), isStarting) {
		return false
	}
	w.Header().Set(bridgeconfig.HeaderLists, bridgeconfig.ListsDeclined)
	http.Error(w, "servers are starting", http.StatusServiceUnavailable)
	return true
}

// digestOf returns the digest of a configuration, empty for one that cannot be encoded: with it no
// answer is kept.
func digestOf(c bridgeconfig.Config) string {
	digest, err := c.Digest()
	if err != nil {
		return ""
	}
	return digest
}

// keptMark is read before the answer is made: one of a later configuration may pass for one of this,
// which nobody is given any more, and not the reverse.
func (v *serverSet) keptMark() bridgeconfig.KeptMark {
	v.mu.Lock()
	defer v.mu.Unlock()
	return bridgeconfig.KeptMark{Configuration: v.configuration}
}

// listMark is keptMark for a list, zero for one that lacks the entries of servers that are starting.
func (v *serverSet) listMark(q *message.Request) bridgeconfig.KeptMark {
	mark := v.keptMark()
	if q.Hops != "" || slices.ContainsFunc(v.servers(), isStarting) {
		return bridgeconfig.KeptMark{}
	}
	return mark
}

// mayBeKept notes that the ingress may keep the answer of ctx.
func mayBeKept(ctx context.Context, mark bridgeconfig.KeptMark) {
	callaudit.OperationOf(ctx).MayBeKept(mark)
}

// outdated reports whether a client that begins to listen may have lists of before.
func (v *serverSet) outdated() bool {
	return v.starts.recent(outdatedFor) || slices.ContainsFunc(v.servers(), isStarting)
}
