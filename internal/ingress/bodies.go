// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

const (
	// maxAnonymousMemory bounds the bodies of callers without a key, in bytes. One
	// address may fill a sixteenth: 16 of the largest.
	maxAnonymousMemory = 16 << 20
	// anonymousTimeout is how long such a body may take, of at most 64 KiB.
	anonymousTimeout = 5 * time.Second
)

// reserveMemory reserves the memory for a request's body, of at most that many
// bytes, before any of it is read, until the request has ended.
func (b *bounds) reserveMemory(r *request, most int64) error {
	size := bodySize(r.http, most)
	if err := b.bodies.Take(r.principal().User, size); err != nil {
		return err
	}
	r.taken.memory += size
	return nil
}

// reserveBody is reserveMemory for calls, whose limit is the tier's.
func (b *bounds) reserveBody(r *request) error { return b.reserveMemory(r, b.bodyLimit(r)) }

// bodySize returns how many bytes of the body may be kept: what is declared, or
// as much as is allowed where nothing is, or too much.
func bodySize(r *http.Request, most int64) int64 {
	if r.ContentLength < 0 || r.ContentLength > most {
		return most
	}
	return r.ContentLength
}

// refuseBody lets a request pass that has no body, where none is read. One that
// is left unread would hold the connection until it has come.
func refuseBody(r *request) error {
	if r.http.ContentLength != 0 {
		return problems.BodyNotAllowed
	}
	return nil
}
