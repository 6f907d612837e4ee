// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"fmt"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// maxBatch is how many members a batch may have, whatever the tier allows: each
// call of one has its line in the audit trail. Clients that send batches at all
// send a handful.
const maxBatch = 100

// refuseBatch refuses batches that are too large for this tier at any time.
func (s *Server) refuseBatch(c *gin.Context, a *account) {
	_ = s.charge(c, a)
	p := errBatchTooLarge
	if stepsOf(c).overlong {
		p = p.saying(fmt.Sprintf("A batch has at most %d members; send it in parts.", maxBatch))
	}
	s.refuse(c, p)
}

// charge counts one request, if there is one left, for a batch that is refused:
// its calls have been read, and its refusal is written down.
func (s *Server) charge(c *gin.Context, a *account) quota.Verdict {
	// The caller who leaves pays too.
	v := s.quotas.Take(context.WithoutCancel(c.Request.Context()), a.bridge, a.tier, quota.Want{Requests: 1})
	c.Writer.Header()[headerRateLimit] = []string{v.Left.Field()}
	return v
}

// chargeRefused returns the verdict on a batch of which one request was counted.
// What it says of the time to wait has to hold, or else a client that waits so
// long would be refused, and pay, for ever.
func (s *Server) chargeRefused(c *gin.Context, a *account, v quota.Verdict) quota.Verdict {
	if charged := s.charge(c, a); charged.Allowed() {
		v.Left = charged.Left
		if v.RetryAfter > 0 {
			v.RetryAfter += time.Duration(a.tier.Interval()) * time.Microsecond
		}
	}
	return v
}
