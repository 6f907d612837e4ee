// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// userShare is the part of the memory for bodies that one user may fill: a
// quarter, so that it takes several to be in everybody's way.
const userShare = 4

const (
	// maxStrangersMemory bounds the bodies of those who have no key, in bytes, and
	// strangersShare what one address may fill of it: 16 of the largest.
	maxStrangersMemory = 16 << 20
	strangersShare     = 16
	// strangersTimeout is how long such a body may take, of at most 64 KiB.
	strangersTimeout = 5 * time.Second
)

// bodies bounds the memory that the bodies of all requests in flight take. A
// body is kept until its request has ended, since until then it may have to be
// sent again; a slow call keeps it for as long as it runs.
type bodies struct {
	limit int64 // bytes
	// share is the part of it that one may fill: one of so many.
	share int64

	mu     sync.Mutex
	held   int64
	byUser map[v1alpha1.UserID]int64
}

func newBodies(limit, share int64) *bodies {
	return &bodies{limit: limit, share: share, byUser: map[v1alpha1.UserID]int64{}}
}

// take reserves size bytes for the user, or returns errBusy. It never waits:
// what waits has to be kept too.
func (b *bodies) take(user v1alpha1.UserID, size int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held+size > b.limit || b.byUser[user]+size > b.limit/b.share {
		return errBusy
	}
	b.held += size
	b.byUser[user] += size
	return nil
}

// give returns what take reserved.
func (b *bodies) give(user v1alpha1.UserID, size int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= size
	if b.byUser[user] -= size; b.byUser[user] == 0 {
		delete(b.byUser, user)
	}
}

// limitBodies reserves the memory for a request's body, of at most that many
// bytes, before any of it is read, and gives it back when the request has
// ended, however it did.
func (s *Server) limitBodies(most int64) gin.HandlerFunc {
	return func(c *gin.Context) { s.limitBody(c, most) }
}

func (s *Server) limitBody(c *gin.Context, most int64) {
	user, size := principalOf(c).user, bodySize(c.Request, most)
	if err := s.bodies.take(user, size); err != nil {
		s.refuse(c, err)
		return
	}
	defer s.bodies.give(user, size)
	c.Next()
}

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
func (s *Server) refuseBody(c *gin.Context) error {
	if c.Request.ContentLength != 0 {
		return errBodyNotAllowed
	}
	return nil
}
