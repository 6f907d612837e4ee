// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// Quotas keep what users have used. Bridges are their accounts: one that takes
// the user id of a deleted one has not used anything.
type Quotas interface {
	// Take takes what is wanted, all of it or nothing. A slot that it allows
	// has to be given back.
	Take(ctx context.Context, bridge types.UID, tier quota.Tier, want quota.Want) quota.Verdict
	Give(bridge types.UID, slot quota.Limit)
	// Known returns what is left, without asking anybody else.
	Known(bridge types.UID, tier quota.Tier) quota.Left
}

// methodListen is the request of 2026-07-28 that stays open for what the servers
// have to tell, as a GET does in the earlier versions.
const methodListen = "subscriptions/listen"

// account is whose quota a request is counted against.
type account struct {
	bridge types.UID
	tier   quota.Tier
	name   string
	known  bool
}

// The names of the headers that tell of quotas, as net/http spells them.
const (
	headerRateLimitPolicy = "Ratelimit-Policy"
	headerRateLimit       = "Ratelimit"
)

// findAccount finds the tier of the caller's bridge, and tells of it and of what
// is left in the answer, however that turns out. A tier that the installation
// does not have refuses nothing yet: health and secrets have no quota.
func (s *Server) findAccount(c *gin.Context) error {
	b, err := s.hold.lookup(principalOf(c), time.Now())
	if err != nil {
		return err
	}
	a := accountOf(c)
	a.bridge, a.name = b.BridgeUID, b.Tier
	a.tier, a.known = s.tiers()[b.Tier]
	if a.known {
		h := c.Writer.Header()
		h[headerRateLimitPolicy] = s.policies.of(a.name, a.tier)
		h[headerRateLimit] = []string{s.quotas.Known(a.bridge, a.tier).Field()}
	}
	return nil
}

// accountOf returns what findAccount found.
func accountOf(c *gin.Context) *account { return &stepsOf(c).account }

// checkTier refuses callers of a tier that the installation does not have:
// nobody knows what they may.
func (s *Server) checkTier(c *gin.Context) error {
	if a := accountOf(c); !a.known {
		return errTierUnknown.saying(fmt.Sprintf("The HostedBridge's spec.tier is %q, which is no tier of this installation. An administrator can set it to one of: %s.",
			a.name, strings.Join(s.tiers().Names(), ", ")))
	}
	return nil
}

// countQuota counts the requests in a body that has been read, and takes a slot
// for as long as they run. Notifications and responses take none: a call that
// waits for its client's answer would otherwise be in its own way.
func (s *Server) countQuota(c *gin.Context) {
	messages, a := messagesOf(c), accountOf(c)
	if stepsOf(c).overlong || !a.tier.Fits(len(messages)) {
		s.refuseBatch(c, a)
		return
	}
	want := quota.Want{Requests: len(messages)}
	if len(messages) > 0 {
		want.Slot = quota.Calls
	}
	if len(messages) == 1 && messages[0].Method == methodListen {
		want.Slot = quota.Streams
	}
	s.takeQuota(c, want)
}

// countStream takes a slot for a stream.
func (s *Server) countStream(c *gin.Context) {
	s.takeQuota(c, quota.Want{Slot: quota.Streams})
}

func (s *Server) takeQuota(c *gin.Context, want quota.Want) {
	if want == (quota.Want{}) {
		return
	}
	a := accountOf(c)
	if taken, err := s.take(c, a, want); !taken {
		s.refuse(c, err)
		return
	}
	defer s.quotas.Give(a.bridge, want.Slot)
	c.Next()
}

// take reports whether the account has what is wanted, and refuses otherwise.
func (s *Server) take(c *gin.Context, a *account, want quota.Want) (bool, error) {
	ctx := c.Request.Context()
	v := s.quotas.Take(ctx, a.bridge, a.tier, want)
	c.Writer.Header()[headerRateLimit] = []string{v.Left.Field()}
	if v.Allowed() {
		return true, nil
	}
	if err := ctx.Err(); err != nil {
		return false, err // It left while it waited for a slot.
	}
	if want.Requests > 1 {
		v = s.chargeRefused(c, a, v)
	}
	return false, newExceeded(v, a.tier, time.Now())
}

// bodyLimit returns how large a body may be: as the tier has it, and not more
// than a user's part of the memory, which would refuse it for ever.
func (s *Server) bodyLimit(c *gin.Context) int64 {
	return min(accountOf(c).tier.Body(), s.config.MaxBodyMemory/userShare)
}

// limitCalls is limitBodies for calls, whose limit is the tier's.
func (s *Server) limitCalls(c *gin.Context) { s.limitBody(c, s.bodyLimit(c)) }
