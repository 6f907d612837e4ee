// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/ingress/jsonrpc"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// refuseBatch returns the refusal of a batch that is too large for this tier at any
// time.
func (q *Quota) refuseBatch(ctx context.Context, answer http.Header, a *Account, overlong bool) error {
	_ = q.charge(ctx, answer, a)
	if overlong {
		return problems.BatchTooLarge.Saying(fmt.Sprintf("A batch has at most %d members; send it in parts.", jsonrpc.MaxBatch))
	}
	return problems.BatchTooLarge
}

// charge counts one request, if there is one left, for a batch that is refused:
// its calls have been read, and its refusal is written down.
func (q *Quota) charge(ctx context.Context, answer http.Header, a *Account) quota.Verdict {
	// The caller who leaves pays too.
	v := q.counts.Take(context.WithoutCancel(ctx), a.Bridge, a.Tier, quota.Want{Requests: 1})
	q.report(answer, a, v)
	return v
}

// chargeRefused returns the verdict on a batch of which one request was counted.
// What it says of the time to wait has to hold, or else a client that waits so
// long would be refused, and pay, for ever.
func (q *Quota) chargeRefused(ctx context.Context, answer http.Header, a *Account, v quota.Verdict) quota.Verdict {
	if charged := q.charge(ctx, answer, a); charged.Allowed() {
		v.Left, v.Replicas = charged.Left, charged.Replicas
		if v.RetryAfter > 0 {
			v.RetryAfter += time.Duration(charged.Held(a.Tier).Interval()) * time.Microsecond
		}
	}
	return v
}
