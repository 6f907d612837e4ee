// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/ingress/jsonrpc"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// Counts keep what users have used. Bridges are their accounts: one that takes
// the user id of a deleted one has not used anything.
type Counts interface {
	// Take takes what is wanted, all of it or nothing. A slot that it allows
	// has to be given back.
	Take(ctx context.Context, bridge types.UID, tier quota.Tier, want quota.Want) quota.Verdict
	Give(bridge types.UID, slot quota.Limit)
	// Known returns what is left, and takes nothing.
	Known(ctx context.Context, bridge types.UID, tier quota.Tier) quota.Verdict
}

// Account is whose quota a request is counted against.
type Account struct {
	Bridge types.UID
	Tier   quota.Tier
	// Known is whether the installation has a tier of that name.
	Known bool
	name  string
}

// The names of the headers that tell of quotas, as net/http spells them.
const (
	headerRateLimitPolicy = "Ratelimit-Policy"
	headerRateLimit       = "Ratelimit"
)

// Quota holds users to their tiers.
type Quota struct {
	counts   Counts
	tiers    func() quota.Tiers
	policies policies
	openings *openingRate
}

// NewQuota returns a quota by the installation's tiers as they are when they are
// asked for.
func NewQuota(counts Counts, tiers func() quota.Tiers) *Quota {
	return &Quota{counts: counts, tiers: tiers, openings: newOpeningRate()}
}

// Account returns the account of a bridge. What is left in it is told in the answer,
// however that turns out. A tier that the installation does not have refuses nothing
// yet: health and secrets have no quota.
func (q *Quota) Account(ctx context.Context, bridge types.UID, tier string, answer http.Header) Account {
	a := Account{Bridge: bridge, name: tier}
	a.Tier, a.Known = q.tiers()[tier]
	if a.Known {
		q.report(answer, &a, q.counts.Known(ctx, a.Bridge, a.Tier))
	}
	return a
}

// report sets the headers that tell of the quota. Both are of the same limits: those
// that the verdict was given by.
func (q *Quota) report(answer http.Header, a *Account, v quota.Verdict) {
	answer[headerRateLimitPolicy] = q.policies.of(a.name, v.Held(a.Tier))
	answer[headerRateLimit] = []string{v.Left.Field()}
}

// CheckTier refuses callers of a tier that the installation does not have:
// nobody knows what they may.
func (q *Quota) CheckTier(a *Account) error {
	if a.Known {
		return nil
	}
	return problems.TierUnknown.Saying(fmt.Sprintf("The HostedBridge's spec.tier is %q, which is no tier of this installation. An administrator can set it to one of: %s.",
		a.name, strings.Join(q.tiers().Names(), ", ")))
}

// TakeBatch counts the calls of a body that has been read, and takes a slot
// for as long as they run, which it returns. Notifications and responses take none:
// a call that waits for its client's answer would otherwise be in its own way. Openings have a
// rate of their own.
func (q *Quota) TakeBatch(ctx context.Context, answer http.Header, a *Account, batch *jsonrpc.Batch) (slot quota.Limit, err error) {
	requests := batch.Requests
	if batch.Overlong || !a.Tier.Fits(len(requests)) {
		return slot, q.refuseBatch(ctx, answer, a, batch.Overlong)
	}
	want := quota.Want{Requests: Calls(requests)}
	if err := q.openings.take(a.Bridge, len(requests)-want.Requests, time.Now()); err != nil {
		return slot, err
	}
	if want.Requests > 0 {
		want.Slot = quota.Calls
	}
	if len(requests) == 1 && methods.Of(requests[0].Method).Stream {
		want.Slot = quota.Streams
	}
	return q.take(ctx, answer, a, want)
}

// TakeAct counts an act of a user on their own bridge. It takes no slot.
func (q *Quota) TakeAct(ctx context.Context, answer http.Header, a *Account) error {
	_, err := q.take(ctx, answer, a, quota.Want{Requests: 1})
	return err
}

// TakeStream takes a slot for a stream, which it returns.
func (q *Quota) TakeStream(ctx context.Context, answer http.Header, a *Account) (slot quota.Limit, err error) {
	return q.take(ctx, answer, a, quota.Want{Slot: quota.Streams})
}

func (q *Quota) take(ctx context.Context, answer http.Header, a *Account, want quota.Want) (slot quota.Limit, err error) {
	if want == (quota.Want{}) {
		return slot, nil
	}
	v := q.counts.Take(ctx, a.Bridge, a.Tier, want)
	q.report(answer, a, v)
	if v.Allowed() {
		return want.Slot, nil
	}
	if err := ctx.Err(); err != nil {
		return slot, err // It left while it waited for a slot.
	}
	if want.Requests > 1 {
		v = q.chargeRefused(ctx, answer, a, v)
	}
	return slot, newQuotaError(v, a.Tier, time.Now())
}

// Give gives back a slot that was taken.
func (q *Quota) Give(a *Account, slot quota.Limit) { q.counts.Give(a.Bridge, slot) }
