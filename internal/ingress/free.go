// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"math"
	"net/http"

	"github.com/gin-gonic/gin"
)

// maxFree is how many requests of a user that cost nothing and take no slot may
// be in flight in a replica: notifications, responses and the ends of sessions.
// A bridge answers them at once, so that a client has a few open, and one for
// each of its calls at the very most.
const maxFree = 64

var errTooManyFree = &problem{
	http.StatusTooManyRequests, "too_many_calls",
	fmt.Sprintf("%d notifications, responses and ends of sessions are in flight; wait for one of them to end.", maxFree), slotRetry,
}

func newFree() *places { return newPlaces(maxFree, math.MaxInt) }

// boundFree bounds what is not counted.
func (s *Server) boundFree(c *gin.Context) {
	if len(messagesOf(c)) > 0 {
		return
	}
	user := principalOf(c).user
	if !s.free.enter(user) {
		s.refuse(c, errTooManyFree)
		return
	}
	defer s.free.leave(user)
	c.Next()
}
